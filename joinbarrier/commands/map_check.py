# SPDX-License-Identifier: Apache-2.0
"""``framegate mergemap check``: what a join.toml joins, in plain words and with an example."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.config.policies import POLICIES
from framegate.schema.console.quantities import duration
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE

if TYPE_CHECKING:
    from framegate.joinbarrier.config.sections import InputSection

_EXAMPLE_N: Final = 100
_EXAMPLE_NS: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000


def run(file: Path, *, as_json: bool) -> int:
    """Explain a file; the exit code."""
    config = load_join_config(file, os.environ)
    lines, warnings = explained(config), config.warnings()
    if as_json:
        emit({"event": "check", "file": str(file), "joins": lines, "warnings": warnings})
        return DONE
    for line in lines:
        print(line)
    for warning in warnings:
        print(f"Warning: {warning}")
    return DONE


def explained(config: JoinConfig) -> list[str]:
    """What a configuration joins, a sentence or two for each thing."""
    return [*_authority(config), *_outputs(config), *_example(config), *_waits(config)]


def _authority(config: JoinConfig) -> Iterator[str]:
    out_stream = config.join.out_stream
    if rows := POLICIES[config.join.policy].rows_without_map:
        yield f"Output {out_stream} takes {rows}; it needs no map."
    elif config.mergemap.serve:
        yield f"This join serves the map of output {out_stream} itself, made of the rules below."
    else:
        yield (
            f"The map of output {out_stream} is announced by another authority (framegate mergemap serve), and it is "
            "the rule. A rule that is written in this file must agree with it; what is not written is the map's "
            "choice. Below: what this file says."
        )


def _outputs(config: JoinConfig) -> Iterator[str]:
    drive, policy = config.drive, config.join.policy
    if not POLICIES[policy].needs_map:
        return
    if policy == "sequence":
        by = f"each frame of {drive.input} with number n" if drive.kind == "input" else "each number n"
    else:
        by = {
            "counter": "each new frame of any input",
            "input": f"each new frame of {drive.input}"
            if policy == "latest"
            else f"each frame of {drive.input}, t being its time",
            "clock": f"each tick of a clock of {drive.hz:g} Hz, t being its time",
            "watermark": "each watermark that all inputs have passed, t being its time",
            "external": f"each time t that {drive.target} gives",
        }[drive.kind]
    yield f"A row is made for {by}:"
    for each in config.input:
        yield f"  {each.name} (stream {each.stream}): {_taken(config, each)}"


def _taken(config: JoinConfig, each: InputSection) -> str:
    """Which frame of an input a row takes."""
    if config.join.policy == "latest":
        return "its newest frame by " + ("timestamp" if config.mergemap.order_by == "timestamp" else "number")
    if config.join.policy == "sequence":
        if each.window is not None:
            return f"its newest frame of n - {each.window - 1} to n"
        return f"its frame {_shifted('n', each.offset or 0, str)}"
    if config.drive.kind == "input" and config.drive.input == each.name:
        return "the frame that makes the row"
    if each.offset is not None:
        return f"its frame {_shifted('n', each.offset, str)}, where n is the number of the frame that makes the row"
    source = ", by the time in its descriptor" if each.timestamp_source == "frame_descriptor" else ""
    once = "" if each.reuse else ", each frame in one row at most"
    if each.window_ns is not None:
        return f"its {_which(each)} frame from t - {duration(each.window_ns)} to t{source}{once}"
    at = _shifted("t", each.offset_ns or 0, duration)
    if each.pick == "latest":
        return f"its newest frame at or before {at}, of any age, as far as one has come{source}{once}"
    near = "nearest to" if each.pick == "nearest" else "newest at or before"
    far = "however far away" if each.tolerance_ns is None else f"at most {duration(each.tolerance_ns)} away"
    return f"its frame {near} {at}, {far}{source}{once}"


def _which(each: InputSection) -> str:
    return "newest" if each.pick == "newest" else "nearest"


def _shifted(name: str, by: int, text: object) -> str:
    assert callable(text)  # noqa: S101
    return name if by == 0 else f"{name} {'-' if by < 0 else '+'} {text(abs(by))}"


def _example(config: JoinConfig) -> Iterator[str]:
    if config.join.policy == "sequence":
        parts = [f"{each.name} {_frames(each)}" for each in config.input]
        yield f"Example: the row for n = {_EXAMPLE_N} holds {', '.join(parts)}."
    elif config.join.policy == "timestamp":
        parts = [f"of {each.name} {_times(each)}" for each in config.input if each.name != config.drive.input]
        if parts:
            yield f"Example: the row for t = {duration(_EXAMPLE_NS)} holds {', '.join(parts)}."
    elif config.join.policy == "latest":
        yield "Example: a row that is made now holds of each input the frame that came last, however old it is."


def _frames(each: InputSection) -> str:
    if each.window is not None:
        return f"the newest of #{max(0, _EXAMPLE_N - each.window + 1)} to #{_EXAMPLE_N}"
    return f"#{_EXAMPLE_N + (each.offset or 0)}"


def _times(each: InputSection) -> str:
    if each.offset is not None:
        return f"the frame {_shifted('n', each.offset, str)}"
    if each.window_ns is not None:
        return f"the {_which(each)} frame from {_second(-each.window_ns)} to {_second(0)}"
    at = each.offset_ns or 0
    if each.pick == "nearest":
        if each.tolerance_ns is None:
            return f"the frame nearest to {_second(at)}"
        return f"the nearest frame from {_second(at - each.tolerance_ns)} to {_second(at + each.tolerance_ns)}"
    oldest = "" if each.tolerance_ns is None else f" and not before {_second(at - each.tolerance_ns)}"
    return f"the newest frame at or before {_second(at)}{oldest}"


def _second(by_ns: int) -> str:
    return f"{(_EXAMPLE_NS + by_ns) / 1e9:.9g} s"


def _waits(config: JoinConfig) -> Iterator[str]:
    """What happens to a row whose inputs are late, silent or gone."""
    if not POLICIES[config.join.policy].needs_map:
        return
    yield from _lateness(config)
    stale_ms = config.mergemap.stale_timeout_ms
    for each in config.input:
        drives = config.drive.kind == "input" and config.drive.input == each.name
        if config.join.policy == "timestamp" and each.pick == "latest":
            yield f"{each.name} is taken as it is: once it has a frame, no row waits for another, and none is too old."
        elif drives:
            yield f"{each.name} drives the join: while it is silent there are no rows."
        elif each.optional:
            yield f"{each.name} is optional: rows do not wait for it, and say not_joined where it has no frame yet."
        elif each.deadline_ms:
            wait = duration(each.deadline_ms * _NS_PER_MS)
            yield f"{each.name}: a row waits for it for {wait} and goes without it then (late)."
        elif stale_ms:
            yield (
                f"{each.name}: a row waits for it; when it was silent for more than {duration(stale_ms * _NS_PER_MS)}, "
                "rows go without it (stale). Before its first frame there are no rows."
            )
        else:
            yield (
                f"{each.name}: a row waits for it, however long. Give it deadline_ms or optional, or the map a "
                "stale_timeout_ms, if rows are to go on without it."
            )
        if config.join.policy == "timestamp" and each.pick == "nearest" and each.tolerance_ns is None and not drives:
            yield from _nearest(each)


def _lateness(config: JoinConfig) -> Iterator[str]:
    late_ns = config.mergemap.lateness_ns
    if config.join.policy != "timestamp":
        return
    if late_ns == 0:
        yield "lateness_ns is 0: a row waits until every input has reached the time that is asked of it."
    elif config.mergemap.late == "stall":
        yield f'late = "stall": rows wait for every input as if lateness_ns ({duration(late_ns)}) were 0.'
    else:
        yield (
            f"lateness_ns is {duration(late_ns)}: the row for t = {_second(0)} is made when every input has reached "
            f"{_second(-late_ns)}. A frame that comes later is not in it, even where it would have been the better one."
        )


def _nearest(each: InputSection) -> Iterator[str]:
    if each.window_ns is None and each.reuse:
        yield f'{each.name}: pick = "nearest" without tolerance_ns takes the nearest frame even if it is seconds away.'
