# SPDX-License-Identifier: Apache-2.0
"""What a join's rules do to inputs that come late and to rows that wait, where that is probably not meant.

A lateness is how far an input may be behind when a row is made all the same. It does not make the join wait: it makes
the join wait less.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from framegate.schema.console.quantities import duration

if TYPE_CHECKING:
    from framegate.joinbarrier.config.configuration import JoinConfig
    from framegate.joinbarrier.config.sections import InputSection

_EXAMPLE_PERIOD_NS: Final = 33_333_333


def late_input_warnings(config: JoinConfig) -> list[str]:
    """A sentence with an example for each input whose rows a lateness can cost."""
    return list(_warnings(config))


def long_wait_warnings(config: JoinConfig) -> list[str]:
    """A sentence for each one-to-one input without a tolerance, with one to set: nothing bounds how long rows wait."""
    if config.join.policy != "timestamp":
        return []
    if config.drive.kind == "clock":
        period_ns, whose = config.drive.period_ns, "this clock"
    else:
        period_ns, whose = _EXAMPLE_PERIOD_NS, "frames at 30 Hz"
    return [
        f'{each.name} has pick = "nearest" and reuse = false without a tolerance_ns: any frame may be the one of any '
        "row, so a row can wait for 64 outputs, which is two seconds at 30 Hz. Set a tolerance_ns of half the period "
        f"or less: for {whose}, tolerance_ns = {period_ns // 2}"
        for each in config.input
        if each.pick == "nearest" and not (each.reuse or each.optional or each.name == config.drive.input)
        if each.tolerance_ns is None and each.window_ns is None
    ]


def _warnings(config: JoinConfig) -> Iterator[str]:
    lateness_ns = config.mergemap.lateness_ns
    if config.join.policy != "timestamp" or config.mergemap.late == "stall":
        return
    for each in config.input:
        bound = _bound(each)
        if bound is None or (config.drive.kind == "input" and config.drive.input == each.name):
            continue
        key, width_ns = bound
        if lateness_ns > width_ns:
            late = duration(lateness_ns)
            yield (
                f"mergemap.lateness_ns ({late}) is above {key} of {each.name} ({duration(width_ns)}): a row for time t "
                f"is made when {each.name} has reached t - {late}, and then no frame of it from t - "
                f"{duration(width_ns)} on need have come. An input that is {late} behind loses its rows so. Set "
                f"lateness_ns = {width_ns} or less, or 0 to wait for every input; deadline_ms bounds that wait"
            )


def _bound(each: InputSection) -> tuple[str, int] | None:
    """The key that says how old a frame of the input may be, and its nanoseconds."""
    if each.window_ns is not None:
        return "window_ns", each.window_ns
    return None if each.tolerance_ns is None else ("tolerance_ns", each.tolerance_ns)
