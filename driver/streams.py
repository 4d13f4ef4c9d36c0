# SPDX-License-Identifier: Apache-2.0
"""The streams that the lease authority serves: static ones for ever, dynamic ones while somebody holds a lease."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from framegate.driver.lease_actions import Provision, Regions, StreamProfile
from framegate.driver.lease_rules import LeaseRules
from framegate.schema.driver import Role, ShmAttachRequest
from framegate.schema.wire import ClockDomain


@dataclass(slots=True, kw_only=True)
class Lease:
    """One client's right to one stream in one role."""

    lease_id: int
    stream_id: int
    client_id: int
    role: Role
    node_id: int
    epoch: int
    """The epoch that the client was last told of; its regions stay."""
    expires_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Regions that were asked for and have not come yet."""

    order: Provision
    request: ShmAttachRequest | None
    """Who is waiting for them; None: the epoch was raised by the end of a lease, or at the start."""
    node_id: int | None = None
    """Kept for that client meanwhile."""
    is_second_attempt: bool = False


@dataclass(slots=True, kw_only=True)
class Stream:
    """One stream's life."""

    stream_id: int
    profile: StreamProfile
    is_static: bool
    clock_domain: ClockDomain
    """The clock of the present or last producer's frames; before the first, as configured."""
    idle_since_ns: int
    regions: Regions | None = None
    """The current epoch, as it is announced; None while there is none."""
    older: list[int] = field(default_factory=list)
    """Epochs before it whose files are still there, oldest first."""
    pending: Pending | None = None
    waiting: deque[ShmAttachRequest] = field(default_factory=deque)
    producer: Lease | None = None
    leases: dict[int, Lease] = field(default_factory=dict)
    """All of them, the producer's included."""

    @property
    def is_idle(self) -> bool:
        """Whether nobody holds, or waits for, a lease."""
        return not self.leases and self.pending is None and not self.waiting

    def epochs(self) -> list[int]:
        """All epochs that have files."""
        return [*self.older, self.regions.epoch] if self.regions else list(self.older)

    def surplus(self, keep: int) -> list[int]:
        """Takes the older epochs off the list that are beyond ``keep`` and that no lease refers to."""
        needed = {lease.epoch for lease in self.leases.values()}
        newest = self.epochs()[-keep:] if keep else []
        gone = [epoch for epoch in self.older if epoch not in newest and epoch not in needed]
        self.older = [epoch for epoch in self.older if epoch not in gone]
        return gone


class Streams:
    """Finds them, makes dynamic ones, forgets them."""

    def __init__(self, rules: LeaseRules) -> None:
        self._rules = rules
        self._streams: dict[int, Stream] = {}
        self._next_dynamic = rules.dynamic_ids.first if rules.dynamic_ids else 0

    def __iter__(self) -> Iterator[Stream]:
        return iter(list(self._streams.values()))

    def __len__(self) -> int:
        return len(self._streams)

    def get(self, stream_id: int) -> Stream | None:
        """The stream, if it is there."""
        return self._streams.get(stream_id)

    def add(self, stream_id: int, now_ns: int) -> Stream:
        """A new stream, with the profile that it is configured to have."""
        static = self._rules.static_profiles.get(stream_id)
        stream = Stream(
            stream_id=stream_id,
            profile=static or self._rules.default_profile,
            is_static=static is not None,
            clock_domain=self.configured_domain(stream_id),
            idle_since_ns=now_ns,
        )
        self._streams[stream_id] = stream
        return stream

    def configured_domain(self, stream_id: int) -> ClockDomain:
        """The clock domain of a stream whose producer does not declare one."""
        is_realtime = stream_id in self._rules.realtime_streams
        return ClockDomain.REALTIME_SYNCED if is_realtime else ClockDomain.MONOTONIC

    def forget(self, stream: Stream) -> None:
        """It was dynamic, and nobody needs it."""
        del self._streams[stream.stream_id]

    def free_dynamic_id(self) -> int | None:
        """An id of the range that no stream has, the one that was free the longest."""
        ids = self._rules.dynamic_ids
        if ids is None:
            return None
        # At most as many steps as there are streams, which are bounded.
        for _ in range(min(len(ids), len(self._streams) + 1)):
            stream_id = self._next_dynamic
            self._next_dynamic = stream_id + 1 if stream_id < ids.last else ids.first
            if stream_id not in self._streams:
                return stream_id
        return None
