# SPDX-License-Identifier: Apache-2.0
"""Keepalives, expiry, detach, revocation, and the epoch that follows (PROTOCOL 10.6)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.driver.lease_actions import Action, Announce, Collect, Provision, Respond, Retire, Revoke
from framegate.schema.driver import LeaseRevokeReason, ResponseCode, Role, ShmDetachResponse

from tests.unit.driver.lease_world import (
    DYNAMIC,
    FIXED,
    SECOND,
    START,
    STATIC,
    STREAM,
    Held,
    World,
    announces,
    answer,
    attach,
    consumer,
    detached,
    only,
    revocations,
)

LEASE_NS = DYNAMIC.lease_ns


def end_by(how: LeaseRevokeReason, world: World, lease: Held) -> list[Action]:
    """End a lease in one of the three ways."""
    if how == LeaseRevokeReason.DETACHED:
        return world.send(lease.detach())
    if how == LeaseRevokeReason.REVOKED:
        return world.follow(world.authority.revoke(lease.lease_id, world.now_ns, "by decision"))
    return world.pass_time(LEASE_NS)


def test_the_baseline_is_one_second_and_three_missed() -> None:
    world = World()
    response = answer(world.send(attach()))
    assert response.lease_expiry_timestamp_ns == START + 3 * SECOND


def test_a_lease_without_keepalive_expires_at_its_deadline_and_not_before() -> None:
    world = World()
    world.grant(consumer())
    assert revocations(world.pass_time(LEASE_NS - 1)) == []
    revoked = only(revocations(world.pass_time(1)))
    assert (revoked.reason, revoked.timestamp_ns) == (LeaseRevokeReason.EXPIRED, START + LEASE_NS)
    assert len(world.authority.leases) == 0


def test_every_keepalive_extends_the_lease_and_none_is_answered() -> None:
    world = World()
    lease = world.grant(attach())
    for _ in range(20):
        assert revocations(world.pass_time(LEASE_NS - 1)) == []
        assert world.send(lease.keepalive()) == []
    assert revocations(world.pass_time(LEASE_NS)) != []


@pytest.mark.parametrize("field", ["lease_id", "stream_id", "client_id", "role"])
def test_a_keepalive_or_detach_with_one_field_that_does_not_agree_does_nothing(field: str) -> None:
    world = World()
    lease = world.grant(attach())
    wrong = replace(lease, **{field: Role.CONSUMER if field == "role" else getattr(lease, field) + 1})
    assert world.send(wrong.keepalive()) == []
    assert detached(world.send(wrong.detach())).code == ResponseCode.REJECTED
    assert world.authority.counts["keepalives_ignored"] == 1
    assert only(revocations(world.pass_time(LEASE_NS))).lease_id == lease.lease_id


def test_a_keepalive_after_the_end_brings_nothing_back() -> None:
    world = World()
    lease = world.grant(attach())
    world.pass_time(LEASE_NS)
    world.send(lease.keepalive())
    assert len(world.authority.leases) == 0


def test_a_keepalive_that_was_late_but_was_heard_before_the_lease_was_looked_at_counts() -> None:
    """The driver was suspended, not the client: what it hears first decides."""
    world = World()
    lease = world.grant(attach())
    world.now_ns += 10 * LEASE_NS
    world.send(lease.keepalive())
    assert revocations(world.pass_time()) == []


def test_what_was_not_heard_yet_is_not_held_against_a_client() -> None:
    world = World()
    world.grant(attach())
    now_ns = START + 2 * LEASE_NS
    assert revocations(world.authority.tick(now_ns, heard_ns=START)) == []
    assert len(revocations(world.authority.tick(now_ns, heard_ns=now_ns))) == 1


def test_detach_is_answered_with_its_correlation_id_then_revoked() -> None:
    world = World()
    lease = world.grant(consumer())
    actions = world.send(lease.detach(correlation_id=-9))
    assert [type(action) for action in actions] == [Respond, Revoke]
    assert detached(actions) == ShmDetachResponse(correlation_id=-9, code=ResponseCode.OK)
    revoked = only(revocations(actions))
    assert (revoked.lease_id, revoked.client_id, revoked.role) == (lease.lease_id, 43, Role.CONSUMER)
    assert revoked.reason == LeaseRevokeReason.DETACHED


def test_a_second_detach_of_the_same_lease_is_rejected_and_revokes_nothing() -> None:
    world = World()
    lease = world.grant(attach())
    world.send(lease.detach())
    actions = world.send(lease.detach(correlation_id=5))
    response = detached(actions)
    assert (response.correlation_id, response.code) == (5, ResponseCode.REJECTED)
    assert revocations(actions) == []


@pytest.mark.parametrize("how", list(LeaseRevokeReason))
@pytest.mark.parametrize("role", list(Role))
def test_the_end_of_any_lease_is_revoked_once_with_its_reason(how: LeaseRevokeReason, role: Role) -> None:
    world = World()
    lease = world.grant(attach(role=role))
    end_by(how, world, lease)
    world.pass_time(10 * LEASE_NS)
    world.end()
    revoked = only(revocations(world.log))
    assert (revoked.lease_id, revoked.stream_id, revoked.role) == (lease.lease_id, STREAM, role)
    assert revoked.reason == how


@pytest.mark.parametrize("how", list(LeaseRevokeReason))
def test_the_end_of_a_producer_raises_the_epoch_and_announces_it_after_the_revocation(how: LeaseRevokeReason) -> None:
    world = World()
    lease = world.grant(attach())
    actions = end_by(how, world, lease)
    kinds = [type(action) for action in actions if not isinstance(action, (Respond, Retire, Collect))]
    fresh = kinds[kinds.index(Revoke) :]
    assert fresh[:3] == [Revoke, Provision, Announce]
    announced = announces(actions)[0]
    assert (announced.regions.stream_id, announced.producer_id) == (STREAM, 0)
    assert announced.regions.epoch > lease.epoch


@pytest.mark.parametrize("how", list(LeaseRevokeReason))
def test_the_end_of_a_consumer_leaves_the_epoch(how: LeaseRevokeReason) -> None:
    world = World()
    producer = world.grant(attach())
    lease = world.grant(consumer())
    world.keep_alive(producer, *([lease] if how != LeaseRevokeReason.EXPIRED else []), seconds=4)
    if how != LeaseRevokeReason.EXPIRED:
        assert announces(end_by(how, world, lease)) == []
    current = world.current()
    assert current is not None
    assert current.epoch == producer.epoch


def test_a_producer_raises_the_epoch_before_it_is_granted() -> None:
    world = World()
    waiting = world.grant(consumer())
    actions = world.send(attach())
    assert [type(action) for action in actions] == [Provision, Respond, Announce]
    assert waiting.epoch < (answer(actions).epoch or 0) == announces(actions)[0].regions.epoch


def test_a_producer_that_follows_one_that_failed_gets_an_epoch_above_the_one_announced_meanwhile() -> None:
    world = World()
    failed = world.grant(attach(1))
    between = announces(world.pass_time(LEASE_NS))[0].regions.epoch
    follower = world.grant(attach(2))
    assert failed.epoch < between < follower.epoch


def test_epochs_grow_even_when_the_clock_stands_still_or_goes_back() -> None:
    world = World()
    epochs = []
    for client in range(1, 20):
        lease = world.grant(attach(client))
        epochs.append(lease.epoch)
        world.now_ns -= SECOND if client % 3 == 0 else 0
        world.send(lease.detach())
    assert epochs == sorted(set(epochs))


def test_epochs_begin_above_what_lies_on_disk_and_above_the_clock() -> None:
    above, below = START + 7, START - 7
    world = World(floors={STREAM: above, STREAM + 1: below})
    assert world.grant(attach(1)).epoch == above + 1
    assert world.grant(attach(2, stream_id=STREAM + 1)).epoch > START


def test_only_the_lease_that_was_not_kept_alive_ends() -> None:
    world = World()
    kept, lost = world.grant(attach(1)), world.grant(consumer(2))
    actions = world.keep_alive(kept, seconds=5)
    assert [revoked.lease_id for revoked in revocations(actions)] == [lost.lease_id]
    assert list(world.authority.leases) == [kept.lease_id]


def test_announces_come_every_period_with_the_producer() -> None:
    world = World()
    lease = world.grant(attach(42))
    seen = announces(world.keep_alive(lease, seconds=10, step_ns=SECOND // 10))
    assert len(seen) == 10
    assert {(each.producer_id, each.regions.epoch) for each in seen} == {(42, lease.epoch)}


def test_a_driver_that_was_suspended_does_not_announce_in_a_burst() -> None:
    world = World(FIXED)
    assert len(announces(world.pass_time(60 * SECOND))) == 1
    assert announces(world.pass_time(SECOND - 1)) == []


def test_a_static_stream_is_announced_from_the_start_without_producer() -> None:
    world = World(FIXED)
    announced = only(announces(world.started))
    assert (announced.regions.stream_id, announced.producer_id) == (STATIC, 0)
    assert only(announces(world.pass_time(SECOND))).regions == announced.regions


def test_lease_ids_are_never_given_twice() -> None:
    world = World()
    seen = set()
    for _ in range(200):
        lease = world.grant(attach(1))
        assert lease.lease_id not in seen
        seen.add(lease.lease_id)
        world.send(lease.detach())
