# SPDX-License-Identifier: Apache-2.0
"""The epoch keeper: it orders, takes over, announces and retires the epochs of streams (PROTOCOL 5.2, 6.4, 10.6).

It is the part of the lease authority that knows nothing of clients. Like the rest of the authority it is pure.

Regions are made in two ways. A producer's epoch is made whole, with all its memory. Two other epochs are announced at
once, as the protocol asks, but no producer writes into them: the one after a producer's end, and the one of a stream
that has only consumers. The next producer raises the epoch again. So such an epoch is ordered as a placeholder that
costs a ring and some pages, and a stream never holds more memory than one epoch's and the previous one's. An epoch that
is not made before it is needed would cost nothing, but consumers would wait for an announce that does not come.
"""

from __future__ import annotations

from collections import Counter

from framegate.driver.epochs import EpochCounter
from framegate.driver.lease_actions import Action, Announce, Collect, Provision, Regions, Retire, StreamProfile
from framegate.driver.lease_rules import LeaseRules
from framegate.driver.streams import Pending, Stream, Streams


class EpochKeeper:
    """The epochs of all streams."""

    def __init__(self, rules: LeaseRules, epochs: EpochCounter, counts: Counter[str]) -> None:
        self.rules = rules
        self.streams = Streams(rules)
        self._epochs = epochs
        self._counts = counts
        self._next_collect_ns = 0

    def start(self, now_ns: int) -> list[Action]:
        """Make the static streams ready for clients."""
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
        """Order the next epoch's regions, by the stream's profile or another. None if its numbers are used up."""
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
        """Order a placeholder: the epoch after a producer's, or before the first one's."""
        order = self.order(stream, False, self.rules.require_hugepages, now_ns)
        if order is None:
            self._counts["epochs_used_up"] += 1
            return []
        stream.pending = Pending(order=order, request=None)
        return [*self.make_way(stream), order]

    def make_way(self, stream: Stream) -> list[Action]:
        """Retire old epochs before a new one is made, so that there are never more than ``epoch_gc_keep``."""
        return self._retire(stream, stream.surplus(self.rules.epoch_gc_keep - 1))

    def raise_epoch(self, stream: Stream, now_ns: int) -> list[Action]:
        """Raise the epoch, because a producer's lease has ended."""
        # From here on the old epoch is not announced again, even if the new one cannot be made.
        if stream.regions is not None:
            stream.older.append(stream.regions.epoch)
            stream.regions = None
        return self.placeholder(stream, now_ns)

    def take_over(self, stream: Stream, regions: Regions, now_ns: int) -> None:
        """Make these regions, which exist now, the stream's current epoch."""
        if stream.regions is not None:
            stream.older.append(stream.regions.epoch)
        stream.regions = regions
        stream.idle_since_ns = now_ns
        for lease in stream.leases.values():
            # The announce that follows tells the consumers.
            lease.epoch = regions.epoch
        self._counts["epochs_made"] += 1

    def trim(self, stream: Stream) -> list[Action]:
        """Retire the epochs beyond those that are kept."""
        return self._retire(stream, stream.surplus(self.rules.epoch_gc_keep))

    def make_room(self) -> list[Action]:
        """Give up what nobody needs, because the file system is full."""
        actions: list[Action] = []
        for each in self.streams:
            if each.is_idle and not each.is_static:
                actions += self.forget(each)
            else:
                actions += self._retire(each, each.surplus(1))
        return [*actions, self._collect()]

    def forget(self, stream: Stream) -> list[Action]:
        """Forget a stream and its files, which nobody needs."""
        if self.streams.get(stream.stream_id) is stream:
            self.streams.forget(stream)
            self._counts["streams_forgotten"] += 1
        return self._retire(stream, stream.epochs())

    def announce_period(self, now_ns: int) -> list[Action]:
        """Do what is due once a period: announces, forgetting, collecting."""
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
        # Its regions could not be made and somebody waits for them, so they are ordered again.
        return actions if stream.pending else [*actions, *self.placeholder(stream, now_ns)]

    def _retire(self, stream: Stream, epochs: list[int]) -> list[Action]:
        return [Retire(stream.stream_id, epoch) for epoch in epochs]

    def _collect(self) -> Collect:
        return Collect(tuple((stream.stream_id, epoch) for stream in self.streams for epoch in stream.epochs()))


def announce(stream: Stream, *, is_periodic: bool = False) -> Announce:
    """The announce of a stream in its present state. The stream must have regions."""
    assert stream.regions is not None  # noqa: S101  (for the type checker; callers have looked)
    producer_id = stream.producer.client_id if stream.producer else 0
    return Announce(stream.regions, producer_id, is_periodic, stream.clock_domain)
