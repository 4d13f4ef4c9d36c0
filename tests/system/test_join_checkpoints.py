# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of running joins: a real driver coordinates, a real agent aligns; the test says where barriers stand."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.schema.errors import DONE, FAILED

from tests.system.checkpoint_bed import WATCHDOG_S, CheckpointBed, outcome
from tests.system.join_bed import LEFT, OUT, RIGHT, interrupted, killed, summary_of

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client

    from tests.system.conftest import System

CHAINED = OUT + 1


@pytest.fixture
def bed(system: System, shm: Path) -> CheckpointBed:
    return CheckpointBed(system, shm)


@pytest.fixture
def client(bed: CheckpointBed) -> Iterator[Client]:
    with bed.pool.client() as client:
        yield client


def record_frames(frames: tuple[bytes, ...] | list[bytes]) -> list[tuple[int, int]]:
    """Stream and sequence of each record, as a FrameDescriptor says them."""
    return [(int.from_bytes(each[8:12], "little"), int.from_bytes(each[20:28], "little")) for each in frames]


def test_an_aligned_checkpoint_is_stored_whole_while_one_input_is_slow(bed: CheckpointBed, client: Client) -> None:
    left, right, agent = bed.begin(client, bed.lockstep())
    bed.publish(left, 0, 1, 2)
    bed.publish(right, 0, 1)
    bed.until_rows(agent, 2)
    asking, barrier = bed.trigger()
    bed.cut(left, barrier)
    bed.publish(left, 3, 4)
    bed.publish(right, 2)
    bed.cut(right, barrier)
    bed.publish(right, 3, 4)
    assert asking.wait() == DONE, asking
    bed.until_rows(agent, 5)
    counted = interrupted(agent)["checkpoints"]
    assert (counted["checkpoints_completed"], counted["alignments_completed"]) == (1, 1)
    assert bed.checkpoints_of_rows() == {0: 0, 1: 0, 2: 0, 3: 1, 4: 1}
    restored, image = bed.restored(1)
    assert not restored.manifest.is_unaligned
    assert image.head["journal"]["next_row"] == 3
    assert image.head["map"]["message"]
    assert {seq for _, seq in record_frames(image.frames)} <= {2}
    assert "1" in bed.verified()


def test_sources_agents_and_coordinator_make_a_checkpoint_between_them(bed: CheckpointBed, client: Client) -> None:
    left, right, agent = bed.begin(client, bed.lockstep(), pipeline="default")
    for producer in (left, right):
        bed.publish(producer, 0, 1)
    bed.until_rows(agent, 2)
    asking, barrier = bed.trigger()
    assert asking.wait() == DONE, asking
    for producer in (left, right):
        bed.publish(producer, 2)
    bed.until_rows(agent, 3)
    interrupted(agent)
    assert bed.checkpoints_of_rows() == {0: 0, 1: 0, 2: barrier[0]}


def test_what_came_in_one_go_with_its_barrier_is_cut_at_its_place(
    bed: CheckpointBed, client: Client, system: System
) -> None:
    left, right, agent = bed.begin(client, bed.lockstep())
    asking, barrier = bed.trigger()
    system.suspend(agent.pid)
    for producer in (left, right):
        bed.publish(producer, 0, 1, 2)
        bed.cut(producer, barrier)
        bed.publish(producer, 3, 4)
    agent.send(signal.SIGCONT)
    assert asking.wait() == DONE, asking
    bed.until_rows(agent, 5)
    interrupted(agent)
    assert bed.checkpoints_of_rows() == {0: 0, 1: 0, 2: 0, 3: 1, 4: 1}
    assert bed.restored(1)[1].head["journal"]["next_row"] == 3


def test_a_late_input_is_overtaken_and_the_checkpoint_holds_what_it_brought(system: System, shm: Path) -> None:
    bed = CheckpointBed(system, shm, alignment_timeout_ms=200)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.lockstep())
        bed.publish(left, 0, 1)
        bed.publish(right, 0)
        bed.until_rows(agent, 1)
        asking, barrier = bed.trigger()
        bed.cut(left, barrier)
        state = bed.store / "1" / "operators" / f"join-{OUT}" / "state.bin"
        asking.until(state.exists, "a snapshot overtook")
        bed.publish(right, 1, 2)
        bed.cut(right, barrier)
        bed.publish(left, 2, 3)
        bed.publish(right, 3)
        assert asking.wait() == DONE, asking
        bed.until_rows(agent, 4)
        counted = interrupted(agent)["checkpoints"]
    assert counted["threshold_switches"] == 1
    restored, image = bed.restored(1)
    assert (restored.manifest.is_unaligned, restored.manifest.was_threshold_triggered) == (True, True)
    assert record_frames(restored.inflight[1]) == [(RIGHT, 1), (RIGHT, 2)]
    assert (LEFT, 1) in record_frames(image.frames)
    assert bed.checkpoints_of_rows() == {0: 0, 1: 1, 2: 1, 3: 1}


def test_p6_a_frame_that_was_overwritten_before_it_could_be_captured_is_a_tombstone(system: System, shm: Path) -> None:
    slots, sent = 16, 60
    bed = CheckpointBed(system, shm, slots=slots, operator_timeout_ms=4_000)
    with bed.pool.client() as client:
        # Left sends its barrier when the coordinator asks for it, not before: an earlier acknowledgement is nobody's.
        left, right = bed.pool.producer(client, LEFT), bed.pool.producer(client, RIGHT, pipeline=None)
        agent = bed.join(bed.lockstep())
        for producer in (left, right):
            bed.pool.wait_ready(producer, 1)
        bed.publish(left, 0)
        bed.publish(right, 0)
        bed.until_rows(agent, 1)
        asking, barrier = bed.trigger("--unaligned")
        state = bed.store / "1" / "operators" / f"join-{OUT}" / "state.bin"
        asking.until(state.exists, "a snapshot overtook")
        system.suspend(agent.pid)
        bed.publish(right, *range(1, sent))
        bed.cut(right, barrier)
        agent.send(signal.SIGCONT)
        assert asking.wait() == DONE, asking
        interrupted(agent)
    restored, _ = bed.restored(1)
    [data] = restored.manifest.inflight_data
    lost = [(each["seq"], each["cause"]) for each in data.lost]
    captured = [seq for _, seq in record_frames(restored.inflight[1])]
    assert len(lost) >= sent - 1 - slots
    assert {cause for _, cause in lost} == {"overwritten"}
    assert sorted([*captured, *(seq for seq, _ in lost)]) == list(range(1, sent))


def test_a_barrier_that_stays_out_aborts_with_its_input_named_and_the_next_checkpoint_is_whole(
    system: System, shm: Path
) -> None:
    bed = CheckpointBed(system, shm, alignment_timeout_ms=100, late_barrier_timeout_ms=200)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.lockstep())
        bed.publish(left, 0)
        bed.publish(right, 0)
        asking, barrier = bed.trigger()
        bed.cut(left, barrier)
        assert asking.wait() == FAILED, asking
        assert "right" in asking.stdout + asking.stderr, asking
        asking, barrier = bed.trigger()
        for producer in (left, right):
            bed.publish(producer, 1)
            bed.cut(producer, barrier)
        assert outcome(asking)["checkpoint_id"] == barrier[0]
        assert asking.wait() == DONE, asking
        counted = interrupted(agent)["checkpoints"]
    assert (counted["late_aborts"], counted["checkpoints_completed"]) == (1, 1)


def test_an_input_that_has_ended_owes_no_barrier(bed: CheckpointBed, client: Client) -> None:
    left, right, agent = bed.begin(client, bed.lockstep())
    for producer in (left, right):
        bed.publish(producer, 0, 1)
    right.end()
    bed.until_rows(agent, 2)
    asking, barrier = bed.trigger()
    bed.cut(left, barrier)
    assert asking.wait() == DONE, asking
    left.end()
    assert summary_of(agent)["checkpoints"]["checkpoints_completed"] == 1


def test_frames_behind_a_barrier_outlive_their_ring(system: System, shm: Path) -> None:
    bed = CheckpointBed(system, shm, slots=16, alignment_timeout_ms=60_000)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.lockstep())
        bed.publish(left, 0)
        bed.publish(right, 0)
        asking, barrier = bed.trigger()
        bed.cut(left, barrier)
        bed.publish_seen(left, 200)
        bed.cut(right, barrier)
        assert asking.wait() == DONE, asking
        bed.publish_seen(right, 200)
        bed.until_rows(agent, 200)
        assert interrupted(agent)["overwritten"] == {"left": 0, "right": 0}


def test_descriptors_alone_lose_what_their_ring_overwrites_and_it_is_counted(system: System, shm: Path) -> None:
    bed = CheckpointBed(system, shm, slots=16, alignment_timeout_ms=60_000)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.lockstep(keys={"hold": "descriptor"}))
        bed.publish(left, 0)
        bed.publish(right, 0)
        asking, barrier = bed.trigger()
        bed.cut(left, barrier)
        # Heard, so that each of them waits behind the barrier when the other one comes.
        bed.publish(left, *range(1, 200))
        assert left.wait_seen(199, WATCHDOG_S)
        bed.cut(right, barrier)
        assert asking.wait() == DONE, asking
        bed.publish(right, 199)
        bed.until_rows(agent, 2)
        summary = interrupted(agent)
    assert summary["checkpoints"]["held_bytes"] == 0
    assert summary["checkpoints"]["held_lost"] == summary["overwritten"]["left"] >= 199 - 16
    assert bed.checkpoints_of_rows() == {0: 0, 199: 1}


def test_an_input_whose_producer_cannot_inject_is_cut_where_it_stands(bed: CheckpointBed, client: Client) -> None:
    left_input = f'[[input]]\nname = "left"\nstream = {LEFT}\noffset = 0\n'
    right_input = f'[[input]]\nname = "right"\nstream = {RIGHT}\noffset = 0\nbarrier = "ingress"\n'
    config = bed.configure(f"[join]\nout_stream = {OUT}\njournal = JOURNAL\n{left_input}{right_input}")
    left, right, agent = bed.begin(client, config)
    for producer in (left, right):
        bed.publish(producer, 0, 1)
    bed.until_rows(agent, 2)
    asking, barrier = bed.trigger()
    bed.cut(left, barrier)
    assert asking.wait() == DONE, asking
    for producer in (left, right):
        bed.publish(producer, 2)
    bed.until_rows(agent, 3)
    interrupted(agent)
    assert bed.checkpoints_of_rows() == {0: 0, 1: 0, 2: 1}
    restored, image = bed.restored(1)
    assert [(each["stream"], each["last_seq"]) for each in image.head["rest"]["streams"]] == [(LEFT, 1), (RIGHT, 1)]
    # The manifest says where the agent cut by itself.
    [state] = restored.manifest.operators
    assert [(each["stream"], each["last_seq"]) for each in state.ingress] == [(RIGHT, 1)]


def test_a_barrier_goes_on_before_what_came_behind_it(bed: CheckpointBed, client: Client) -> None:
    first = bed.lockstep("first", publish="left")
    left, right, agent = bed.begin(client, first)
    second = bed.join(bed.lockstep("second", inputs={"joined": OUT}, out=CHAINED))
    bed.publish(left, 0, 1)
    bed.publish(right, 0, 1)
    bed.until_rows(second, 2, "second")
    asking, barrier = bed.trigger()
    bed.cut(left, barrier)
    bed.publish(left, 2, 3)
    bed.publish(right, 2)
    bed.cut(right, barrier)
    bed.publish(right, 3)
    assert asking.wait() == DONE, asking
    bed.until_rows(second, 4, "second")
    for each in (agent, second):
        interrupted(each)
    # Frame 2 of the left input had waited behind the barrier; its partner came before it.
    assert bed.checkpoints_of_rows("second") == {0: 0, 1: 0, 2: 1, 3: 1}
    assert bed.checkpoints_of_rows("first") == {0: 0, 1: 0, 2: 1, 3: 1}
    for out in (OUT, CHAINED):
        _, image = bed.restored(1, out)
        assert image.head["journal"]["next_row"] == 2


def test_an_agent_killed_while_it_aligns_takes_part_in_the_next_checkpoint(bed: CheckpointBed, client: Client) -> None:
    config = bed.lockstep()
    left, right, agent = bed.begin(client, config)
    for producer in (left, right):
        bed.publish(producer, 0)
    bed.until_rows(agent, 1)
    asking, barrier = bed.trigger()
    bed.cut(left, barrier)
    killed(agent)
    again = bed.join(config)
    # The coordinator knows by its hello that it is another life.
    assert asking.wait() == FAILED, asking
    for producer in (left, right):
        bed.pool.wait_ready(producer, 1)
        bed.publish(producer, 1)
    asking, barrier = bed.trigger()
    for producer in (left, right):
        bed.cut(producer, barrier)
        bed.publish(producer, 2)
    assert asking.wait() == DONE, asking
    bed.until_rows(again, 3)
    again.send(signal.SIGINT)
    summary_of(again)
    assert bed.checkpoints_of_rows() == {0: 0, 1: 0, 2: barrier[0]}
