# SPDX-License-Identifier: Apache-2.0
"""The agent of the lease driver: it reads the control stream, asks the lease authority, and carries out its actions.

One thread calls ``do_work`` again and again. No message of a peer makes it raise; only a failure of the transport does.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from framegate.driver.checkpoint_agent import CheckpointAgent
from framegate.driver.configuration import DriverSection
from framegate.driver.control_messages import hear
from framegate.driver.lease_actions import (
    Action,
    Announce,
    Collect,
    Provision,
    Respond,
    Retire,
    Revoke,
    Shutdown,
)
from framegate.driver.leases import LeaseAuthority
from framegate.driver.outbox import Outbox
from framegate.driver.regions import RegionStore
from framegate.schema.driver import ShmAttachRequest, ShutdownReason
from framegate.schema.wire import ClockDomain, ShmPoolAnnounce
from framegate.shmpool.clock import Clock, monotonic_ns, realtime_ns
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION, SLOT_BYTES
from framegate.shmpool.transport.interface import Transport

TURN_MESSAGES_MAX: Final = 256
_FULL_TURNS_MAX: Final = 64
"""After this many turns in a row that left messages unread, leases expire although a keepalive may be among them."""
_STANDSTILL_NS: Final = 5_000_000_000
"""After standing still for this long, the driver drops waiting attach requests: their clients have given it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverStreams:
    """The channels and streams on which the driver listens and announces."""

    control_channel: str
    control_stream_id: int
    announce_channel: str
    announce_stream_id: int

    @classmethod
    def of(cls, section: DriverSection) -> DriverStreams:
        """As configured."""
        return cls(
            control_channel=section.control_channel,
            control_stream_id=section.control_stream_id,
            announce_channel=section.announce_channel,
            announce_stream_id=section.announce_stream_id,
        )


class LeaseDriverAgent:
    """Carries out what the lease authority decides. ``wait_ns``: how long a turn may wait for the first message."""

    def __init__(
        self,
        transport: Transport,
        streams: DriverStreams,
        authority: LeaseAuthority,
        store: RegionStore,
        *,
        checkpoints: CheckpointAgent | None = None,
        clock: Clock = monotonic_ns,
        realtime: Clock = realtime_ns,
        wait_ns: int = 0,
    ) -> None:
        self.authority = authority
        self.checkpoints = CheckpointAgent() if checkpoints is None else checkpoints
        self._store = store
        self._clock = clock
        self._realtime = realtime
        self._wait_ns = wait_ns
        self._streams = streams
        self._outbox = Outbox()
        self._full_turns = 0
        self._heard_ns = 0
        self._polled_ns = clock()
        self._stood_still = False
        self._open_streams(transport)
        self._carry_out(authority.start(clock()))
        self.checkpoints.start(self._say, clock())

    def _open_streams(self, transport: Transport) -> None:
        streams = self._streams
        # The subscription sleeps while it waits: an attach may take a millisecond, and an idle driver with the
        # backoff strategy costs a quarter of a core. It is added first, so that the publication is connected from its
        # beginning.
        requests = transport.add_subscription(streams.control_channel, streams.control_stream_id, idle="sleep")
        control = transport.add_publication(streams.control_channel, streams.control_stream_id)
        announces = transport.add_publication(streams.announce_channel, streams.announce_stream_id)
        # All streams are replaced, or none: waiting messages are sent on the new streams.
        self._requests, self._control, self._announces = requests, control, announces

    def go_on(self, transport: Transport) -> None:
        """Go on with another transport, after the old one was lost. Leases, epochs and unsent messages stay.

        Raises what adding streams raises; then it can be called again.
        """
        control, announces = self._control, self._announces
        self.close()
        self._open_streams(transport)
        self._outbox.go_over(control, self._control)
        self._outbox.go_over(announces, self._announces)
        self.authority.on_return(self._clock())

    @property
    def is_ready(self) -> bool:
        """Whether clients may attach: the driver receives its own messages, so requests and answers will arrive."""
        return self._control.is_connected and self._requests.is_connected

    @property
    def has_ended(self) -> bool:
        """Whether the shutdown was announced, after everything before it was sent."""
        return self.authority.has_ended and self.checkpoints.is_idle and not self._outbox

    def do_work(self) -> int:
        """Do one turn. Returns how much was done."""
        # Read before the wait: messages that arrive later may still be unread when leases are checked for expiry.
        before_ns = self._clock()
        self._outbox.check()
        done = self._outbox.flush()
        received = self._requests.poll(TURN_MESSAGES_MAX, 0 if self._outbox else self._wait_ns)
        # Read after the wait: a pause of the process mostly falls into it, and its messages come out of it.
        polled_ns, self._polled_ns = self._polled_ns, self._clock()
        self._stood_still |= self._polled_ns - polled_ns >= _STANDSTILL_NS
        for message in received:
            done += 1 + self._hear(message.data)
        is_full = len(received) == TURN_MESSAGES_MAX
        self._stood_still &= is_full
        self._full_turns = self._full_turns + 1 if is_full else 0
        if self._full_turns % _FULL_TURNS_MAX == 0:
            self._heard_ns = before_ns
        for made in self._store.finished():
            done += self._carry_out(self.authority.on_regions(made, self._clock()))
        done += self._carry_out(self.authority.tick(self._clock(), self._heard_ns))
        if self.authority.has_ended:
            self.checkpoints.shutdown(self._clock())
        return done + self.checkpoints.do_work(self._clock(), self._heard_ns)

    def shutdown(self, reason: ShutdownReason = ShutdownReason.NORMAL) -> None:
        """Revoke all leases and announce the end. Call ``do_work`` until ``has_ended`` to send what is left."""
        self.checkpoints.shutdown(self._clock())
        self._carry_out(self.authority.shutdown(self._clock(), reason))

    def counters(self) -> dict[str, int]:
        """What was done, refused and dropped, by cause; only counts above 0."""
        parts = (self.authority.counts, self._outbox.counts, self._store.counts)
        total = {name: count for part in parts for name, count in sorted(part.items())}
        tables = {
            "leases": len(self.authority.leases),
            "streams": len(self.authority.streams),
            "epochs": len(self._store),
            "consumer_streams_declined": self.authority.consumer_streams.declined,
        }
        return total | tables

    def close(self) -> None:
        """Close the streams. Idempotent."""
        for each in (self._requests, self._control, self._announces):
            each.close()

    def _say(self, message: bytes, is_periodic: bool) -> None:
        self._outbox.send(self._control, message, is_periodic=is_periodic)

    def _hear(self, data: bytes) -> int:
        if self.checkpoints.hear(data, self._clock()):
            return 0
        heard = hear(data)
        if self._stood_still and isinstance(heard.message, ShmAttachRequest):
            # The request waited unread, and its client has given it up. A lease that nobody knows of would keep the
            # next client out until it expires. The announces that follow make every waiting client ask again.
            self.authority.counts["attach_given_up"] += 1
            return 0
        if heard.message is not None:
            return self._carry_out(self.authority.on_message(heard.message, self._clock()))
        self.authority.counts[heard.cause] += 1
        if heard.answer is not None and not self.authority.has_ended:
            self._outbox.send(self._control, heard.answer.encode())
        return 0

    def _carry_out(self, actions: list[Action]) -> int:
        """Carry out actions in order. Actions that follow from one are carried out after all that were there before."""
        todo = deque(actions)
        done = 0
        while todo:
            todo.extend(self._do(todo.popleft()))
            done += 1
        return done

    def _do(self, action: Action) -> list[Action]:
        match action:
            case Respond() | Revoke() | Shutdown():
                self._outbox.send(self._control, action.message.encode())
            case Announce():
                self._announce(action)
            case Provision():
                made = self._store.provision(action)
                return [] if made is None else self.authority.on_regions(made, self._clock())
            case Retire():
                self._store.retire(action.stream_id, action.epoch)
            case Collect():
                rules = self.authority.rules
                self._store.collect(action.served, keep=rules.epoch_gc_keep, min_age_ns=rules.epoch_gc_min_age_ns)
        return []

    def _announce(self, action: Announce) -> None:
        now_ns, regions = self._clock(), action.regions
        self._store.refresh(regions.stream_id, regions.epoch, now_ns)
        pools = tuple(
            ShmPoolAnnounce.PayloadPool(
                pool_id=pool.pool_id,
                pool_nslots=regions.header_nslots,
                stride_bytes=pool.stride_bytes,
                region_uri=pool.uri,
            )
            for pool in regions.pools
        )
        message = ShmPoolAnnounce(
            stream_id=regions.stream_id,
            producer_id=action.producer_id,
            epoch=regions.epoch,
            announce_timestamp_ns=now_ns if action.clock_domain is ClockDomain.MONOTONIC else self._realtime(),
            announce_clock_domain=action.clock_domain,
            layout_version=LAYOUT_VERSION,
            header_nslots=regions.header_nslots,
            header_slot_bytes=SLOT_BYTES,
            payload_pools=pools,
            header_region_uri=regions.header_uri,
        )
        self._outbox.send(self._announces, message.encode(), is_periodic=action.is_periodic)
