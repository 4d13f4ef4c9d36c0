# SPDX-License-Identifier: Apache-2.0
"""The rules for the values in a MergeMap (PROTOCOL 11.2). The native barriers check the same, with the same reasons."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Final

from framegate.schema.errors import MapRefused
from framegate.schema.merge import ClockDomain, MergeRuleType, MergeTimeRuleType, TimestampSource

U32_MAX: Final = 2**32 - 1
U64_MAX: Final = 2**64 - 1
I32_MAX: Final = 2**31 - 1
I64_MAX: Final = 2**63 - 1
INPUTS_MAX: Final = 256
"""The most inputs that one barrier can follow."""

REASONS: Final = {
    "no_rules": "a map has one rule or more",
    "mixed_rules": "the rules of a map are all by sequence or all by timestamp",
    "unknown_rule_type": "the rule's type has no name",
    "unknown_timestamp_source": "a timestamp is read from the slot header or from the frame descriptor",
    "unknown_clock_domain": "a timestamp map declares its clock domain, MONOTONIC or REALTIME_SYNCED",
    "not_for_sequences": "only a timestamp map has a clock domain and a lateness",
    "parameter_missing": "the rule lacks the parameter of its type",
    "parameter_extra": "a rule has the parameter of its type alone",
    "window_zero": "a window is above 0",
    "out_of_range": "the number does not fit its field, or is the field's null value",
    "too_many_inputs": f"a barrier follows at most {INPUTS_MAX} inputs",
    "unknown_stream": "a rule names a stream that has no [[input]] in this join",
    "drive_without_rule": "the input that drives this join has no rule",
    "other_output": "the map is of another output, epoch or kind",
    "two_sources": "ordered by timestamp, an input has one source",
}
"""The sentence for each ``reason`` of a refusal."""


def refused(facts: Mapping[str, object], /, **more: object) -> MapRefused:
    """The error for a reason. ``more`` stands before the other facts."""
    error = MapRefused(REASONS[str(facts["reason"])])
    error.facts = {**more, **facts}
    return error


def check_numbers(out_stream: object, epoch: object, stale_timeout_ns: object, lateness_ns: object) -> None:
    """Check the fixed fields of either announce."""
    _within(out_stream, 0, U32_MAX, {})
    _within(epoch, 0, U64_MAX, {})
    if stale_timeout_ns is not None:
        _within(stale_timeout_ns, 0, U64_MAX - 1, {})
    _within(lateness_ns, 0, U64_MAX - 1, {})


def check_clock_domain(domain: object) -> None:
    """Raise for a clock domain that has no name."""
    if domain not in tuple(ClockDomain):
        raise refused({"reason": "unknown_clock_domain"})


def check_sequence_rule(index: int, stream: object, kind: int, offset: object, window: object) -> None:
    """Check one rule by sequence; ``kind`` is its type on the wire."""
    where = {"rule": index, "stream": stream}
    _within(stream, 0, U32_MAX, where)
    _check_type(kind in tuple(MergeRuleType), where)
    if kind == MergeRuleType.OFFSET:
        _check_parameters(offset, window, where)
        _within(offset, -I32_MAX, I32_MAX, where)
    else:
        _check_parameters(window, offset, where)
        _check_window(window, U32_MAX - 1, where)


def check_timestamp_rule(
    index: int, stream: object, kind: int, source: object, offset_ns: object, window_ns: object
) -> None:
    """Check one rule by timestamp; ``kind`` is its type on the wire."""
    where = {"rule": index, "stream": stream}
    _within(stream, 0, U32_MAX, where)
    _check_type(kind in tuple(MergeTimeRuleType), where)
    if source not in tuple(TimestampSource):
        raise refused({"reason": "unknown_timestamp_source", **where})
    if kind == MergeTimeRuleType.OFFSET_NS:
        _check_parameters(offset_ns, window_ns, where)
        _within(offset_ns, -I64_MAX, I64_MAX, where)
    else:
        _check_parameters(window_ns, offset_ns, where)
        _check_window(window_ns, U64_MAX - 1, where)


def _check_type(is_known: bool, where: Mapping[str, object]) -> None:
    if not is_known:
        raise refused({"reason": "unknown_rule_type", **where})


def _check_parameters(own: object, other: object, where: Mapping[str, object]) -> None:
    if own is None:
        raise refused({"reason": "parameter_missing", **where})
    if other is not None:
        raise refused({"reason": "parameter_extra", **where})


def _check_window(window: object, most: int, where: Mapping[str, object]) -> None:
    if window == 0:
        raise refused({"reason": "window_zero", **where})
    _within(window, 1, most, where)


def _within(value: object, least: int, most: int, where: Mapping[str, object]) -> None:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise refused({"reason": "out_of_range", **where, "found": value})
