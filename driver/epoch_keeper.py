# SPDX-License-Identifier: Apache-2.0
"""Which epochs of which streams there are: ordered, taken over, announced, retired (PROTOCOL 5.2, 6.4, 10.6).

The part of the lease authority that knows nothing of clients. Pure, as all of it.

Regions are made in two ways. A producer's epoch is made whole, with all its memory. The epoch that follows the end of
a producer, and the one of a stream that has only consumers, is announced at once as the protocol asks, but nobody
writes into it: the next producer raises the epoch again. So it is ordered as a placeholder that costs a ring and
some pages, and a stream never holds more than one epoch's memory and the previous one's. Created lazily it would
cost nothing, but consumers would wait for an announce that does not come.
"""

from __future__ import annotations

from collections import Counter

from framegate.driver.epochs import EpochCounter
from framegate.driver.lease_actions import Action, Announce, Collect, Provision, Regions, Retire, StreamProfile
from framegate.driver.lease_rules import LeaseRules
from framegate.driver.streams import Pending, Stream, Streams


class EpochKeeper:
    """The streams and their epochs."""

    def __init__(self, rules: LeaseRules, epochs: EpochCounter, counts: Counter[str]) -> None:
        self.rules = rules
        self.streams = Streams(rules)
        self._epochs = epochs
        self._counts = counts
        self._next_collect_ns = 0

    def start(self, now_ns: int) -> list[Action]:
        """Make the static streams ready to be attached to."""
        self._next_collect_ns = now_ns + self.rules.epoch_gc_min_age_ns
        actions: list[Action] = []
        for stream_id in self.rules.static_profiles:
            actions += self.placeholder(self.streams.add(stream_id, now_ns), now_ns)
        return actions

    def order(
        self,
        stream: Stream,
        is_for_producer: bool,
        require_hugepages: bool,
        now_ns: int,
        profile: StreamProfile | None = None,
    ) -> Provision | None:
        """The next epoch's regions, by the stream's profile or another; None when the stream's numbers are used up."""
        epoch = self._epochs.next(stream.stream_id, now_ns)
        if epoch is None:
            return None
        return Provision(
            stream_id=stream.stream_id,
            epoch=epoch,
            profile=stream.profile if profile is None else profile,
            require_hugepages=require_hugepages,
            is_placeholder=not is_for_producer,
            prefault=is_for_producer and self.rules.prefault,
        )

    def placeholder(self, stream: Stream, now_ns: int) -> list[Action]:
        """The epoch after a producer's, or before the first one's."""
        order = self.order(stream, False, self.rules.require_hugepages, now_ns)
        if order is None:
            self._counts["epochs_used_up"] += 1
            return []
        stream.pending = Pending(order=order, request=None)
        return [*self.make_way(stream), order]

    def make_way(self, stream: Stream) -> list[Action]:
        """Old epochs go before the new one comes, so that no more than ``epoch_gc_keep`` are ever there."""
        return self._retire(stream, stream.surplus(self.rules.epoch_gc_keep - 1))

    def raise_epoch(self, stream: Stream, now_ns: int) -> list[Action]:
        """A producer's lease has ended."""
        # From here on the old epoch is never announced again, even if the new one cannot be made.
        if stream.regions is not None:
            stream.older.append(stream.regions.epoch)
            stream.regions = None
        return self.placeholder(stream, now_ns)

    def take_over(self, stream: Stream, regions: Regions, now_ns: int) -> None:
        """The regions are there: they are the stream's current epoch."""
        if stream.regions is not None:
            stream.older.append(stream.regions.epoch)
        stream.regions = regions
        stream.idle_since_ns = now_ns
        for lease in stream.leases.values():
            # The announce that follows tells them.
            lease.epoch = regions.epoch
        self._counts["epochs_made"] += 1

    def trim(self, stream: Stream) -> list[Action]:
        """No more epochs than are to be kept."""
        return self._retire(stream, stream.surplus(self.rules.epoch_gc_keep))

    def make_room(self) -> list[Action]:
        """The file system is full: give up what nobody needs."""
        actions: list[Action] = []
        for each in self.streams:
            if each.is_idle and not each.is_static:
                actions += self.forget(each)
            else:
                actions += self._retire(each, each.surplus(1))
        return [*actions, self._collect()]

    def forget(self, stream: Stream) -> list[Action]:
        """Nobody needs the stream, nor its files."""
        if self.streams.get(stream.stream_id) is stream:
            self.streams.forget(stream)
            self._counts["streams_forgotten"] += 1
        return self._retire(stream, stream.epochs())

    def announce_period(self, now_ns: int) -> list[Action]:
        """What comes around once in a period: announces, forgetting, collecting."""
        actions: list[Action] = []
        for stream in self.streams:
            actions += self._look_after(stream, now_ns)
        if self.rules.epoch_gc_enabled and now_ns >= self._next_collect_ns:
            self._next_collect_ns = now_ns + self.rules.epoch_gc_min_age_ns
            actions.append(self._collect())
        return actions

    def _look_after(self, stream: Stream, now_ns: int) -> list[Action]:
        is_long_idle = stream.is_idle and now_ns - stream.idle_since_ns > self.rules.epoch_gc_min_age_ns
        if is_long_idle and not stream.is_static:
            return self.forget(stream)
        actions = self._retire(stream, stream.surplus(1)) if is_long_idle else []
        if stream.regions is not None:
            return [*actions, announce(stream, is_periodic=True)]
        # Its regions could not be made; somebody waits for them, so it is tried again.
        return actions if stream.pending else [*actions, *self.placeholder(stream, now_ns)]

    def _retire(self, stream: Stream, epochs: list[int]) -> list[Action]:
        return [Retire(stream.stream_id, epoch) for epoch in epochs]

    def _collect(self) -> Collect:
        return Collect(tuple((stream.stream_id, epoch) for stream in self.streams for epoch in stream.epochs()))


def announce(stream: Stream, *, is_periodic: bool = False) -> Announce:
    """The stream as it is now; it has regions."""
    assert stream.regions is not None  # noqa: S101  (for the type checker; callers have looked)
    producer_id = stream.producer.client_id if stream.producer else 0
    return Announce(stream.regions, producer_id, is_periodic, stream.clock_domain)
