# SPDX-License-Identifier: Apache-2.0
"""When a consumer follows an announce and when it lets go (PROTOCOL 5). Pure: it decides, its owner maps and unmaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Self

from framegate.schema.driver import ShmAttachResponse
from framegate.schema.wire import ClockDomain, ShmPoolAnnounce
from framegate.shmpool.client.owner_times import OwnerTimes


class Decision(Enum):
    """What to do with an announce."""

    IGNORE = "ignore"
    KEEP = "keep"
    """The mapped regions are the announced ones: look at their superblocks again."""
    REMAP = "remap"
    UNMAP = "unmap"
    """The mapped regions are described otherwise now: let go."""


class Layout(NamedTuple):
    """What an announce or an answer says of the regions, beside their places."""

    layout_version: int | None
    nslots: int | None
    slot_bytes: int | None
    pools: tuple[tuple[int, int, int], ...]
    """Id, slots, stride."""

    @classmethod
    def announced(cls, announce: ShmPoolAnnounce) -> Self:
        """Of an announce."""
        shape = (announce.layout_version, announce.header_nslots, announce.header_slot_bytes)
        return cls(
            *shape, tuple((pool.pool_id, pool.pool_nslots, pool.stride_bytes) for pool in announce.payload_pools)
        )

    @classmethod
    def answered(cls, response: ShmAttachResponse) -> Self:
        """Of an attach answer."""
        shape = (response.layout_version, response.header_nslots, response.header_slot_bytes)
        return cls(
            *shape, tuple((pool.pool_id, pool.pool_nslots, pool.stride_bytes) for pool in response.payload_pools)
        )

    @property
    def longest_payload(self) -> int:
        """Bytes of the largest pool's slots."""
        return max((stride for _, _, stride in self.pools), default=0)


@dataclass(slots=True)
class Mapping:
    """What one consumer knows of its stream's regions."""

    stream_id: int
    times: OwnerTimes = field(default_factory=OwnerTimes)
    join_time_ns: int = 0
    """Monotonic time at which the announce stream became available: older announces are replays."""
    epoch: int | None = None
    highest_epoch: int = 0
    confirmed_at_ns: int = 0
    ignored_stale: int = 0
    ignored_epoch: int = 0
    _layout: Layout | None = None
    _pid: int | None = None
    _awaits_after: int | None = None
    _await_deadline_ns: int = 0
    _closed_epoch: int = -1

    def on_announce(self, announce: ShmPoolAnnounce, now_ns: int, realtime_ns: int) -> Decision:
        """An announce of this stream."""
        if not self._is_fresh(announce, now_ns, realtime_ns):
            self.ignored_stale += 1
            return Decision.IGNORE
        # An epoch whose producer's lease has ended is not mapped again, only kept until its successor comes.
        is_closed = announce.epoch <= self._closed_epoch and announce.epoch != self.epoch
        if announce.epoch < self.highest_epoch or is_closed:
            self.ignored_epoch += 1
            return Decision.IGNORE
        if announce.epoch != self.epoch:
            return Decision.REMAP
        if self._layout is not None and Layout.announced(announce) != self._layout:
            return Decision.UNMAP
        self.confirmed_at_ns = now_ns
        return Decision.KEEP

    def is_active(self, activity_ns: int, now_ns: int) -> bool:
        """Whether regions whose owner was active last at ``activity_ns`` may be mapped."""
        # A time that lies ahead is of another clock and tells nothing.
        return now_ns - activity_ns <= self.times.freshness_ns

    def on_mapped(self, epoch: int, now_ns: int, layout: Layout | None = None, pid: int | None = None) -> None:
        """The owner mapped that epoch."""
        self.epoch, self.confirmed_at_ns = epoch, now_ns
        self.highest_epoch = max(self.highest_epoch, epoch)
        self._layout, self._pid = layout, pid
        self._awaits_after = None

    def on_unusable(self, epoch: int) -> None:
        """The announced regions could not be mapped; older ones are not the stream's any more either."""
        self.highest_epoch = max(self.highest_epoch, epoch)

    def on_unmapped(self) -> None:
        """The owner let go."""
        self.epoch = self._layout = self._pid = None
        self._awaits_after = None

    def on_producer_revoked(self, now_ns: int) -> None:
        """The producer's lease ended: an announce with a higher epoch follows."""
        if self.epoch is not None and self._awaits_after is None:
            self._awaits_after, self._await_deadline_ns = self.epoch, now_ns + self.times.freshness_ns
            self._closed_epoch = self.epoch

    def must_unmap(self, now_ns: int, mark: tuple[int, int] | None) -> str | None:
        """Why the mapped regions must not be used any longer; None while they may.

        ``mark`` is the ring's activity timestamp and process id, or None when its magic is gone.
        """
        if self.epoch is None:
            return None
        if mark is None:
            return "its superblock is gone"
        activity_ns, pid = mark
        if self._pid is not None and pid != self._pid:
            return "another process writes the regions"
        if self._awaits_after == self.epoch and now_ns >= self._await_deadline_ns:
            return "the producer's lease ended and no new epoch was announced"
        # Mapped regions are given up later than new ones are refused: a turn that came late is no death.
        if now_ns - (activity_ns if activity_ns <= now_ns else self.confirmed_at_ns) > self.times.silence_ns:
            return "nobody vouches for the regions any more"
        return None

    def _is_fresh(self, announce: ShmPoolAnnounce, now_ns: int, realtime_ns: int) -> bool:
        at_ns = announce.announce_timestamp_ns
        if announce.announce_clock_domain is ClockDomain.REALTIME_SYNCED:
            return realtime_ns - at_ns <= self.times.freshness_ns
        return now_ns - at_ns <= self.times.freshness_ns and at_ns >= self.join_time_ns
