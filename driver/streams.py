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
    """The right of one client to one stream in one role."""

    lease_id: int
    stream_id: int
    client_id: int
    role: Role
    node_id: int
    epoch: int
    """The epoch that the client was last told of. Its regions are kept."""
    expires_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Regions that were ordered and do not exist yet."""

    order: Provision
    request: ShmAttachRequest | None
    """The request that waits for them; None if the end of a lease, or the start, raised the epoch."""
    node_id: int | None = None
    """The node id that is reserved for that client."""
    is_second_attempt: bool = False


@dataclass(slots=True, kw_only=True)
class Stream:
    """The state of one stream."""

    stream_id: int
    profile: StreamProfile
    is_static: bool
    clock_domain: ClockDomain
    """The clock of the present or last producer's frames; the configured one before the first producer."""
    idle_since_ns: int
    regions: Regions | None = None
    """The current epoch as it is announced; None if there is none yet."""
    older: list[int] = field(default_factory=list)
    """Earlier epochs whose files still exist, oldest first."""
    pending: Pending | None = None
    waiting: deque[ShmAttachRequest] = field(default_factory=deque)
    producer: Lease | None = None
    leases: dict[int, Lease] = field(default_factory=dict)
    """All leases, the producer's included."""

    @property
    def is_idle(self) -> bool:
        """Whether no client holds a lease, or waits for one."""
        return not self.leases and self.pending is None and not self.waiting

    def epochs(self) -> list[int]:
        """All epochs that have files."""
        return [*self.older, self.regions.epoch] if self.regions else list(self.older)

    def surplus(self, keep: int) -> list[int]:
        """Remove the older epochs beyond ``keep`` that no lease refers to from the list, and return them."""
        needed = {lease.epoch for lease in self.leases.values()}
        newest = self.epochs()[-keep:] if keep else []
        gone = [epoch for epoch in self.older if epoch not in newest and epoch not in needed]
        self.older = [epoch for epoch in self.older if epoch not in gone]
        return gone


class Streams:
    """Finds streams, makes dynamic ones, and forgets them."""

    def __init__(self, rules: LeaseRules) -> None:
        self._rules = rules
        self._streams: dict[int, Stream] = {}
        self._next_dynamic = rules.dynamic_ids.first if rules.dynamic_ids else 0

    def __iter__(self) -> Iterator[Stream]:
        return iter(list(self._streams.values()))

    def __len__(self) -> int:
        return len(self._streams)

    def get(self, stream_id: int) -> Stream | None:
        """The stream, or None if it does not exist."""
        return self._streams.get(stream_id)

    def add(self, stream_id: int, now_ns: int) -> Stream:
        """Make a stream with its configured profile."""
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
        """Remove a dynamic stream that nobody needs."""
        del self._streams[stream.stream_id]

    def free_dynamic_id(self) -> int | None:
        """The id of the dynamic range that was free for longest; None if no id is free."""
        ids = self._rules.dynamic_ids
        if ids is None:
            return None
        # This takes at most as many steps as there are streams, whose number is bounded.
        for _ in range(min(len(ids), len(self._streams) + 1)):
            stream_id = self._next_dynamic
            self._next_dynamic = stream_id + 1 if stream_id < ids.last else ids.first
            if stream_id not in self._streams:
                return stream_id
        return None
