# SPDX-License-Identifier: Apache-2.0
"""The end of a driver: by signal at once, by request with the token after draining (PROTOCOL 10.7)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.driver.lease_actions import Action, Shutdown
from framegate.schema.driver import (
    LeaseRevokeReason,
    ResponseCode,
    ShmDriverShutdownRequest,
    ShutdownReason,
)

from tests.unit.driver.lease_world import (
    DYNAMIC,
    World,
    announces,
    attach,
    consumer,
    detached,
    only,
    revocations,
)

TOKEN = "open sesame"  # noqa: S105  (a test's)
GUARDED = replace(DYNAMIC, shutdown_token=TOKEN)
TIMEOUT_NS = GUARDED.shutdown_timeout_ns


def request(token: str, reason: ShutdownReason = ShutdownReason.ADMIN) -> ShmDriverShutdownRequest:
    return ShmDriverShutdownRequest(correlation_id=1, reason=reason, token=token)


def notices(actions: list[Action]) -> list[Shutdown]:
    return [action for action in actions if isinstance(action, Shutdown)]


def test_at_the_end_every_lease_is_revoked_before_the_notice() -> None:
    world = World()
    leases = [world.grant(attach(1)), world.grant(consumer(2)), world.grant(attach(3, stream_id=10_001))]
    actions = world.end()
    assert [type(action).__name__ for action in actions] == ["Revoke", "Revoke", "Revoke", "Shutdown"]
    assert {(each.lease_id, each.reason) for each in revocations(actions)} == {
        (lease.lease_id, LeaseRevokeReason.REVOKED) for lease in leases
    }
    assert only(notices(actions)).message.reason == ShutdownReason.NORMAL


def test_after_the_end_nothing_is_answered_any_more() -> None:
    world = World()
    lease = world.grant(attach(1))
    world.end()
    for message in (attach(2), lease.keepalive(), lease.detach()):
        assert world.send(message) == []
    assert world.pass_time(10 * TIMEOUT_NS) == []
    assert world.end() == []


@pytest.mark.parametrize("token", ["", "wrong", "open sesame ", "OPEN SESAME"])
def test_a_request_with_a_wrong_token_is_ignored_without_an_answer(token: str) -> None:
    world = World(GUARDED)
    assert world.send(request(token)) == []
    assert notices(world.pass_time(2 * TIMEOUT_NS)) == []
    assert world.authority.counts["shutdown_requests_ignored"] == 1
    world.grant(attach())


@pytest.mark.parametrize("token", ["", "anything"])
def test_without_a_configured_token_every_request_is_ignored(token: str) -> None:
    world = World()
    assert world.send(request(token)) == []
    assert notices(world.pass_time(2 * TIMEOUT_NS)) == []


def test_an_accepted_request_drains_announces_waits_and_gives_the_reason_back() -> None:
    world = World(GUARDED)
    lease = world.grant(attach(1))
    assert only(announces(world.send(request(TOKEN)))).producer_id == 1
    assert "shutting down" in world.refusal(consumer(2)).error_message
    assert notices(world.pass_time(TIMEOUT_NS - 1)) == []
    world.send(lease.keepalive())
    actions = world.pass_time(1)
    assert only(notices(actions)).message.reason == ShutdownReason.ADMIN
    assert only(revocations(actions)).lease_id == lease.lease_id


def test_while_it_drains_a_client_may_detach() -> None:
    world = World(GUARDED)
    lease = world.grant(attach(1))
    world.send(request(TOKEN))
    assert detached(world.send(lease.detach())).code == ResponseCode.OK
    assert revocations(world.pass_time(TIMEOUT_NS)) == []


def test_a_second_request_changes_neither_time_nor_reason() -> None:
    world = World(GUARDED)
    world.send(request(TOKEN, ShutdownReason.ERROR))
    world.pass_time(TIMEOUT_NS // 2)
    assert world.send(request(TOKEN, ShutdownReason.NORMAL)) == []
    assert only(notices(world.pass_time(TIMEOUT_NS // 2))).message.reason == ShutdownReason.ERROR


def test_the_token_is_not_in_what_is_printed_of_the_rules() -> None:
    assert "sesame" not in repr(GUARDED)
