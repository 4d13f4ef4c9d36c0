# SPDX-License-Identifier: Apache-2.0
"""When a consumer follows an announce and when it lets go (PROTOCOL 5). Pure: it decides, its owner maps and unmaps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from framegate.schema.wire import ClockDomain, ShmPoolAnnounce

ANNOUNCE_PERIOD_NS: Final = 1_000_000_000
FRESH_NS: Final = 3 * ANNOUNCE_PERIOD_NS


class Decision(Enum):
    """What to do with an announce."""

    IGNORE = "ignore"
    KEEP = "keep"
    """The mapped regions are the announced ones: look at their superblocks again."""
    REMAP = "remap"


@dataclass(slots=True)
class Mapping:
    """What one consumer knows of its stream's regions."""

    stream_id: int
    join_time_ns: int = 0
    """Monotonic time at which the announce stream became available: older announces are replays."""
    epoch: int | None = None
    highest_epoch: int = 0
    confirmed_at_ns: int = 0
    ignored_stale: int = 0
    ignored_epoch: int = 0
    _awaits_after: int | None = None
    _await_deadline_ns: int = 0

    def on_announce(self, announce: ShmPoolAnnounce, now_ns: int, realtime_ns: int) -> Decision:
        """An announce of this stream."""
        if not self._is_fresh(announce, now_ns, realtime_ns):
            self.ignored_stale += 1
            return Decision.IGNORE
        if announce.epoch < self.highest_epoch:
            self.ignored_epoch += 1
            return Decision.IGNORE
        self.highest_epoch = announce.epoch
        if announce.epoch == self.epoch:
            self.confirmed_at_ns = now_ns
            return Decision.KEEP
        return Decision.REMAP

    def on_mapped(self, epoch: int, now_ns: int) -> None:
        """The owner mapped that epoch."""
        self.epoch, self.confirmed_at_ns = epoch, now_ns
        self.highest_epoch = max(self.highest_epoch, epoch)
        self._awaits_after = None

    def on_unmapped(self) -> None:
        """The owner let go."""
        self.epoch = None
        self._awaits_after = None

    def on_producer_revoked(self, now_ns: int) -> None:
        """The producer's lease ended: an announce with a higher epoch follows."""
        if self.epoch is not None and self._awaits_after is None:
            self._awaits_after, self._await_deadline_ns = self.epoch, now_ns + FRESH_NS

    def must_unmap(self, now_ns: int, activity_ns: int | None) -> str | None:
        """Why the mapped regions must not be used any longer; None while they may.

        ``activity_ns`` is the ring's activity timestamp, or None when its magic is gone.
        """
        if self.epoch is None:
            return None
        if activity_ns is None:
            return "its superblock is gone"
        if self._awaits_after == self.epoch and now_ns >= self._await_deadline_ns:
            return "the producer's lease ended and no new epoch was announced"
        if now_ns - max(activity_ns, self.confirmed_at_ns) > FRESH_NS:
            return "nobody vouches for the regions any more"
        return None

    def _is_fresh(self, announce: ShmPoolAnnounce, now_ns: int, realtime_ns: int) -> bool:
        at_ns = announce.announce_timestamp_ns
        if announce.announce_clock_domain is ClockDomain.REALTIME_SYNCED:
            return realtime_ns - at_ns <= FRESH_NS
        return now_ns - at_ns <= FRESH_NS and at_ns >= self.join_time_ns
