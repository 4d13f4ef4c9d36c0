# SPDX-License-Identifier: Apache-2.0
"""Streams of a consumer's own: granted from the ranges, declined with empty and 0, free when the lease ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.driver.lease_actions import Action, Respond
from framegate.schema.config.types import IdRange
from framegate.schema.wire import Bool, ConsumerConfig, ConsumerHello, Mode

from tests.unit.driver.lease_world import DYNAMIC, STREAM, World, attach, consumer, only

RANGES = replace(DYNAMIC, descriptor_ids=IdRange(31_000, 31_001), control_ids=IdRange(32_000, 32_009))
CHANNEL = "aeron:ipc?term-length=64k"


def hello(
    consumer_id: int = 43,
    *,
    stream_id: int = STREAM,
    descriptor: tuple[str, int] = ("", 0),
    control: tuple[str, int] = ("", 0),
    mode: Mode = Mode.STREAM,
    layout: int = 0,
    shm: Bool = Bool.TRUE,
) -> ConsumerHello:
    return ConsumerHello(
        stream_id=stream_id,
        consumer_id=consumer_id,
        supports_shm=shm,
        supports_progress=Bool.FALSE,
        mode=mode,
        max_rate_hz=0,
        expected_layout_version=layout,
        descriptor_channel=descriptor[0],
        descriptor_stream_id=descriptor[1],
        control_channel=control[0],
        control_stream_id=control[1],
    )


def config(actions: list[Action]) -> ConsumerConfig:
    message = only(action.message for action in actions if isinstance(action, Respond))
    assert isinstance(message, ConsumerConfig)
    return message


def streams(of: ConsumerConfig) -> tuple[tuple[str, int], tuple[str, int]]:
    return (of.descriptor_channel, of.descriptor_stream_id), (of.control_channel, of.control_stream_id)


@pytest.fixture
def world() -> World:
    world = World(RANGES)
    world.grant(consumer(43))
    return world


def test_both_are_granted_from_their_ranges(world: World) -> None:
    found = config(world.send(hello(descriptor=(CHANNEL, 1), control=(CHANNEL, 1), mode=Mode.RATE_LIMITED)))
    assert streams(found) == ((CHANNEL, 31_000), (CHANNEL, 32_000))
    assert (found.stream_id, found.consumer_id, found.mode) == (STREAM, 43, Mode.RATE_LIMITED)
    assert found.use_shm == Bool.TRUE


def test_each_is_granted_by_itself_and_a_repeated_hello_keeps_what_it_has(world: World) -> None:
    for _ in range(5):
        assert streams(config(world.send(hello(control=(CHANNEL, 9))))) == (("", 0), (CHANNEL, 32_000))


def test_a_hello_that_asks_for_nothing_and_has_nothing_is_not_answered(world: World) -> None:
    assert world.send(hello()) == []


def test_a_hello_that_asks_no_more_gives_back_what_it_had(world: World) -> None:
    world.send(hello(descriptor=(CHANNEL, 1)))
    assert streams(config(world.send(hello()))) == (("", 0), ("", 0))
    world.grant(consumer(44))
    world.grant(consumer(45))
    for client in (44, 45):
        assert config(world.send(hello(client, descriptor=(CHANNEL, 1)))).descriptor_stream_id != 0


@pytest.mark.parametrize(
    "wish",
    [("", 5), (CHANNEL, 0), ("aeron:udp?endpoint=h:1", 5), ("nonsense", 5), ("aeron:ipc?a b", 5), ("aeron:ipcx", 5)],
)
def test_a_wish_that_is_invalid_or_not_supported_is_declined(world: World, wish: tuple[str, int]) -> None:
    found = config(world.send(hello(descriptor=wish, mode=Mode.RATE_LIMITED)))
    assert streams(found) == (("", 0), ("", 0))
    assert found.mode == Mode.STREAM
    assert world.authority.consumer_streams.declined == 1


def test_without_ranges_all_is_declined() -> None:
    world = World()
    world.grant(consumer(43))
    assert streams(config(world.send(hello(descriptor=(CHANNEL, 1), control=(CHANNEL, 1))))) == (("", 0), ("", 0))


def test_a_range_that_is_used_up_declines_and_the_attach_stands(world: World) -> None:
    for client in (44, 45):
        world.grant(consumer(client))
    given = [config(world.send(hello(client, descriptor=(CHANNEL, 1)))) for client in (43, 44, 45)]
    assert [each.descriptor_stream_id for each in given] == [31_000, 31_001, 0]
    assert given[2].descriptor_channel == ""
    assert len(world.authority.leases) == 3


def test_the_ids_are_free_when_the_lease_has_ended(world: World) -> None:
    world.send(hello(descriptor=(CHANNEL, 1), control=(CHANNEL, 1)))
    world.pass_time(RANGES.lease_ns)
    assert (
        len(world.authority.consumer_streams.descriptor_ids),
        len(world.authority.consumer_streams.control_ids),
    ) == (
        0,
        0,
    )


def test_only_a_consumer_with_a_lease_on_that_stream_is_answered(world: World) -> None:
    world.grant(attach(50))
    for message in (hello(99, control=(CHANNEL, 1)), hello(50, control=(CHANNEL, 1))):
        assert world.send(message) == []
    assert world.send(hello(43, stream_id=STREAM + 1, control=(CHANNEL, 1))) == []
    assert world.authority.counts["hellos_without_lease"] == 3


def test_another_layout_is_told_to_do_without_shared_memory(world: World) -> None:
    found = config(world.send(hello(control=(CHANNEL, 1), layout=2)))
    assert found.use_shm == Bool.FALSE
    assert config(world.send(hello(control=(CHANNEL, 1), shm=Bool.FALSE))).use_shm == Bool.FALSE
