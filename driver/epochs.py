# SPDX-License-Identifier: Apache-2.0
"""Epochs: which number comes next, and which of those found on disk nobody needs any more. Decisions only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

EPOCH_MAX: Final = 2**64 - 2
"""All ones is the null value of the attach response."""


class EpochCounter:
    """The next epoch of any stream: above everything before it, and never behind the clock (PROTOCOL 5.2).

    ``ahead_ns`` is what the wall clock is ahead of ``now_ns``: a clock that begins anew when the host does would give a
    stream an epoch below those that journals know. ``floors`` are the highest epochs that the driver found on disk when
    it started, by stream. Numbers are taken from one sequence for all streams, so a stream that was forgotten cannot
    come back with an old number, and nothing has to be remembered for it.

    >>> counter = EpochCounter({10_000: 500})
    >>> counter.next(10_000, now_ns=100), counter.next(10_000, now_ns=100), counter.next(10_001, now_ns=100)
    (501, 502, 102)
    """

    def __init__(self, floors: Mapping[int, int] | None = None, ahead_ns: int = 0) -> None:
        self._ahead_ns = ahead_ns
        self._floors = dict(floors or {})
        self._last = 0

    def next(self, stream_id: int, now_ns: int) -> int | None:
        """The epoch to use now; None when the stream's numbers are used up."""
        self._last = max(self._last + 1, now_ns + self._ahead_ns)
        floor = self._floors.get(stream_id)
        if floor is None:
            return self._last
        # A floor above the clock: the wall clock was set back. It binds this stream alone.
        epoch = max(self._last, floor + 1)
        if epoch > EPOCH_MAX:
            return None
        self._floors[stream_id] = epoch
        return epoch


UNREADABLE_MIN_AGE_NS: Final = 60_000_000_000
"""A folder without a readable superblock may be one that a living process is filling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEpoch:
    """An epoch folder, as it was found on disk."""

    stream_id: int
    epoch: int
    pid: int | None
    """Who made it; None where the superblock cannot be read."""
    age_ns: int
    """Since it was last active; where the superblock cannot be read, since it was last changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What stays, whatever its age."""

    keep: int
    """How many of the newest epochs of a stream that is served stay."""
    min_age_ns: int
    own_pid: int
    served: frozenset[tuple[int, int]]
    """Epochs that a lease refers to or that are announced: (stream, epoch)."""


def highest(found: Iterable[FoundEpoch]) -> dict[int, int]:
    """The highest epoch of each stream."""
    floors: dict[int, int] = {}
    for each in found:
        floors[each.stream_id] = max(each.epoch, floors.get(each.stream_id, 0))
    return floors


def collectable(found: Iterable[FoundEpoch], keeping: Keeping, is_alive: Mapping[int, bool]) -> list[FoundEpoch]:
    """The epochs to remove: nobody serves them, they are stale, and their process is gone or is this one.

    ``is_alive`` says of every pid that was found whether it runs. Of a stream that is served the newest ``keep`` stay.
    Of one that nobody serves all go: there is no current epoch, and memory is scarce.
    """
    found = list(found)
    kept = keeping.served | _newest(found, keeping)
    return [
        each for each in found if (each.stream_id, each.epoch) not in kept and _is_abandoned(each, keeping, is_alive)
    ]


def left_behind(
    found: Iterable[FoundEpoch], own_pid: int, uptime_ns: int, is_alive: Mapping[int, bool]
) -> list[FoundEpoch]:
    """What drivers before this one left, whatever its age: for the end of the driver that holds the lock.

    With a superblock it is theirs when their process is gone. Without one they died while they made it, if it has not
    changed since this driver began: while it runs nobody else makes folders here.
    """
    return [
        each
        for each in found
        if (each.age_ns > uptime_ns if each.pid is None else each.pid == own_pid or not is_alive.get(each.pid, False))
    ]


def _is_abandoned(each: FoundEpoch, keeping: Keeping, is_alive: Mapping[int, bool]) -> bool:
    if each.pid is None:
        return each.age_ns > max(keeping.min_age_ns, UNREADABLE_MIN_AGE_NS)
    # Our own number on something that we do not serve: we retired it and could not remove it, or a process before us
    # had our number.
    is_gone = each.pid == keeping.own_pid or not is_alive.get(each.pid, False)
    return is_gone and each.age_ns > keeping.min_age_ns


def _newest(found: Iterable[FoundEpoch], keeping: Keeping) -> set[tuple[int, int]]:
    by_stream: dict[int, list[int]] = {stream_id: [] for stream_id, _ in keeping.served}
    for each in found:
        if each.stream_id in by_stream:
            by_stream[each.stream_id].append(each.epoch)
    return {
        (stream_id, epoch)
        for stream_id, epochs in by_stream.items()
        for epoch in sorted(epochs, reverse=True)[: keeping.keep]
    }
