# SPDX-License-Identifier: Apache-2.0
"""Where a join that restores looks for its checkpoints: its coordinator says it, once nothing is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from framegate.joinbarrier.checkpoint.operator.member import CheckpointMember
from framegate.joinbarrier.checkpoint.restore.store import ANSWER_S, REST_S, announced_store
from framegate.schema import Message, decode_any
from framegate.schema.control import AckStatus, BarrierAck, InjectBarrier, OperatorHello, PipelineAnnounce
from framegate.schema.errors import CheckpointMissing, Interrupted, NoCoordinator
from framegate.shmpool.client.client import Client
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.unit.joinbarrier.part_world import STREAMS, Station


class Coordinated:
    """A control stream with a member on it, and what a coordinator says turn by turn."""

    def __init__(self, *says: Message) -> None:
        network = LoopbackNetwork()
        self.station = Station(network)
        own = network.client()
        self._speaks = own.add_publication(STREAMS.channel, STREAMS.control)
        self.hears = own.add_subscription(STREAMS.channel, STREAMS.control)
        self.member = CheckpointMember(cast(Client, self.station), "default", "join-20001", 0)
        self.says = list(says)
        self.turns = 0

    def wait(self) -> None:
        self.turns += 1
        if not self.says:
            raise Interrupted("nothing more is said")
        assert self._speaks.try_offer(self.says.pop(0).encode()) > 0
        self.station.work(self.turns)


def announce(current: int, store: str = "/kept", pipeline: str = "default") -> PipelineAnnounce:
    return PipelineAnnounce(
        last_checkpoint_id=7,
        current_checkpoint_id=current,
        epoch=1,
        flags=1,
        alignment_timeout_ms=1_000,
        late_barrier_timeout_ms=1_000,
        operator_timeout_ms=3_000,
        pipeline=pipeline,
        store=store,
    )


def test_a_checkpoint_that_is_being_stored_is_waited_for_and_nothing_heard_meanwhile_is_lost() -> None:
    inject = InjectBarrier(checkpoint_id=7, epoch=1, flags=0, pipeline="default")
    world = Coordinated(announce(0, pipeline="other"), announce(7), inject, announce(0))
    place, heard = announced_store(world.member, world.wait)
    assert place == "/kept"
    assert [type(each).__name__ for each in heard] == ["PipelineAnnounce", "InjectBarrier", "PipelineAnnounce"]
    said = [decode_any(received.data) for received in world.hears.poll(100)]
    assert any(isinstance(each, OperatorHello) for each in said), "so that what was under way is given up"


def test_one_that_began_later_has_the_operator_in_it_and_is_refused_and_not_waited_for() -> None:
    world = Coordinated(announce(7), announce(7), announce(8))
    assert announced_store(world.member, world.wait)[0] == "/kept"
    said = [decode_any(received.data) for received in world.hears.poll(100)]
    refusals = [each for each in said if isinstance(each, BarrierAck)]
    assert [(each.checkpoint_id, each.status) for each in refusals] == [(7, AckStatus.FAILED), (8, AckStatus.FAILED)]
    assert {each.operator_id for each in refusals} == {"join-20001"}


def test_a_pipeline_that_keeps_nothing_has_nothing_to_go_back_to() -> None:
    world = Coordinated(announce(0, store=""))
    with pytest.raises(CheckpointMissing, match="keeps no checkpoints"):
        announced_store(world.member, world.wait)


def test_a_user_who_ends_it_meanwhile_is_heeded() -> None:
    world = Coordinated(announce(7))
    with pytest.raises(Interrupted):
        announced_store(world.member, world.wait)


@pytest.mark.parametrize(("says", "waited_s", "told"), [((), ANSWER_S, "nobody says"), ((7,), REST_S, "being stored")])
def test_a_coordinator_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch, says: tuple[int, ...], waited_s: float, told: str
) -> None:
    world = Coordinated(*(announce(each) for each in says))
    now_ns = [0]
    monkeypatch.setattr("framegate.joinbarrier.checkpoint.restore.store.monotonic_ns", lambda: now_ns[0])

    def wait() -> None:
        if world.says:
            world.wait()
        now_ns[0] += int(waited_s * 1e9 / 4) + 1

    step: Callable[[], None] = wait
    with pytest.raises(NoCoordinator, match=told) as refused:
        announced_store(world.member, step)
    assert "--checkpoints" in str(refused.value)
    assert now_ns[0] >= waited_s * 1e9
