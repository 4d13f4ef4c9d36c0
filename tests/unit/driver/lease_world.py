# SPDX-License-Identifier: Apache-2.0
"""A lease authority with a disk that is played, for tests: regions appear, or fail to, as the test orders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from framegate.driver.epochs import EpochCounter
from framegate.driver.lease_actions import (
    Action,
    Announce,
    PoolRegion,
    PoolShape,
    Provision,
    Provisioned,
    ProvisionFailed,
    ProvisionProblem,
    Regions,
    Respond,
    Retire,
    Revoke,
    StreamProfile,
)
from framegate.driver.lease_rules import LeaseRules
from framegate.driver.leases import LeaseAuthority
from framegate.schema import Message
from framegate.schema.config.types import IdRange
from framegate.schema.driver import (
    HugepagesPolicy,
    PublishMode,
    ResponseCode,
    Role,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachRequest,
    ShmDetachResponse,
    ShmLeaseKeepalive,
    ShmLeaseRevoked,
)

STREAM = 10_000
STATIC = 500
SECOND = 1_000_000_000
START = 5_000 * SECOND
PROFILE = StreamProfile(8, (PoolShape(1, 64), PoolShape(2, 4096)))
DYNAMIC = LeaseRules(default_profile=PROFILE, dynamic_ids=IdRange(STREAM, STREAM + 99))
FIXED = LeaseRules(default_profile=PROFILE, static_profiles={STATIC: PROFILE}, allow_dynamic_streams=False)
_Kind = TypeVar("_Kind")


def attach(
    client_id: int = 42,
    role: Role = Role.PRODUCER,
    stream_id: int = STREAM,
    *,
    correlation_id: int = 77,
    layout: int = 0,
    mode: PublishMode | None = PublishMode.EXISTING_OR_CREATE,
    hugepages: HugepagesPolicy = HugepagesPolicy.UNSPECIFIED,
    node_id: int | None = None,
) -> ShmAttachRequest:
    """A request that is granted, unless the arguments make it one that is not."""
    return ShmAttachRequest(
        correlation_id=correlation_id,
        stream_id=stream_id,
        client_id=client_id,
        role=role,
        expected_layout_version=layout,
        publish_mode=mode,
        require_hugepages=hugepages,
        desired_node_id=node_id,
    )


def consumer(client_id: int = 43, stream_id: int = STREAM, **rest: object) -> ShmAttachRequest:
    """As ``attach``, for a consumer."""
    return attach(client_id, Role.CONSUMER, stream_id, **rest)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as its client knows it."""

    lease_id: int
    stream_id: int
    client_id: int
    role: Role
    epoch: int
    node_id: int

    def keepalive(self) -> ShmLeaseKeepalive:
        return ShmLeaseKeepalive(
            lease_id=self.lease_id,
            stream_id=self.stream_id,
            client_id=self.client_id,
            role=self.role,
            client_timestamp_ns=0,
        )

    def detach(self, correlation_id: int = 78) -> ShmDetachRequest:
        return ShmDetachRequest(
            correlation_id=correlation_id,
            lease_id=self.lease_id,
            stream_id=self.stream_id,
            client_id=self.client_id,
            role=self.role,
        )


def only(found: Iterable[_Kind]) -> _Kind:
    """The single one."""
    one, *others = found
    assert not others, [one, *others]
    return one


@dataclass
class World:
    """``send`` and ``pass_time`` give the actions that followed, with those that the disk's answers led to."""

    rules: LeaseRules = DYNAMIC
    floors: dict[int, int] = field(default_factory=dict)
    now_ns: int = START
    problem: ProvisionProblem | None = None
    """What making regions fails with."""
    is_slow: bool = False
    """Orders stay open until ``deliver``."""

    def __post_init__(self) -> None:
        self.authority = LeaseAuthority(self.rules, EpochCounter(self.floors), first_lease_id=9_000)
        self.disk: set[tuple[int, int]] = set()
        self.most_epochs = 0
        self.orders: list[Provision] = []
        self.log: list[Action] = []
        self.started = self.follow(self.authority.start(self.now_ns))

    def send(self, message: Message) -> list[Action]:
        return self.follow(self.authority.on_message(message, self.now_ns))

    def pass_time(self, delta_ns: int = 0) -> list[Action]:
        self.now_ns += delta_ns
        return self.follow(self.authority.tick(self.now_ns))

    def end(self) -> list[Action]:
        return self.follow(self.authority.shutdown(self.now_ns))

    def grant(self, request: ShmAttachRequest) -> Held:
        """Send a request that must be granted."""
        response = answer(self.send(request))
        assert response.code == ResponseCode.OK, response
        return held(request, response)

    def refusal(self, request: ShmAttachRequest) -> ShmAttachResponse:
        """Send a request that must not be granted; nothing may have been made for it."""
        before = set(self.disk)
        response = answer(self.send(request))
        assert response.code != ResponseCode.OK, response
        assert self.disk == before
        return response

    def deliver(self) -> list[Action]:
        """Answer the open orders."""
        orders, self.orders = self.orders, []
        return [action for order in orders for action in self.follow(self.made(order))]

    def current(self, stream_id: int = STREAM) -> Regions | None:
        stream = self.authority.streams.get(stream_id)
        return stream.regions if stream else None

    def keep_alive(self, *leases: Held, seconds: float, step_ns: int = SECOND // 2) -> list[Action]:
        """Let time pass while these leases are kept alive."""
        until_ns = self.now_ns + int(seconds * SECOND)
        actions: list[Action] = []
        while self.now_ns < until_ns:
            actions += self.pass_time(min(step_ns, until_ns - self.now_ns))
            for lease in leases:
                actions += self.send(lease.keepalive())
        return actions

    def follow(self, actions: list[Action]) -> list[Action]:
        done: list[Action] = []
        todo = list(actions)
        while todo:
            action = todo.pop(0)
            done.append(action)
            if isinstance(action, Provision):
                if self.is_slow:
                    self.orders.append(action)
                else:
                    todo += self.made(action)
            elif isinstance(action, Retire):
                self.disk.discard((action.stream_id, action.epoch))
        self.log += done
        return done

    def made(self, order: Provision) -> list[Action]:
        if self.problem is not None:
            failed = ProvisionFailed(order.stream_id, order.epoch, self.problem, "played by the test")
            return self.authority.on_regions(failed, self.now_ns)
        assert (order.stream_id, order.epoch) not in self.disk
        self.disk.add((order.stream_id, order.epoch))
        of_stream = [epoch for stream_id, epoch in self.disk if stream_id == order.stream_id]
        self.most_epochs = max(self.most_epochs, len(of_stream))
        return self.authority.on_regions(Provisioned(regions_of(order)), self.now_ns)


def regions_of(order: Provision) -> Regions:
    """What a disk would have made of an order."""
    folder = f"shm:file?path=/base/{order.stream_id}/{order.epoch}"
    pools = tuple(
        PoolRegion(pool.pool_id, pool.stride_bytes, f"{folder}/{pool.pool_id}.pool") for pool in order.profile.pools
    )
    return Regions(
        stream_id=order.stream_id,
        epoch=order.epoch,
        header_nslots=order.profile.header_nslots,
        header_uri=f"{folder}/header.ring",
        pools=pools,
    )


def held(request: ShmAttachRequest, response: ShmAttachResponse) -> Held:
    """The lease that a response grants."""
    assert response.lease_id is not None
    assert response.stream_id is not None
    assert response.epoch is not None
    assert response.node_id is not None
    return Held(
        response.lease_id, response.stream_id, request.client_id, request.role, response.epoch, response.node_id
    )


def answers(actions: Iterable[Action]) -> list[ShmAttachResponse]:
    """All attach responses."""
    found = [action.message for action in actions if isinstance(action, Respond)]
    return [message for message in found if isinstance(message, ShmAttachResponse)]


def answer(actions: Iterable[Action]) -> ShmAttachResponse:
    """The one attach response."""
    return only(answers(actions))


def detached(actions: Iterable[Action]) -> ShmDetachResponse:
    """The one detach response."""
    found = [action.message for action in actions if isinstance(action, Respond)]
    return only(message for message in found if isinstance(message, ShmDetachResponse))


def revocations(actions: Iterable[Action]) -> list[ShmLeaseRevoked]:
    """All revocations, in order."""
    return [action.message for action in actions if isinstance(action, Revoke)]


def announces(actions: Iterable[Action]) -> list[Announce]:
    """All announces, in order."""
    return [action for action in actions if isinstance(action, Announce)]
