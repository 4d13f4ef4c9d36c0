# SPDX-License-Identifier: Apache-2.0
"""Epoch numbers: which one comes next, and which of those found on disk nobody needs any more. Decisions only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

EPOCH_MAX: Final = 2**64 - 2
"""The largest epoch: all ones is the null value of the attach response."""


class EpochCounter:
    """Gives the next epoch of any stream: above everything before it, and never behind the clock (PROTOCOL 5.2).

    ``ahead_ns`` is how far the wall clock is ahead of ``now_ns``. The monotonic clock begins anew when the host does,
    and would give a stream an epoch below those that journals know. ``floors`` are the highest epochs of each stream
    that the driver found on disk when it started. All streams take numbers from one sequence, so a forgotten stream
    cannot come back with an old number, and nothing has to be remembered for it.

    >>> counter = EpochCounter({10_000: 500})
    >>> counter.next(10_000, now_ns=100), counter.next(10_000, now_ns=100), counter.next(10_001, now_ns=100)
    (501, 502, 102)
    """

    def __init__(self, floors: Mapping[int, int] | None = None, ahead_ns: int = 0) -> None:
        self._ahead_ns = ahead_ns
        self._floors = dict(floors or {})
        self._last = 0

    def next(self, stream_id: int, now_ns: int) -> int | None:
        """The epoch to use now; None if the stream has used up its numbers."""
        self._last = max(self._last + 1, now_ns + self._ahead_ns)
        floor = self._floors.get(stream_id)
        if floor is None:
            return self._last
        # The floor is above the clock: the wall clock was set back. The floor binds this stream only.
        epoch = max(self._last, floor + 1)
        if epoch > EPOCH_MAX:
            return None
        self._floors[stream_id] = epoch
        return epoch


UNREADABLE_MIN_AGE_NS: Final = 60_000_000_000
"""How long a folder without a readable superblock is kept: a living process may be filling it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEpoch:
    """An epoch folder, as it was found on disk."""

    stream_id: int
    epoch: int
    pid: int | None
    """The process that made it; None if the superblock cannot be read."""
    age_ns: int
    """The time since it was last active, or since it was last changed if the superblock cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What is kept, whatever its age."""

    keep: int
    """How many of the newest epochs of a served stream are kept."""
    min_age_ns: int
    own_pid: int
    served: frozenset[tuple[int, int]]
    """The epochs that a lease refers to or that are announced: (stream, epoch)."""


def highest(found: Iterable[FoundEpoch]) -> dict[int, int]:
    """The highest epoch of each stream."""
    floors: dict[int, int] = {}
    for each in found:
        floors[each.stream_id] = max(each.epoch, floors.get(each.stream_id, 0))
    return floors


def collectable(found: Iterable[FoundEpoch], keeping: Keeping, is_alive: Mapping[int, bool]) -> list[FoundEpoch]:
    """The epochs to remove: nobody serves them, they are stale, and their process is gone or is this one.

    ``is_alive`` says of every pid that was found whether it runs. Of a served stream, the newest ``keep`` are kept. Of
    a stream that nobody serves none is: it has no current epoch, and memory is scarce.
    """
    found = list(found)
    kept = keeping.served | _newest(found, keeping)
    return [
        each for each in found if (each.stream_id, each.epoch) not in kept and _is_abandoned(each, keeping, is_alive)
    ]


def left_behind(
    found: Iterable[FoundEpoch], own_pid: int, uptime_ns: int, is_alive: Mapping[int, bool]
) -> list[FoundEpoch]:
    """What earlier drivers left, whatever its age, for the driver that holds the lock and is ending.

    An epoch with a superblock was left behind if its process is gone. Without a superblock, its maker died while making
    it if the folder has not changed since this driver began: while this driver runs nobody else makes folders here.
    """
    return [
        each
        for each in found
        if (each.age_ns > uptime_ns if each.pid is None else each.pid == own_pid or not is_alive.get(each.pid, False))
    ]


def _is_abandoned(each: FoundEpoch, keeping: Keeping, is_alive: Mapping[int, bool]) -> bool:
    if each.pid is None:
        return each.age_ns > max(keeping.min_age_ns, UNREADABLE_MIN_AGE_NS)
    # An epoch with our own pid that we do not serve: either we retired it and could not remove it, or an earlier
    # process had the same pid.
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
