# SPDX-License-Identifier: Apache-2.0
"""Attach requests: what a grant says, and every row of the table of refusals (PROTOCOL 10.4, 10.5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.driver.lease_actions import Announce, Provision, Respond, StreamProfile
from framegate.driver.lease_rules import LeaseRules
from framegate.schema.driver import HugepagesPolicy, PublishMode, ResponseCode, Role, ShmAttachResponse
from framegate.schema.layout import Field

from tests.unit.driver.lease_world import (
    DYNAMIC,
    FIXED,
    PROFILE,
    STATIC,
    STREAM,
    World,
    announces,
    answer,
    attach,
    consumer,
    only,
)

REJECTED = ResponseCode.REJECTED
INVALID = ResponseCode.INVALID_PARAMS


def test_a_grant_carries_everything_that_a_client_requires() -> None:
    world = World()
    response = answer(world.send(attach(correlation_id=-5)))
    fixed = [field.name for field in ShmAttachResponse.LAYOUT if isinstance(field, Field)]
    assert all(getattr(response, name) is not None for name in fixed), response
    assert (response.correlation_id, response.code) == (-5, ResponseCode.OK)
    assert (response.stream_id, response.layout_version, response.header_slot_bytes) == (STREAM, 1, 256)
    assert response.header_nslots == PROFILE.header_nslots
    assert response.header_region_uri.startswith("shm:file?path=/")
    shapes = [(pool.pool_id, pool.pool_nslots, pool.stride_bytes) for pool in response.payload_pools]
    assert shapes == [(1, 8, 64), (2, 8, 4096)]
    assert all(pool.region_uri.startswith("shm:file?path=/") for pool in response.payload_pools)
    assert ShmAttachResponse.decode(response.encode()) == response


def test_a_grant_is_answered_before_its_announce_and_the_announce_names_the_producer() -> None:
    world = World()
    actions = world.send(attach(42))
    kinds = [type(action) for action in actions]
    assert kinds == [Provision, Respond, Announce]
    assert only(announces(actions)).producer_id == 42


def test_a_consumer_alone_is_announced_without_producer() -> None:
    world = World()
    assert only(announces(world.send(consumer()))).producer_id == 0


def test_a_refusal_carries_nothing_but_correlation_code_and_reason() -> None:
    world = World()
    response = world.refusal(attach(layout=9, correlation_id=123))
    assert response == ShmAttachResponse(correlation_id=123, code=REJECTED, error_message=response.error_message)
    assert response.error_message
    assert world.log == [Respond(response)]


@pytest.mark.parametrize(
    ("request_", "code", "word"),
    [
        (attach(layout=2), REJECTED, "layout version 2"),
        (attach(mode=PublishMode.REQUIRE_EXISTING), REJECTED, "not there"),
        (attach(mode=None), REJECTED, "not there"),
        (attach(hugepages=HugepagesPolicy.HUGEPAGES), REJECTED, "huge pages"),
        (attach(stream_id=STREAM - 1), REJECTED, "range"),
        (attach(stream_id=STREAM + 100), REJECTED, "range"),
        (attach(stream_id=0, mode=PublishMode.REQUIRE_EXISTING), REJECTED, "not there"),
        (attach(stream_id=2**32 - 1), INVALID, "null"),
        (attach(client_id=0), INVALID, "client_id 0"),
    ],
)
def test_a_request_that_cannot_be_granted_is_refused_with_its_code(
    request_: object, code: ResponseCode, word: str
) -> None:
    response = World().refusal(request_)  # type: ignore[arg-type]
    assert (response.code, word in response.error_message) == (code, True), response


@pytest.mark.parametrize("layout", [0, 1])
def test_the_active_layout_is_granted_to_who_expects_it_or_any(layout: int) -> None:
    assert answer(World().send(attach(layout=layout))).layout_version == 1


def test_a_standard_request_on_a_base_of_huge_pages_is_rejected_and_an_unspecified_one_takes_them() -> None:
    world = World(replace(DYNAMIC, has_hugepages=True))
    assert world.refusal(attach(hugepages=HugepagesPolicy.STANDARD)).code == REJECTED
    world.grant(attach(1, hugepages=HugepagesPolicy.UNSPECIFIED))
    world.grant(attach(2, stream_id=STREAM + 1, hugepages=HugepagesPolicy.HUGEPAGES))
    assert [order.require_hugepages for order in world.log if isinstance(order, Provision)] == [False, True]


@pytest.mark.parametrize("is_required", [False, True])
def test_an_unspecified_request_takes_the_configured_policy(is_required: bool) -> None:
    rules = replace(DYNAMIC, require_hugepages=is_required)
    response = answer(World(rules).send(attach(hugepages=HugepagesPolicy.UNSPECIFIED)))
    assert response.code == (REJECTED if is_required else ResponseCode.OK)
    assert answer(World(rules).send(attach(hugepages=HugepagesPolicy.STANDARD))).code == ResponseCode.OK


def test_a_second_producer_is_rejected_while_the_first_lives() -> None:
    world = World()
    first = world.grant(attach(42))
    response = world.refusal(attach(44))
    assert (response.code, "42" in response.error_message) == (REJECTED, True)
    world.send(first.detach())
    world.grant(attach(44))


def test_any_number_of_consumers_share_a_stream_and_its_epoch() -> None:
    world = World()
    producer = world.grant(attach(1))
    consumers = [world.grant(consumer(client)) for client in range(2, 30)]
    assert {each.epoch for each in consumers} == {producer.epoch}
    assert len({each.lease_id for each in consumers} | {producer.lease_id}) == 29


@pytest.mark.parametrize("again", [attach(42), consumer(42), attach(42, stream_id=STREAM + 1)])
def test_a_client_id_holds_one_lease_whatever_stream_and_role(again: object) -> None:
    world = World()
    world.grant(attach(42))
    response = world.refusal(again)  # type: ignore[arg-type]
    assert (response.code, response.error_message) == (REJECTED, "client_id already attached")


def test_a_client_id_is_free_again_when_its_lease_has_ended() -> None:
    world = World()
    lease = world.grant(attach(42))
    world.send(lease.detach())
    again = world.grant(consumer(42))
    assert again.lease_id != lease.lease_id


def test_a_stream_of_a_profile_without_pools_is_invalid() -> None:
    rules = replace(DYNAMIC, default_profile=StreamProfile(8, ()))
    assert World(rules).refusal(attach()).code == INVALID


def test_dynamic_streams_off_a_stream_that_is_not_configured_is_rejected() -> None:
    world = World(FIXED)
    response = world.refusal(attach(stream_id=STREAM))
    assert (response.code, "not configured" in response.error_message) == (REJECTED, True)


def test_dynamic_streams_without_a_range_are_invalid() -> None:
    world = World(LeaseRules(default_profile=PROFILE, dynamic_ids=None))
    response = world.refusal(attach())
    assert (response.code, "driver.stream_id_range" in response.error_message) == (INVALID, True)


@pytest.mark.parametrize("mode", [None, PublishMode.REQUIRE_EXISTING, PublishMode.EXISTING_OR_CREATE])
def test_a_configured_stream_is_there_for_every_publish_mode(mode: PublishMode | None) -> None:
    world = World(FIXED)
    assert world.grant(attach(stream_id=STATIC, mode=mode)).stream_id == STATIC


def test_a_dynamic_stream_is_there_while_it_is_served() -> None:
    world = World()
    world.grant(attach(1))
    world.grant(consumer(2, mode=PublishMode.REQUIRE_EXISTING))
    world.grant(consumer(3, mode=None))


def test_a_requested_id_of_the_range_is_honoured_and_0_is_given_one_that_is_free() -> None:
    world = World()
    assert world.grant(attach(1, stream_id=STREAM + 7)).stream_id == STREAM + 7
    given = [world.grant(attach(client, stream_id=0)).stream_id for client in range(2, 100)]
    assert len({*given, STREAM + 7}) == 99
    assert all(stream_id in range(STREAM, STREAM + 100) for stream_id in given)


def test_a_range_that_is_used_up_is_rejected_with_the_reason() -> None:
    world = World()
    for client in range(1, 101):
        world.grant(attach(client, stream_id=0))
    response = world.refusal(attach(101, stream_id=0))
    assert (response.code, "100" in response.error_message) == (REJECTED, True)
    assert world.authority.counts["attach_refused_dynamic_ids_limit"] == 1


def test_node_ids_are_unique_and_a_wish_that_is_taken_is_rejected_without_one() -> None:
    world = World()
    wished = world.grant(attach(1, node_id=7))
    assert wished.node_id == 7
    others = [world.grant(consumer(client)).node_id for client in range(2, 20)]
    assert len({7, *others}) == 19
    response = world.refusal(consumer(20, node_id=7))
    assert (response.code, response.node_id) == (REJECTED, None)


def test_a_node_id_rests_before_another_client_gets_it_and_its_own_gets_it_back_at_once() -> None:
    world = World()
    lease = world.grant(attach(1, node_id=7))
    world.send(lease.detach())
    assert world.refusal(consumer(2, node_id=7)).code == REJECTED
    back = world.grant(attach(1, node_id=7))
    world.send(back.detach())
    world.now_ns += world.rules.node_id_cooldown_ns
    assert world.grant(consumer(2, node_id=7)).node_id == 7


def test_a_wish_that_is_refused_takes_nothing_away() -> None:
    """After refusals of all kinds the tables are as before."""
    world = World()
    world.grant(attach(1, node_id=7))
    for request in (attach(2), consumer(3, node_id=7), attach(4, layout=3), attach(5, stream_id=3), attach(1)):
        world.refusal(request)
    assert (len(world.authority.leases), len(world.authority.streams)) == (1, 1)
    for client in (2, 3, 4, 5):
        world.grant(consumer(client))


def test_roles_are_kept_apart() -> None:
    world = World()
    world.grant(consumer(1))
    lease = world.grant(attach(2))
    assert world.authority.leases[lease.lease_id].role == Role.PRODUCER
