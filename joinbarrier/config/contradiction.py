# SPDX-License-Identifier: Apache-2.0
"""Whether an announced map contradicts a key that is written in a join's file.

The announced map is the rule, so a default never contradicts it: only keys that somebody gave are compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from framegate.joinbarrier.config.configuration import DOMAINS, SOURCES, JoinConfig
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.joinbarrier.maps.text import described
from framegate.schema.errors import MapContradicted

_NS_PER_MS: Final = 1_000_000
Pair = tuple[str, Any, Any]
"""A key, what the file says of it, and what the map says."""


def contradiction(config: JoinConfig, announced: MergeMap) -> MapContradicted | None:
    """The error that names every key of the file that the map contradicts; None where there is no such key."""
    found = [(key, file, told) for key, file, told in _compared(config, announced) if file != told]
    if not found:
        return None
    return MapContradicted(
        "the announced map says otherwise than this join's file",
        out_stream=announced.out_stream,
        epoch=announced.epoch,
        file=", ".join(f"{key} = {_text(file)}" for key, file, _ in found),
        map=", ".join(f"{key} = {_text(told)}" for key, _, told in found),
        announced=described(announced),
    )


def bound(config: JoinConfig, announced: MergeMap) -> tuple[int | None, ...]:
    """For each input the index of its rule: the k-th rule of a stream is that of the k-th input of this stream."""
    rules = defaultdict[int, list[int]](list)
    for index, rule in enumerate(announced.rules):
        rules[rule.stream].append(index)
    taken = Counter[int]()
    places = list[int | None]()
    for each in config.input:
        own = rules[each.stream]
        places.append(own[taken[each.stream]] if taken[each.stream] < len(own) else None)
        taken[each.stream] += 1
    return tuple(places)


def _compared(config: JoinConfig, announced: MergeMap) -> Iterator[Pair]:
    """Every given key that says something of this kind of map."""
    for index, (each, place) in enumerate(zip(config.input, bound(config, announced), strict=True)):
        if place is None:
            continue
        told = _of_rule(announced.rules[place], is_latest=config.join.policy == "latest")
        for key, value in told.items():
            if key in each.model_fields_set and getattr(each, key) is not None:
                given = getattr(each, key)
                file = SOURCES[given] if key == "timestamp_source" else given
                yield f"input[{index}] {each.name}: {key}", file, value
    told = {"stale_timeout_ms": announced.stale_timeout_ns}
    if announced.is_by_timestamp and config.has_timestamp_map:
        told |= {"clock_domain": announced.clock_domain}
        if config.join.policy == "timestamp":
            told |= {"lateness_ns": announced.lateness_ns}
    for key, value in told.items():
        if key in config.mergemap.model_fields_set:
            yield f"mergemap.{key}", _of_section(key, getattr(config.mergemap, key)), value


def _of_rule(rule: SequenceRule | TimestampRule, *, is_latest: bool) -> dict[str, Any]:
    if isinstance(rule, SequenceRule):
        return {} if is_latest else {"offset": rule.offset, "window": rule.window}
    source = {"timestamp_source": rule.source}
    return source if is_latest else {"offset_ns": rule.offset_ns, "window_ns": rule.window_ns, **source}


def _of_section(key: str, value: Any) -> Any:
    if key == "stale_timeout_ms":
        return value * _NS_PER_MS or None
    return DOMAINS[value] if key == "clock_domain" else value


def _text(value: Any) -> str:
    name = getattr(value, "name", None)
    return "none" if value is None else name.lower() if name else str(value)
