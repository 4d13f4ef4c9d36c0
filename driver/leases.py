# SPDX-License-Identifier: Apache-2.0
"""The lease authority: who may produce on a stream or consume from it, in which epoch, and for how long (PROTOCOL 10).

It is a pure state machine. Messages, results and ticks go in, each with the time; actions come out, and must be carried
out in order. It knows no transport, no file and no clock.

``EpochKeeper`` decides about the epochs.
"""

from __future__ import annotations

import hmac
from collections import Counter
from typing import Final

from framegate.driver.attach_rules import (
    CLIENT_ATTACHED,
    DRAINING,
    Refusal,
    check_absent,
    check_profile,
    check_request,
    check_role,
    full,
    node_id_taken,
    wants_hugepages,
)
from framegate.driver.consumer_streams import ConsumerStreams, IdPool
from framegate.driver.declarations import Declarations
from framegate.driver.epoch_keeper import EpochKeeper, announce
from framegate.driver.epochs import EPOCH_MAX, EpochCounter
from framegate.driver.frame_fit import fitted
from framegate.driver.lease_actions import (
    Action,
    Provisioned,
    ProvisionFailed,
    ProvisionProblem,
    Respond,
    Retire,
    Revoke,
    Shutdown,
)
from framegate.driver.lease_messages import detached, granted, refused, revoked
from framegate.driver.lease_rules import LeaseRules
from framegate.driver.node_ids import NodeIds
from framegate.driver.streams import Lease, Pending, Stream
from framegate.schema import Message
from framegate.schema.control import StreamDeclaration
from framegate.schema.driver import (
    HugepagesPolicy,
    LeaseRevokeReason,
    ResponseCode,
    Role,
    ShmAttachRequest,
    ShmDetachRequest,
    ShmDriverShutdown,
    ShmDriverShutdownRequest,
    ShmLeaseKeepalive,
    ShutdownReason,
)
from framegate.schema.wire import ClockDomain, ConsumerHello
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION

_LEASE_ID_MAX: Final = 2**64 - 2
_GOING: Final = "the driver is shutting down"


class LeaseAuthority:
    """All leases of one driver. Every ``on_...`` method returns the actions that follow, in order.

    ``first_lease_id`` should differ from one driver process to the next, so that a client of an earlier driver is not
    mistaken for a client of this one.
    """

    def __init__(self, rules: LeaseRules, epochs: EpochCounter, first_lease_id: int = 1) -> None:
        self.rules = rules
        self.counts = Counter[str]()
        self._keeper = EpochKeeper(rules, epochs, self.counts)
        self.streams = self._keeper.streams
        self.leases: dict[int, Lease] = {}
        self.is_draining = False
        self.has_ended = False
        self._next_lease_id = first_lease_id
        self._clients: dict[int, Lease | None] = {}
        """The client ids in use, each with its lease; None while its attach is under way."""
        self.attaching = 0
        """The number of requests that wait for regions."""
        limit = rules.limits.cooling_node_ids
        self._node_ids = NodeIds(cooldown_ns=rules.node_id_cooldown_ns, cooling_max=limit)
        self._declarations = Declarations(rules.limits.pending_attaches, self.counts)
        self.consumer_streams = ConsumerStreams(IdPool(rules.descriptor_ids), IdPool(rules.control_ids))
        self._soonest_expiry_ns = _LEASE_ID_MAX
        self._next_announce_ns = 0
        self._notice: tuple[int, ShutdownReason] | None = None

    # --- events -------------------------------------------------------------------------------------------

    def start(self, now_ns: int) -> list[Action]:
        """Make the static streams ready for clients."""
        self._next_announce_ns = now_ns + self.rules.announce_period_ns
        return self._keeper.start(now_ns)

    def on_message(self, message: Message, now_ns: int) -> list[Action]:
        """Handle one message of the control stream. Messages that are not for a driver are ignored."""
        if self.has_ended:
            return []
        match message:
            case ShmLeaseKeepalive():
                self._on_keepalive(message, now_ns)
            case ShmAttachRequest():
                return self._on_attach(message, now_ns)
            case ShmDetachRequest():
                return self._on_detach(message, now_ns)
            case ShmDriverShutdownRequest():
                return self._on_shutdown_request(message, now_ns)
            case ConsumerHello():
                return self._on_hello(message)
            case StreamDeclaration():
                self._declarations.hear(message)
        return []

    def on_regions(self, result: Provisioned | ProvisionFailed, now_ns: int) -> list[Action]:
        """Handle the result of a ``Provision``."""
        stream_id, epoch = _named(result)
        stream = self.streams.get(stream_id)
        if self.has_ended or stream is None or stream.pending is None or stream.pending.order.epoch != epoch:
            # The authority dropped the order meanwhile, and no client was told of these files.
            return [Retire(stream_id, epoch)] if isinstance(result, Provisioned) else []
        pending, stream.pending = stream.pending, None
        if isinstance(result, Provisioned):
            actions = self._take_over(stream, pending, result, now_ns)
        elif result.problem == ProvisionProblem.NO_ROOM and not pending.is_second_attempt:
            return self._try_again(stream, pending)
        else:
            actions = self._give_up(stream, pending, result)
        return actions + self._serve_waiting(stream, now_ns)

    def tick(self, now_ns: int, heard_ns: int | None = None) -> list[Action]:
        """Do what is due by time alone: expiry, announces, forgetting, the end of draining.

        ``heard_ns`` is the time up to which all messages were read, if that is not now: a keepalive may be among the
        rest.
        """
        if self.has_ended:
            return []
        if self._notice is not None and now_ns >= self._notice[0]:
            return self.shutdown(now_ns, self._notice[1])
        actions = self._expire(now_ns, now_ns if heard_ns is None else heard_ns)
        if now_ns >= self._next_announce_ns:
            # Counted from now, not from when it was due: a driver that was suspended must not catch up in a burst.
            self._next_announce_ns = now_ns + self.rules.announce_period_ns
            actions += self._keeper.announce_period(now_ns)
        return actions

    def on_return(self, now_ns: int) -> None:
        """Note that the driver hears again, after a while without: keepalives of that time may be lost."""
        for lease in self.leases.values():
            lease.expires_ns = max(lease.expires_ns, now_ns + self.rules.lease_ns)

    def revoke(self, lease_id: int, now_ns: int, why: str) -> list[Action]:
        """End a lease by a decision of the driver."""
        lease = self.leases.get(lease_id)
        return [] if lease is None else self._end(lease, LeaseRevokeReason.REVOKED, why, now_ns)

    def shutdown(self, now_ns: int, reason: ShutdownReason = ShutdownReason.NORMAL) -> list[Action]:
        """End everything now: revoke all leases, then send the notice. The next driver raises the epochs."""
        if self.has_ended:
            return []
        actions: list[Action] = []
        for stream in self.streams:
            actions += self._turn_away(stream)
        self.is_draining = self.has_ended = True
        for lease in list(self.leases.values()):
            actions += self._end(lease, LeaseRevokeReason.REVOKED, _GOING, now_ns)
        return [*actions, Shutdown(ShmDriverShutdown(timestamp_ns=now_ns, reason=reason, error_message=_GOING))]

    # --- attach -------------------------------------------------------------------------------------------

    def _on_attach(self, request: ShmAttachRequest, now_ns: int) -> list[Action]:
        self.counts["attach_requests"] += 1
        if self.is_draining:
            return self._refuse(request, DRAINING)
        refusal = check_request(request, self.rules)
        if refusal is None and request.client_id in self._clients:
            refusal = CLIENT_ATTACHED
        if refusal is None and len(self.leases) + self.attaching >= self.rules.limits.leases:
            refusal = full("leases", self.rules.limits.leases)
        return self._refuse(request, refusal) if refusal else self._find_stream(request, now_ns)

    def _find_stream(self, request: ShmAttachRequest, now_ns: int) -> list[Action]:
        stream = self.streams.get(request.stream_id)
        if stream is None:
            refusal = check_absent(request, self.rules) or check_profile(self.rules.default_profile)
            return self._refuse(request, refusal) if refusal else self._new_stream(request, now_ns)
        refusal = check_profile(stream.profile) or check_role(request, stream)
        return self._refuse(request, refusal) if refusal else self._attach(stream, request, now_ns)

    def _new_stream(self, request: ShmAttachRequest, now_ns: int) -> list[Action]:
        if len(self.streams) >= self.rules.limits.streams:
            return self._refuse(request, full("streams", self.rules.limits.streams))
        stream_id = request.stream_id or self.streams.free_dynamic_id()
        if stream_id is None:
            return self._refuse(request, full("dynamic_ids", len(self.rules.dynamic_ids or ())))
        stream = self.streams.add(stream_id, now_ns)
        actions = self._attach(stream, request, now_ns)
        if stream.is_idle and not stream.epochs():
            # The request was refused, so the stream that was made for it goes.
            self.streams.forget(stream)
        return actions

    def _attach(self, stream: Stream, request: ShmAttachRequest, now_ns: int) -> list[Action]:
        if stream.pending is not None:
            return self._wait(stream, request)
        node_id = self._node_ids.take(request.desired_node_id, client_id=request.client_id, now_ns=now_ns)
        if node_id is None:
            return self._refuse(request, node_id_taken(request.desired_node_id))
        if stream.regions is not None and request.role == Role.CONSUMER:
            # The answer has no field for the clock of the frames; the announce has.
            return [*self._grant(stream, request, node_id, now_ns), announce(stream)]
        return self._make_regions_for(stream, request, node_id, now_ns)

    def _wait(self, stream: Stream, request: ShmAttachRequest) -> list[Action]:
        if self.attaching >= self.rules.limits.pending_attaches:
            return self._refuse(request, full("pending_attaches", self.rules.limits.pending_attaches))
        self._clients[request.client_id] = None
        self.attaching += 1
        stream.waiting.append(request)
        return []

    def _serve_waiting(self, stream: Stream, now_ns: int) -> list[Action]:
        """Handle the waiting requests again, in order. Some of them may have to wait once more."""
        waiting = list(stream.waiting)
        stream.waiting.clear()
        actions: list[Action] = []
        for request in waiting:
            del self._clients[request.client_id]
            self.attaching -= 1
            actions += self._on_attach(request, now_ns)
        return actions

    def _make_regions_for(self, stream: Stream, request: ShmAttachRequest, node_id: int, now_ns: int) -> list[Action]:
        """Order regions for a request that needs new ones: a producer without a predecessor raises the epoch before its
        grant (D-083, D-086), and so does the first client of a stream without regions."""
        is_producer = request.role == Role.PRODUCER
        declared = self._declarations.of(request)
        profile = stream.profile if declared is None else fitted(stream.profile, declared.frame_bytes, declared.nslots)
        has_hugepages = wants_hugepages(request.require_hugepages, self.rules)
        order = self._keeper.order(stream, is_producer, has_hugepages, now_ns, profile)
        if self.attaching >= self.rules.limits.pending_attaches or order is None:
            self._node_ids.cancel(node_id)
            refusal = full("pending_attaches", self.rules.limits.pending_attaches) if order else _no_epoch(stream)
            return self._refuse(request, refusal)
        self._clients[request.client_id] = None
        self.attaching += 1
        stream.pending = Pending(order=order, request=request, node_id=node_id)
        return [*self._keeper.make_way(stream), order]

    def _grant(self, stream: Stream, request: ShmAttachRequest, node_id: int, now_ns: int) -> list[Action]:
        regions = stream.regions
        assert regions is not None  # noqa: S101  (for the type checker; callers have looked)
        lease = Lease(
            lease_id=self._take_lease_id(),
            stream_id=stream.stream_id,
            client_id=request.client_id,
            role=request.role,
            node_id=node_id,
            epoch=regions.epoch,
            expires_ns=now_ns + self.rules.lease_ns,
        )
        self.leases[lease.lease_id] = stream.leases[lease.lease_id] = self._clients[lease.client_id] = lease
        self._soonest_expiry_ns = min(self._soonest_expiry_ns, lease.expires_ns)
        if lease.role == Role.PRODUCER:
            stream.producer = lease
            stream.clock_domain = self._domain_for(stream, request)
            self._declarations.forget(request)
        self.counts["attached"] += 1
        return [Respond(granted(request, lease, stream))]

    def _domain_for(self, stream: Stream, request: ShmAttachRequest) -> ClockDomain:
        declared = self._declarations.of(request)
        if declared is None or declared.clock_domain is None:
            return self.streams.configured_domain(stream.stream_id)
        return ClockDomain(declared.clock_domain)

    def _take_lease_id(self) -> int:
        lease_id = self._next_lease_id
        if lease_id > _LEASE_ID_MAX:
            raise OverflowError("a driver process has used up its lease ids")
        self._next_lease_id += 1
        return lease_id

    def _refuse(self, request: ShmAttachRequest, refusal: Refusal) -> list[Action]:
        self.counts[f"attach_refused_{refusal.cause}"] += 1
        return [Respond(refused(request.correlation_id, refusal))]

    # --- regions ------------------------------------------------------------------------------------------

    def _take_over(self, stream: Stream, pending: Pending, result: Provisioned, now_ns: int) -> list[Action]:
        self._keeper.take_over(stream, result.regions, now_ns)
        actions: list[Action] = []
        if pending.request is not None and pending.node_id is not None:
            self.attaching -= 1
            actions += self._grant(stream, pending.request, pending.node_id, now_ns)
        return [*actions, announce(stream), *self._keeper.trim(stream)]

    def _try_again(self, stream: Stream, pending: Pending) -> list[Action]:
        """Give up what nobody needs, because there was no space, and order the regions once more."""
        self.counts["provision_retries"] += 1
        stream.pending = Pending(
            order=pending.order, request=pending.request, node_id=pending.node_id, is_second_attempt=True
        )
        return [*self._keeper.make_room(), pending.order]

    def _give_up(self, stream: Stream, pending: Pending, result: ProvisionFailed) -> list[Action]:
        self.counts["provision_failed"] += 1
        actions: list[Action] = []
        if pending.request is not None and pending.node_id is not None:
            self._leave_without(pending)
            actions += self._refuse(pending.request, _provisioning_failed(pending.request, result))
        if stream.is_idle and not stream.is_static and stream.regions is None:
            actions += self._keeper.forget(stream)
        # If somebody holds a lease on the stream, it is tried again at the next announce.
        return actions

    def _leave_without(self, pending: Pending) -> None:
        assert pending.request is not None and pending.node_id is not None  # noqa: S101, PT018  (for the type checker)
        self.attaching -= 1
        del self._clients[pending.request.client_id]
        self._node_ids.cancel(pending.node_id)

    # --- life and end of leases ---------------------------------------------------------------------------

    def _on_keepalive(self, message: ShmLeaseKeepalive, now_ns: int) -> None:
        lease = self._matching(message)
        if lease is None:
            self.counts["keepalives_ignored"] += 1
            return
        # This also counts if it is late but its lease has not expired yet: clients must not suffer for a slow driver.
        lease.expires_ns = now_ns + self.rules.lease_ns
        self.counts["keepalives"] += 1

    def _matching(self, message: ShmLeaseKeepalive | ShmDetachRequest) -> Lease | None:
        """The lease that matches all four fields. A lease id alone could be another client's mistake."""
        lease = self.leases.get(message.lease_id)
        if lease is None:
            return None
        named = (message.stream_id, message.client_id, message.role)
        return lease if named == (lease.stream_id, lease.client_id, lease.role) else None

    def _on_detach(self, request: ShmDetachRequest, now_ns: int) -> list[Action]:
        lease = self._matching(request)
        if lease is None:
            self.counts["detach_refused"] += 1
            text = f"no live lease {request.lease_id} of client {request.client_id} on stream {request.stream_id}"
            text += f", says the driver of {self.rules.base_dir}" if self.rules.base_dir else ""
            return [detached(request.correlation_id, ResponseCode.REJECTED, text)]
        answer = detached(request.correlation_id, ResponseCode.OK, "")
        return [answer, *self._end(lease, LeaseRevokeReason.DETACHED, "", now_ns)]

    def _expire(self, now_ns: int, heard_ns: int) -> list[Action]:
        if heard_ns < self._soonest_expiry_ns:
            return []
        actions: list[Action] = []
        for lease in [lease for lease in self.leases.values() if heard_ns >= lease.expires_ns]:
            actions += self._end(lease, LeaseRevokeReason.EXPIRED, "no keepalive came in time", now_ns)
        # Keepalives only move expiries later, so no lease needs a check until then.
        self._soonest_expiry_ns = min((lease.expires_ns for lease in self.leases.values()), default=_LEASE_ID_MAX)
        return actions

    def _end(self, lease: Lease, reason: LeaseRevokeReason, text: str, now_ns: int) -> list[Action]:
        """End a lease. Leases end only here, so each is revoked once, before the announce of the raised epoch."""
        stream = self.streams.get(lease.stream_id)
        assert stream is not None  # noqa: S101  (a stream with a lease is not forgotten)
        del self.leases[lease.lease_id], stream.leases[lease.lease_id]
        del self._clients[lease.client_id]
        self._node_ids.give_back(lease.node_id, client_id=lease.client_id, now_ns=now_ns)
        self.consumer_streams.end(lease.lease_id)
        stream.idle_since_ns = now_ns
        self.counts[f"leases_{reason.name.lower()}"] += 1
        revoke = Revoke(revoked(lease, reason, text, now_ns))
        if lease is not stream.producer:
            return [revoke]
        stream.producer = None
        return [revoke] if self.has_ended else [revoke, *self._keeper.raise_epoch(stream, now_ns)]

    # --- shutdown -----------------------------------------------------------------------------------------

    def _on_shutdown_request(self, request: ShmDriverShutdownRequest, now_ns: int) -> list[Action]:
        wanted = self.rules.shutdown_token
        if not wanted or not hmac.compare_digest(wanted.encode(), request.token.encode()):
            self.counts["shutdown_requests_ignored"] += 1
            return []
        if self._notice is not None:
            return []
        self.is_draining = True
        self._notice = (now_ns + self.rules.shutdown_timeout_ns, request.reason)
        return [announce(stream) for stream in self.streams if stream.regions is not None]

    def _turn_away(self, stream: Stream) -> list[Action]:
        """Refuse the requests that still wait for regions."""
        waiting = list(stream.waiting)
        if stream.pending is not None and stream.pending.request is not None:
            waiting.insert(0, stream.pending.request)
        stream.pending = None
        stream.waiting.clear()
        self.attaching -= len(waiting)
        for request in waiting:
            del self._clients[request.client_id]
        return [action for request in waiting for action in self._refuse(request, DRAINING)]

    # --- streams of a consumer's own ----------------------------------------------------------------------

    def _on_hello(self, hello: ConsumerHello) -> list[Action]:
        """Answer only consumers with a lease. Others belong to a producer without a driver."""
        lease = self._clients.get(hello.consumer_id)
        if lease is None or (lease.stream_id, lease.role) != (hello.stream_id, Role.CONSUMER):
            self.counts["hellos_without_lease"] += 1
            return []
        config = self.consumer_streams.on_hello(lease.lease_id, hello, LAYOUT_VERSION)
        return [] if config is None else [Respond(config)]


def _named(result: Provisioned | ProvisionFailed) -> tuple[int, int]:
    made = result.regions if isinstance(result, Provisioned) else result
    return made.stream_id, made.epoch


def _no_epoch(stream: Stream) -> Refusal:
    text = f"stream {stream.stream_id} has a folder of epoch {EPOCH_MAX}: no higher one can follow, remove it"
    return Refusal(ResponseCode.INTERNAL_ERROR, "epochs_used_up", text)


def _provisioning_failed(request: ShmAttachRequest, result: ProvisionFailed) -> Refusal:
    if result.problem == ProvisionProblem.NO_HUGEPAGES and request.require_hugepages == HugepagesPolicy.HUGEPAGES:
        return Refusal(ResponseCode.REJECTED, "hugepages", result.reason)
    return Refusal(ResponseCode.INTERNAL_ERROR, "provisioning", f"the regions could not be made: {result.reason}")
