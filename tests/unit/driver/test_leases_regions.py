# SPDX-License-Identifier: Apache-2.0
"""Regions: when they are ordered, what happens when they cannot be made, and how little of them is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.driver.lease_actions import Announce, Collect, Provision, ProvisionProblem, Retire
from framegate.driver.leases import LeaseAuthority
from framegate.schema.driver import HugepagesPolicy, PublishMode, ResponseCode

from tests.unit.driver.lease_world import (
    DYNAMIC,
    FIXED,
    SECOND,
    STATIC,
    STREAM,
    World,
    announces,
    answer,
    answers,
    attach,
    consumer,
    only,
    revocations,
)

LONG_NS = DYNAMIC.epoch_gc_min_age_ns + DYNAMIC.announce_period_ns + 1


def orders(world: World) -> list[Provision]:
    return [action for action in world.log if isinstance(action, Provision)]


def test_a_producers_epoch_is_made_whole_and_one_that_nobody_writes_is_a_placeholder() -> None:
    world = World()
    world.grant(consumer(1))
    world.send(world.grant(attach(2)).detach())
    assert [(order.is_placeholder, order.prefault) for order in orders(world)] == [
        (True, False),
        (False, True),
        (True, False),
    ]


def test_prefault_is_left_out_where_it_is_configured_off() -> None:
    world = World(replace(DYNAMIC, prefault=False))
    world.grant(attach())
    assert [order.prefault for order in orders(world)] == [False]


@pytest.mark.parametrize("problem", list(ProvisionProblem))
def test_regions_that_cannot_be_made_are_an_internal_error_with_the_reason_and_nothing_stays(
    problem: ProvisionProblem,
) -> None:
    world = World(problem=problem)
    for client in range(1, 5):
        response = world.refusal(attach(client, node_id=7))
        assert response.code == ResponseCode.INTERNAL_ERROR
        assert "played by the test" in response.error_message
    assert (len(world.authority.streams), len(world.authority.leases), world.disk) == (0, 0, set())
    assert announces(world.log) == []
    world.problem = None
    assert world.grant(attach(1, node_id=7)).node_id == 7


def test_the_reason_is_cut_to_what_an_error_text_may_hold() -> None:
    world = World(is_slow=True)
    world.send(attach())
    order = only(world.orders)
    world.problem = ProvisionProblem.OTHER
    from framegate.driver.lease_actions import ProvisionFailed

    reason = "é" * 5000
    failed = ProvisionFailed(order.stream_id, order.epoch, ProvisionProblem.OTHER, reason)
    response = answer(world.authority.on_regions(failed, world.now_ns))
    assert len(response.error_message.encode("ascii")) == 1024


def test_huge_pages_that_were_asked_for_and_are_used_up_are_rejected() -> None:
    world = World(replace(DYNAMIC, has_hugepages=True), problem=ProvisionProblem.NO_HUGEPAGES)
    assert world.refusal(attach(hugepages=HugepagesPolicy.HUGEPAGES)).code == ResponseCode.REJECTED


def test_without_room_what_nobody_needs_goes_and_it_is_tried_once_more() -> None:
    world = World()
    world.send(world.grant(attach(1, stream_id=STREAM + 1)).detach())
    kept = world.grant(attach(2, stream_id=STREAM + 2))
    world.problem = ProvisionProblem.NO_ROOM
    before = set(world.disk)
    actions = world.send(attach(3))
    assert answer(actions).code == ResponseCode.INTERNAL_ERROR
    assert sum(isinstance(action, Provision) for action in actions) == 2
    assert sum(isinstance(action, Collect) for action in actions) == 1
    assert world.disk == {(STREAM + 2, kept.epoch)} < before
    assert world.authority.counts["provision_retries"] == 1


def test_a_second_attempt_that_succeeds_is_granted() -> None:
    world = World(is_slow=True, problem=ProvisionProblem.NO_ROOM)
    world.send(attach())
    world.deliver()
    world.problem = None
    assert answer(world.deliver()).code == ResponseCode.OK


def test_a_producer_that_gets_no_regions_leaves_the_stream_of_its_consumers_as_it_is() -> None:
    world = World()
    waiting = world.grant(consumer())
    world.problem = ProvisionProblem.OTHER
    assert world.refusal(attach()).code == ResponseCode.INTERNAL_ERROR
    current = world.current()
    assert current is not None
    assert current.epoch == waiting.epoch


def test_an_epoch_that_could_not_be_made_after_a_producer_is_tried_again_and_the_old_one_is_not_announced() -> None:
    world = World()
    producer, reader = world.grant(attach()), world.grant(consumer())
    world.problem = ProvisionProblem.OTHER
    assert announces(world.send(producer.detach())) == []
    assert announces(world.keep_alive(reader, seconds=5)) == []
    world.problem = None
    fresh = announces(world.keep_alive(reader, seconds=2))
    assert fresh
    assert all(each.regions.epoch > producer.epoch for each in fresh)


def test_regions_that_come_slowly_are_waited_for_by_all_who_ask_meanwhile() -> None:
    world = World(is_slow=True)
    assert world.send(attach(1)) == world.log
    assert [type(action) for action in world.log] == [Provision]
    for client in (2, 3):
        assert world.send(consumer(client, mode=PublishMode.REQUIRE_EXISTING)) == []
    assert answer(world.send(consumer(2))).error_message == "client_id already attached"
    codes = [response.code for response in answers(world.deliver())]
    assert codes == [ResponseCode.OK] * 3
    assert len(world.authority.leases) == 3


def test_a_second_producer_that_waits_with_the_first_is_rejected_when_the_first_is_granted() -> None:
    world = World(is_slow=True)
    world.send(attach(1))
    world.send(attach(2))
    assert [response.code for response in answers(world.deliver())] == [ResponseCode.OK, ResponseCode.REJECTED]


def test_those_who_wait_for_regions_that_fail_try_for_themselves() -> None:
    world = World(is_slow=True, problem=ProvisionProblem.OTHER)
    world.send(attach(1))
    world.send(attach(2))
    assert answer(world.deliver()).code == ResponseCode.INTERNAL_ERROR
    world.problem = None
    assert answer(world.deliver()).code == ResponseCode.OK


def test_waiting_ends_with_the_driver_and_late_regions_are_removed() -> None:
    world = World(is_slow=True)
    world.send(attach(1))
    world.send(consumer(2))
    assert [response.code for response in answers(world.end())] == [ResponseCode.REJECTED] * 2
    late = world.deliver()
    assert [type(action) for action in late] == [Retire]
    assert world.disk == set()


def test_regions_for_an_order_that_was_given_up_are_removed() -> None:
    world = World(is_slow=True)
    world.send(attach())
    order = only(world.orders)
    stale = replace(order, epoch=order.epoch - 1)
    world.is_slow = False
    assert world.made(stale) == [Retire(STREAM, stale.epoch)]


def test_no_stream_ever_has_more_epochs_than_are_kept() -> None:
    world = World()
    reader = world.grant(consumer(1))
    for client in range(2, 30):
        producer = world.grant(attach(client))
        world.keep_alive(reader, producer, seconds=0.5)
        world.send(producer.detach())
    assert world.most_epochs == 2


def test_the_current_epoch_is_never_retired_while_a_lease_refers_to_it() -> None:
    world = World(replace(DYNAMIC, epoch_gc_keep=1))
    for client in range(1, 10):
        producer = world.grant(attach(client))
        assert (STREAM, producer.epoch) in world.disk
        world.send(producer.detach())
    assert world.most_epochs == 2


def test_a_dynamic_stream_without_leases_is_forgotten_with_its_regions() -> None:
    world = World()
    world.send(world.grant(attach()).detach())
    assert world.current() is not None
    world.pass_time(LONG_NS)
    assert (len(world.authority.streams), world.disk) == (0, set())
    assert announces(world.pass_time(10 * SECOND)) == []


def test_a_forgotten_stream_comes_back_with_a_higher_epoch() -> None:
    world = World()
    first = world.grant(attach())
    world.send(first.detach())
    last = world.current()
    world.pass_time(LONG_NS)
    again = world.grant(attach())
    assert last is not None
    assert first.epoch < last.epoch < again.epoch


def test_a_stream_with_a_lease_is_not_forgotten() -> None:
    world = World()
    reader = world.grant(consumer())
    world.keep_alive(reader, seconds=60)
    assert world.current() is not None


def test_a_static_stream_without_leases_keeps_one_epoch() -> None:
    world = World(FIXED)
    world.send(world.grant(attach(stream_id=STATIC)).detach())
    assert len(world.disk) == 2
    world.pass_time(LONG_NS)
    current = world.current(STATIC)
    assert current is not None
    assert world.disk == {(STATIC, current.epoch)}
    assert len(announces(world.pass_time(SECOND))) == 1


def test_a_static_stream_whose_regions_could_not_be_made_is_tried_again() -> None:
    world = World(FIXED, problem=ProvisionProblem.NO_ROOM)
    assert announces(world.started) == []
    world.problem = None
    assert len(announces(world.pass_time(SECOND))) == 1


def test_collecting_names_what_is_served_and_can_be_switched_off() -> None:
    world = World()
    lease = world.grant(attach())
    collects = [each for each in world.keep_alive(lease, seconds=10) if isinstance(each, Collect)]
    assert len(collects) == 3
    assert {each.served for each in collects} == {((STREAM, lease.epoch),)}
    off = World(replace(DYNAMIC, epoch_gc_enabled=False))
    assert not [each for each in off.keep_alive(off.grant(attach()), seconds=10) if isinstance(each, Collect)]


def test_a_stream_whose_epochs_are_used_up_says_so() -> None:
    world = World(floors={STREAM: 2**64 - 2})
    response = world.refusal(attach())
    assert response.code == ResponseCode.INTERNAL_ERROR
    assert "remove it" in response.error_message
    world.grant(attach(stream_id=STREAM + 1))


def test_bounds_are_refused_with_the_reason_and_counted() -> None:
    limits = replace(DYNAMIC.limits, leases=3, streams=2)
    world = World(replace(DYNAMIC, limits=limits))
    world.grant(attach(1))
    world.grant(attach(2, stream_id=STREAM + 1))
    assert "2 streams" in world.refusal(attach(3, stream_id=STREAM + 2)).error_message
    world.grant(consumer(3))
    assert "3 leases" in world.refusal(consumer(4)).error_message
    counts = world.authority.counts
    assert (counts["attach_refused_streams_limit"], counts["attach_refused_leases_limit"]) == (1, 1)


def test_pending_attaches_are_bounded() -> None:
    limits = replace(DYNAMIC.limits, pending_attaches=2)
    world = World(replace(DYNAMIC, limits=limits), is_slow=True)
    world.send(attach(1))
    world.send(consumer(2))
    assert "2 pending" in answer(world.send(consumer(3))).error_message
    assert "2 pending" in answer(world.send(attach(4, stream_id=STREAM + 1))).error_message
    assert len(world.authority.streams) == 1
    world.deliver()
    world.is_slow = False
    world.grant(consumer(3))


def test_an_announce_that_was_ordered_is_of_the_current_epoch_always() -> None:
    world = World()
    reader = world.grant(consumer(1))
    for client in range(2, 12):
        world.send(world.grant(attach(client)).detach())
        world.keep_alive(reader, seconds=1)
    epochs = [each.regions.epoch for each in world.log if isinstance(each, Announce)]
    assert epochs == sorted(epochs)
    assert revocations(world.log)
    assert isinstance(world.authority, LeaseAuthority)
