# SPDX-License-Identifier: Apache-2.0
"""A MergeMap as text for people, and as an object for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.schema.console.quantities import duration
from framegate.schema.merge import TimestampSource
from framegate.shmpool.client.stream_names import UNNAMED, stream_text


def described(found: MergeMap, names: Mapping[int, str] = UNNAMED) -> str:
    """The rules in one line; ``names`` are those of streams.

    >>> described(MergeMap(20001, 1, [SequenceRule(10001, offset=0), SequenceRule(10002, window=5)]), {10001: "left"})
    'left (10001) OFFSET 0, 10002 WINDOW 5'
    """
    parts = [_rule(rule, names) for rule in found.rules]
    if found.clock_domain is not None:
        parts.append(f"clock {found.clock_domain.name.lower()}")
    if found.lateness_ns:
        parts.append(f"lateness {duration(found.lateness_ns)}")
    if found.stale_timeout_ns is not None:
        parts.append(f"stale after {duration(found.stale_timeout_ns)}")
    return ", ".join(parts)


def titled(out_stream: int, epoch: int, names: Mapping[int, str]) -> str:
    """Whose map it is.

    >>> titled(20001, 1, {20001: "pair"})
    'output pair (20001), epoch 1'
    """
    return f"output {stream_text(out_stream, names)}, epoch {epoch}"


def as_object(found: MergeMap, names: Mapping[int, str]) -> dict[str, Any]:
    """A map as ``--json`` prints it."""
    return {
        "out_stream": found.out_stream,
        "out_name": names.get(found.out_stream),
        "epoch": found.epoch,
        "kind": "timestamp" if found.is_by_timestamp else "sequence",
        "stale_timeout_ns": found.stale_timeout_ns,
        "clock_domain": None if found.clock_domain is None else found.clock_domain.name.lower(),
        "lateness_ns": found.lateness_ns,
        "rules": [{**_rule_object(rule), "name": names.get(rule.stream)} for rule in found.rules],
    }


def _rule(rule: SequenceRule | TimestampRule, names: Mapping[int, str]) -> str:
    stream = stream_text(rule.stream, names)
    if isinstance(rule, SequenceRule):
        words = f"OFFSET {rule.offset}" if rule.window is None else f"WINDOW {rule.window}"
        return f"{stream} {words}"
    words = (
        f"OFFSET_NS {duration(rule.offset_ns)}" if rule.window_ns is None else f"WINDOW_NS {duration(rule.window_ns)}"
    )
    source = "" if rule.source is TimestampSource.SLOT_HEADER else " of the descriptor"
    return f"{stream} {words}{source}"


def _rule_object(rule: SequenceRule | TimestampRule) -> dict[str, Any]:
    if isinstance(rule, SequenceRule):
        return {"stream": rule.stream, "offset": rule.offset, "window": rule.window}
    return {
        "stream": rule.stream,
        "offset_ns": rule.offset_ns,
        "window_ns": rule.window_ns,
        "timestamp_source": rule.source.name.lower(),
    }
