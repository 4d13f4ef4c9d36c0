# SPDX-License-Identifier: Apache-2.0
"""A client's side of one lease (PROTOCOL 10): ask, keep alive, lose, ask again. Pure: no sockets, no clock.

```
  UNATTACHED --tick--> ATTACHING --OK--> ATTACHED --keep-alives--> ATTACHED
                          |                 | revoked, expired, driver gone
                          | refused,        v
                          | time-out     BACKOFF --delay over--> ATTACHING, with a new correlation id
                          +--------------^ |
                                           +---late OK--> ATTACHED
```

A driver that makes gigabytes of regions grants late. An answer to an earlier request of the same client id counts as
much as one to the newest. If a newer request is refused because the client id is attached, the earlier one is under
way.

The driver announces an attached stream once a second. Keep-alives have no answer, so only these announces show that the
driver lives. A lease without them is lost. A driver that only stood still holds the lease all the same. So the lease is
given back before each attach until the driver answers, and an announce ends the waiting.

Give it the driver's messages and the time, and carry out the actions that it returns, in order. When a lease ends, its
regions must not be used from that moment on.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from framegate.schema import driver as driver_messages
from framegate.schema.driver import (
    LeaseRevokeReason,
    PublishMode,
    ResponseCode,
    Role,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachRequest,
    ShmDetachResponse,
    ShmDriverShutdown,
    ShmLeaseKeepalive,
    ShmLeaseRevoked,
)
from framegate.schema.wire import ClockDomain, ShmPoolAnnounce
from framegate.shmpool.client.attach_answer import flaw_of
from framegate.shmpool.client.declaration import Declaration
from framegate.shmpool.client.lease_actions import Action, Gained, Lost, Refused, Send, UnderWay
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION

_ALREADY_ATTACHED: Final = "client_id already attached"
_NS: Final = 1_000_000_000
_SHORTEST_INTERVAL_NS: Final = 10_000_000
_CORRELATION_MASK: Final = (1 << 62) - 1
_UNHEARD_NS: Final = 200_000_000
"""A driver that sends an announce this long after a request, but no answer, did not receive the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """The time-outs and intervals of a lease."""

    attach_timeout_ns: int = 1 * _NS
    backoff_ns: int = 200_000_000
    backoff_max_ns: int = 1 * _NS
    keepalive_interval_ns: int = 1 * _NS
    """The longest interval. If a lease is granted for less than three of them, it is kept alive more often."""
    silence_ns: int = 5 * _NS
    """After this long without an announce of the stream the driver counts as gone; it is five announce periods."""
    under_way_ns: int = 300 * _NS
    """How long an attach may be under way while the driver makes its regions."""


class LeaseState(Enum):
    """Where a lease stands."""

    UNATTACHED = "unattached"
    ATTACHING = "attaching"
    ATTACHED = "attached"
    BACKOFF = "backoff"
    CLOSED = "closed"


@dataclass(slots=True)
class Lease:
    """One lease of one role on one stream."""

    stream_id: int
    role: Role
    client_id: int
    times: LeaseTimes = field(default_factory=LeaseTimes)
    chance: random.Random = field(default_factory=random.Random)
    declaration: Declaration | None = None
    """What a producer says of its frames, before each attach."""
    state: LeaseState = LeaseState.UNATTACHED
    lease_id: int | None = None
    epoch: int | None = None
    protocol_errors: int = 0
    _correlation_id: int = 0
    _deadline_ns: int = 0
    _keepalive_at_ns: int = 0
    _keepalive_every_ns: int = 0
    _granted_ns: int = 0
    _expires_at_ns: int | None = None
    _vouched_ns: int = 0
    _attempts: int = 0
    _first_correlation_id: int = 0
    _asked_from_id: int = 0
    """The first request whose grant can still be used: it has the present client id, and came after the last lease."""
    _unanswered: int = 0
    """How many requests from that one on, sent over the present link, have had no answer yet."""
    _under_way_since_ns: int | None = None
    _detach_id: int = 0
    _owed: ShmDetachRequest | None = None
    """The detach for a lease that was lost here. It is sent before each attach until the driver has answered."""
    _waits_since_ns: int | None = None
    """Since when an announce is awaited, because the driver did not receive a request."""
    _taken_ids: int = 0

    def __post_init__(self) -> None:
        # A random start makes it unlikely that an answer to an earlier process is taken for one to this one.
        self._correlation_id = self._first_correlation_id = self.chance.getrandbits(62)
        self._forget_requests()
        # Detaches are numbered separately, because an attach that is under way keeps its own id.
        self._detach_id = self.chance.getrandbits(62)
        # 0 only means "any" within this process (PROTOCOL 10.4).
        self.client_id = self.client_id or new_client_id(self.chance)

    @property
    def is_attached(self) -> bool:
        """Whether the regions may be used."""
        return self.state is LeaseState.ATTACHED

    def on_tick(self, now_ns: int) -> list[Action]:
        """Time passed."""
        match self.state:
            case LeaseState.UNATTACHED:
                return self._ask(now_ns)
            case LeaseState.ATTACHING if now_ns >= self._deadline_ns:
                return self._lose_driver("", now_ns)
            case LeaseState.BACKOFF if now_ns >= self._deadline_ns:
                return self._ask(now_ns)
            case LeaseState.ATTACHED:
                return self._keep_alive(now_ns)
        return []

    def on_response(self, response: ShmAttachResponse, now_ns: int) -> list[Action]:
        """Handle an answer on the control stream. The correlation id says whether it is for this lease."""
        is_ours = self._first_correlation_id < response.correlation_id <= self._correlation_id
        if not is_ours or self.state is LeaseState.CLOSED:
            return []
        if self.is_attached or response.correlation_id < self._asked_from_id:
            return self._give_back_late(response)
        self._unanswered = max(self._unanswered - 1, 0)
        # The detach was sent before the request, on the same stream.
        self._owed = None
        if response.code is not ResponseCode.OK:
            return self._refused(response, now_ns)
        self._under_way_since_ns = None
        if (flaw := flaw_of(response, self.stream_id)) is not None:
            self.protocol_errors += 1
            reason = f"the driver's answer is unusable: {flaw}"
            return [Refused(ResponseCode.INTERNAL_ERROR, reason), *self._back_off(now_ns)]
        self.state = LeaseState.ATTACHED
        self.lease_id, self.epoch = response.lease_id, response.epoch
        self._attempts = self._taken_ids = 0
        self._forget_requests()
        self._take_times(response.lease_expiry_timestamp_ns, now_ns)
        return [Gained(response)]

    def on_announce(self, announce: ShmPoolAnnounce, now_ns: int) -> list[Action]:
        """Handle an announce. One of this stream shows that the driver lives, and which epoch the stream has."""
        if announce.stream_id != self.stream_id:
            return []
        # An announce that was sent long ago and is read only now shows no life.
        is_local = announce.announce_clock_domain is ClockDomain.MONOTONIC
        said_ns = min(now_ns, announce.announce_timestamp_ns) if is_local else now_ns
        if not self.is_attached or self.epoch is None:
            is_back = self._waits_since_ns is not None and said_ns >= self._waits_since_ns
            return self._ask(now_ns) if is_back else []
        if self.role is Role.PRODUCER and announce.epoch > self.epoch:
            return self._lose(f"the stream went on to epoch {announce.epoch} without this producer", now_ns)
        if self.role is Role.PRODUCER and announce.producer_id != self.client_id:
            return []
        if announce.epoch >= self.epoch:
            self._vouched_ns = max(self._vouched_ns, said_ns)
        return []

    def on_detached(self, response: ShmDetachResponse) -> None:
        """Note that the driver has taken a lease back, or does not know it."""
        if self._owed is not None and response.correlation_id == self._owed.correlation_id:
            self._owed = None

    def on_revoked(self, message: ShmLeaseRevoked, now_ns: int) -> list[Action]:
        """Handle the end of a lease. It is this lease if id, stream and role agree."""
        ours = (self.lease_id, self.stream_id, self.role)
        if not self.is_attached or (message.lease_id, message.stream_id, message.role) != ours:
            return []
        return self._end(f"the driver ended the lease: {LeaseRevokeReason(message.reason).name.lower()}", now_ns)

    def on_shutdown(self, message: ShmDriverShutdown, now_ns: int) -> list[Action]:
        """Handle the end of the driver: every lease is void."""
        if not self.is_attached:
            return []
        actions = self._end(f"the driver shut down: {message.reason.name.lower()}", now_ns)
        self._waits_since_ns = now_ns
        return actions

    def on_send_failed(self, now_ns: int) -> list[Action]:
        """Handle a message that could not be sent. For want of a keep-alive the driver would expire the lease, so it
        counts as lost now. A request that was not sent is sent again soon."""
        if self.state is LeaseState.ATTACHING:
            self._unanswered = max(self._unanswered - 1, 0)
        return self._lose_driver("a keep-alive could not be sent", now_ns)

    def on_link_lost(self, reason: str, now_ns: int) -> list[Action]:
        """Handle the loss of the link: the driver does not receive keep-alives any more, and its answers are lost."""
        self._unanswered = 0
        return self._lose_driver(reason, now_ns)

    def on_unusable(self, reason: str, now_ns: int) -> list[Action]:
        """Give the lease back because its regions cannot be mapped, and ask again later."""
        return self._lose(reason, now_ns) if self.is_attached else []

    def close(self) -> list[Action]:
        """Give the lease back."""
        held, self.state = self.is_attached, LeaseState.CLOSED
        last = self._giving_back(self.lease_id) if held else self._owed
        self._owed = None
        return [] if last is None else [Send(last)]

    def _ask(self, now_ns: int) -> list[Action]:
        self.state = LeaseState.ATTACHING
        self._correlation_id += 1
        self._unanswered += 1
        self._deadline_ns = now_ns + self.times.attach_timeout_ns
        self._waits_since_ns = now_ns + _UNHEARD_NS
        request = ShmAttachRequest(
            correlation_id=self._correlation_id,
            stream_id=self.stream_id,
            client_id=self.client_id,
            role=self.role,
            expected_layout_version=LAYOUT_VERSION,
            publish_mode=PublishMode.EXISTING_OR_CREATE,
            require_hugepages=driver_messages.HugepagesPolicy.UNSPECIFIED,
        )
        declared = None if self.declaration is None else self.declaration.message(self.stream_id, self.client_id)
        return [Send(each) for each in (self._owed, declared, request) if each is not None]

    def _take_times(self, expiry_ns: int | None, now_ns: int) -> None:
        times = self.times
        # A time in the past, or of another clock, gives no interval.
        granted_ns = 3 * times.keepalive_interval_ns if expiry_ns is None else expiry_ns - now_ns
        self._granted_ns = max(granted_ns, 0)
        self._keepalive_every_ns = min(times.keepalive_interval_ns, max(self._granted_ns // 3, _SHORTEST_INTERVAL_NS))
        self._keepalive_at_ns = now_ns + self._keepalive_every_ns
        self._expires_at_ns = expiry_ns
        self._vouched_ns = now_ns

    def _refused(self, response: ShmAttachResponse, now_ns: int) -> list[Action]:
        refusal = Refused(response.code, response.error_message or "no reason given")
        if _ALREADY_ATTACHED not in response.error_message:
            self._under_way_since_ns = None
            return [refusal, *self._back_off(now_ns)]
        if self._is_under_way(now_ns):
            return [UnderWay(), *self._back_off(now_ns)]
        # Another process drew the same number, or the answer to a granted attach was lost. Draw another number.
        self.client_id = new_client_id(self.chance)
        self._forget_requests()
        self._taken_ids += 1
        told = [] if self._taken_ids == 1 else [refusal]
        return [*told, *self._back_off(now_ns)]

    def _is_under_way(self, now_ns: int) -> bool:
        """Whether an earlier request of this lease probably attached the client id, and may be granted yet."""
        if self._under_way_since_ns is None:
            self._under_way_since_ns = now_ns
        return self._unanswered > 0 and now_ns - self._under_way_since_ns < self.times.under_way_ns

    def _forget_requests(self) -> None:
        self._asked_from_id, self._unanswered = self._correlation_id + 1, 0
        self._under_way_since_ns = None

    def _back_off(self, now_ns: int) -> list[Action]:
        self.state, self._waits_since_ns = LeaseState.BACKOFF, None
        delay_ns = min(self.times.backoff_ns << min(self._attempts, 10), self.times.backoff_max_ns)
        self._attempts += 1
        self._deadline_ns = now_ns + delay_ns
        return []

    def _keep_alive(self, now_ns: int) -> list[Action]:
        if self._expires_at_ns is not None and now_ns >= self._expires_at_ns:
            return self._lose("the lease expired: this process did not run in time", now_ns)
        if now_ns - self._vouched_ns >= self.times.silence_ns:
            actions = self._lose("the driver fell silent", now_ns)
            self._waits_since_ns = now_ns
            return actions
        if now_ns < self._keepalive_at_ns or self.lease_id is None:
            return []
        self._keepalive_at_ns = now_ns + self._keepalive_every_ns
        if self._expires_at_ns is not None:
            # No answer contains the new expiry. The driver extends the lease by as much as it gave at first.
            self._expires_at_ns = max(self._expires_at_ns, now_ns + self._granted_ns)
        return [
            Send(
                ShmLeaseKeepalive(
                    lease_id=self.lease_id,
                    stream_id=self.stream_id,
                    client_id=self.client_id,
                    role=self.role,
                    client_timestamp_ns=now_ns,
                )
            )
        ]

    def _end(self, reason: str, now_ns: int) -> list[Action]:
        """End the lease: the driver holds none for us."""
        self.lease_id = self.epoch = self._expires_at_ns = None
        self._back_off(now_ns)
        return [Lost(reason)]

    def _lose(self, reason: str, now_ns: int) -> list[Action]:
        """End the lease here, though the driver may still hold it. Send a detach, or it would block the next attach."""
        self._owed = self._giving_back(self.lease_id)
        actions = self._end(reason, now_ns)
        return actions if self._owed is None else [*actions, Send(self._owed)]

    def _lose_driver(self, reason: str, now_ns: int) -> list[Action]:
        """End the lease because the driver cannot be reached. Ask again soon, at once when it announces the stream."""
        actions: list[Action] = []
        if self.is_attached:
            self._owed = self._giving_back(self.lease_id)
            actions = self._end(reason, now_ns)
        elif self.state is LeaseState.ATTACHING:
            self._back_off(now_ns)
        else:
            return []
        self._waits_since_ns = now_ns
        return actions

    def _give_back_late(self, response: ShmAttachResponse) -> list[Action]:
        """Give back a late grant, of a lease beside the present one or before it. The present lease does not change."""
        if response.code is not ResponseCode.OK or response.lease_id == self.lease_id:
            return []
        late = self._giving_back(response.lease_id)
        return [] if late is None else [Send(late)]

    def _giving_back(self, lease_id: int | None) -> ShmDetachRequest | None:
        if lease_id is None:
            return None
        self._detach_id = (self._detach_id + 1) & _CORRELATION_MASK
        return ShmDetachRequest(
            correlation_id=self._detach_id,
            lease_id=lease_id,
            stream_id=self.stream_id,
            client_id=self.client_id,
            role=self.role,
        )


def new_client_id(chance: random.Random) -> int:
    """A random number that no other client is likely to have; 0 means none."""
    return chance.randrange(1, 1 << 32)
