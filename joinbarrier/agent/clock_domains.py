# SPDX-License-Identifier: Apache-2.0
"""Compares the clock that stamps an input with the clock that a map declares (PROTOCOL 11.5).

The clock domain of a stream's frames is that of its announces, until its epoch ends (PROTOCOL 14.12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema.errors import ClockDomainRefused
from framegate.schema.merge import ClockDomain

YEAR_NS: Final = 365 * 24 * 3600 * 1_000_000_000
_ADVICE: Final = (
    "Declare the clock of the producer (framegate produce --clock realtime, or the stream's entry in the driver's "
    "file), stamp its frames by the other clock, or declare the map's: mergemap.clock_domain."
)


def foreign_streams(applied: MergeMap, domains: Mapping[int, ClockDomain | None]) -> dict[int, ClockDomain]:
    """The streams of a map that are known to be stamped by another clock than the one that the map declares."""
    own = applied.clock_domain
    return {
        stream: domain
        for stream in applied.streams
        if own is not None and (domain := domains.get(stream)) is not None and domain is not own
    }


def refusal(config: JoinConfig, applied: MergeMap, foreign: Mapping[int, ClockDomain]) -> ClockDomainRefused:
    """The error that names an input, both clocks and the key. If a needed input is among them, it names that one."""
    named = [each for each in config.input if each.stream in foreign]
    each = next((each for each in named if not each.optional), named[0])
    assert applied.clock_domain is not None  # noqa: S101  (otherwise no stream is foreign to it)
    return ClockDomainRefused(
        f"frames of {each.name} are stamped by another clock than the map's",
        input=each.name,
        stream=each.stream,
        want=applied.clock_domain.name,
        have=foreign[each.stream].name,
        key="mergemap.clock_domain",
        hint=_ADVICE,
    )


def is_needed(config: JoinConfig, foreign: Mapping[int, ClockDomain]) -> bool:
    """Whether rows need one of these streams."""
    return any(each.stream in foreign and not each.optional for each in config.input)


def without(applied: MergeMap, foreign: Mapping[int, ClockDomain]) -> MergeMap:
    """The map without the rules of these streams, so that their inputs take no part in the join."""
    return replace(applied, rules=[rule for rule in applied.rules if rule.stream not in foreign])


def stamped_by(time_ns: int, monotonic_ns: int, realtime_ns: int) -> ClockDomain | None:
    """The clock that a timestamp is within a year of, if it is far from the other clock.

    >>> stamped_by(1_790_000_000_000_000_000, 5_000_000_000, 1_790_000_000_000_000_100).name
    'REALTIME_SYNCED'
    """
    is_monotonic, is_realtime = abs(time_ns - monotonic_ns) < YEAR_NS, abs(time_ns - realtime_ns) < YEAR_NS
    if is_monotonic is is_realtime:
        return None
    return ClockDomain.MONOTONIC if is_monotonic else ClockDomain.REALTIME_SYNCED


def misnamed(name: str, time_ns: int, declared: ClockDomain, found: ClockDomain) -> str:
    """The warning about an input whose timestamps do not come from the declared clock."""
    return (
        f"{name}: its timestamps ({time_ns}) are those of the {_WORDS[found]} clock, but {_WORDS[declared]} is "
        f"declared: they are years away from it, and make no rows. {_ADVICE}"
    )


_WORDS: Final = {ClockDomain.MONOTONIC: "monotonic", ClockDomain.REALTIME_SYNCED: "realtime"}
