# SPDX-License-Identifier: Apache-2.0
"""A join agent's part in checkpoints, with a coordinator that is this test: what is stored, said, and given up.

The engine is fed, the control stream is in memory, and only the files are real.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.joinbarrier.checkpoint.operator.state import decode_state
from framegate.schema import decode_any
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    OperatorHello,
    OperatorState,
)

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT
from tests.unit.joinbarrier.part_world import OPERATOR, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.part.close()


def test_an_operator_says_hello_and_leaves(tmp_path: Path) -> None:
    world = World(tmp_path)
    [hello] = world.said(OperatorHello)
    assert (hello.operator_id, hello.pipeline, hello.state) == (OPERATOR, "default", OperatorState.PRESENT)
    world.bench.now_ns += 900_000_000
    assert len(world.said(OperatorHello)) == 1
    world.announce()
    assert len(world.said(OperatorHello)) == 2, "a coordinator it does not know"
    world.bench.now_ns += 1_000_000_000
    assert len(world.said(OperatorHello)) == 3, "a third of its time-out"
    world.part.close()
    world._said += [decode_any(received.data) for received in world._hears.poll(1_000)]
    assert [each.state for each in world._said if isinstance(each, OperatorHello)][-1] == OperatorState.LEAVING


def test_a_checkpoint_is_stored_and_acknowledged_in_two_steps(world: World) -> None:
    world.announce()
    world.bench.frames(LEFT, 0, 1)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    assert world.acks(2) == [(1, AckStatus.SNAPSHOT_TAKEN, ""), (1, AckStatus.COMPLETE, "")]
    taken, complete = world.said(BarrierAck)
    part = world.store.part(1, OPERATOR)
    assert (taken.bytes, complete.bytes) == (part.state.bytes, 0)
    assert not part.is_unaligned
    state = (Path(world.store.place) / "1" / "operators" / OPERATOR / "state.bin").read_bytes()
    image = decode_state(state)
    assert image.head["journal"] == {"epoch": world.bench.folder.epoch, "next_row": 1}
    assert image.head["stage"]["inputs"] == [[7, 0, 0, 0], [7, 0, 0, 0]]
    assert bytes.fromhex(image.head["map"]["message"])
    assert len(image.frames) == 3


@pytest.mark.parametrize(("durability", "is_first"), [("checkpoint", True), ("memory", False), ("disk", False)])
def test_the_journal_is_on_the_disk_before_the_state_that_counts_on_it_where_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str, is_first: bool
) -> None:
    written: list[Path] = []

    def fsync(descriptor: int) -> None:
        written.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        real(descriptor)

    real = os.fsync
    world = World(tmp_path, journal={"durability": durability})
    world.announce()
    world.bench.frames(LEFT, 0)
    world.bench.frames(RIGHT, 0)
    monkeypatch.setattr(os, "fsync", fsync)
    world.cut(1)
    world.acks(2)
    world.part.close()
    assert any(path.name.startswith("state") for path in written), written
    assert (written[0].parent == world.bench.folder.path / "segments") == is_first, written
    assert any(world.bench.folder.path in path.parents for path in written) == is_first, written


def test_what_a_late_input_brings_is_stored_beside_the_state(world: World) -> None:
    world.announce(timeout_ms=50)
    world.bench.frames(LEFT, 0)
    world.bench.frames(RIGHT, 0)
    world.bench.barrier(LEFT, 1)
    world.bench.wait(51)
    assert world.acks(1) == [(1, AckStatus.SNAPSHOT_TAKEN, "")]
    world.bench.frames(RIGHT, 1, 2)
    world.bench.barrier(RIGHT, 1)
    assert world.acks(2)[1] == (1, AckStatus.COMPLETE, "")
    part = world.store.part(1, OPERATOR)
    assert (part.is_unaligned, part.was_threshold_triggered) == (True, True)
    [inflight] = part.inflight
    assert (inflight.input_id, inflight.event_count, inflight.lost) == (1, 2, ())


def test_an_alignment_that_takes_too_long_is_logged_with_who_was_waited_for(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.announce(timeout_ms=50)
    world.bench.frames(LEFT, 0)
    world.bench.barrier(LEFT, 1)
    world.bench.frames(LEFT, 1, 2)
    world.bench.wait(51)
    with caplog.at_level("WARNING"):
        world.acks(1)
    [line] = [each.message for each in caplog.records if "unaligned" in each.message]
    assert f"aligned inputs: left (stream {LEFT})" in line
    assert f"pending: right (stream {RIGHT})" in line
    assert "2 events waited" in line
    assert "threshold" in line


def test_what_overtaking_adds_to_a_checkpoint_is_measured(world: World) -> None:
    world.announce(timeout_ms=50)
    for checkpoint_id in (1, 2):
        world.bench.frames(LEFT, checkpoint_id)
        world.bench.barrier(LEFT, checkpoint_id)
        world.bench.wait(51 if checkpoint_id == 2 else 0)
        world.bench.frames(RIGHT, checkpoint_id)
        world.bench.barrier(RIGHT, checkpoint_id)
    world.acks(4)
    part = world.store.part(2, OPERATOR)
    counted = world.part.stored
    assert counted["stored"] == 2
    assert counted["stored_inflight_bytes"] == part.inflight[0].bytes
    assert counted["average_size_increase"] == round(part.inflight[0].bytes / part.state.bytes, 6)


def test_an_alignment_that_comes_to_nothing_names_its_cause_and_its_input(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.announce(timeout_ms=50, flags=0)
    world.bench.frames(LEFT, 0)
    world.bench.barrier(LEFT, 1)
    world.bench.frames(LEFT, 1, 2)
    world.bench.wait(51)
    with caplog.at_level("WARNING"):
        assert world.acks(1) == [(1, AckStatus.FAILED, f"TIMEOUT: input right (stream {RIGHT})")]
    waited = f"aligned inputs: left (stream {LEFT}); pending: right (stream {RIGHT}); 2 events waited"
    assert [each.message for each in caplog.records] == [
        f"checkpoint 1 is given up: TIMEOUT, input right (stream {RIGHT}); {waited}"
    ]


def test_a_store_that_fails_fails_the_checkpoint_and_the_next_one_is_aligned(world: World) -> None:
    world.announce()
    folder = Path(world.store.place)
    folder.write_text("no directory")
    world.bench.frames(LEFT, 0)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    [(checkpoint_id, status, reason)] = world.acks(1)
    assert (checkpoint_id, status) == (1, AckStatus.FAILED)
    assert reason.startswith("STORE_FAILED: ")
    folder.unlink()
    world.bench.barrier(LEFT, 2, unaligned=True)
    assert world.bench.engine.checkpoint_under_way() == 2
    assert world.bench.counters()["checkpoints"]["unaligned_count"] == 0
    world.bench.barrier(RIGHT, 2)
    assert [status for _, status, _ in world.acks(3)[1:]] == [AckStatus.SNAPSHOT_TAKEN, AckStatus.COMPLETE]


def test_what_the_coordinator_gave_up_is_given_up_here_without_a_word(world: World) -> None:
    world.announce()
    world.bench.barrier(LEFT, 1)
    aborted = CheckpointAborted(
        checkpoint_id=1, epoch=1, cause=AbortCause.COORDINATOR, pipeline="default", reason="because"
    )
    world.say(aborted)
    assert world.bench.engine.checkpoint_under_way() is None
    assert world.said(BarrierAck) == []


def test_another_pipelines_words_are_not_for_this_one(world: World) -> None:
    world.announce()
    world.bench.barrier(LEFT, 1)
    aborted = CheckpointAborted(checkpoint_id=1, epoch=1, cause=AbortCause.TIMEOUT, pipeline="other", reason="")
    world.say(aborted)
    assert world.bench.engine.checkpoint_under_way() == 1


def test_an_announce_gives_up_what_is_over_and_not_what_it_cannot_know_of(world: World) -> None:
    world.announce()
    world.bench.barrier(LEFT, 1)
    world.announce()
    assert world.bench.engine.checkpoint_under_way() == 1, "said before the barrier was asked for"
    world.announce(last=1, current=1)
    assert world.bench.engine.checkpoint_under_way() == 1
    world.announce(last=1)
    assert world.bench.engine.checkpoint_under_way() is None


def test_checkpoints_that_were_over_before_an_operator_came_are_not_for_it(world: World) -> None:
    world.announce(last=5)
    world.bench.barrier(LEFT, 5)
    assert world.bench.engine.checkpoint_under_way() is None
    world.bench.barrier(LEFT, 6)
    assert world.bench.engine.checkpoint_under_way() == 6


def test_without_a_coordinator_nothing_is_stored_and_nothing_said(world: World) -> None:
    world.bench.frames(LEFT, 0)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    assert world.said(BarrierAck) == []
    assert world.bench.counters()["checkpoints"]["checkpoint_id"] == 1


def test_what_is_under_way_when_the_inputs_begin_to_be_heard_is_refused_once(world: World) -> None:
    world.announce(last=3, current=3)
    for _ in range(2):
        world.part.sit_out()
    [(checkpoint_id, status, reason)] = world.acks(1)
    assert (checkpoint_id, status) == (3, AckStatus.FAILED)
    assert reason.startswith("OPERATOR_FAILED")
    # The next one is for it.
    world.announce(last=4, current=4)
    world.cut(4)
    assert [each[:2] for each in world.acks(3)][1:] == [(4, AckStatus.SNAPSHOT_TAKEN), (4, AckStatus.COMPLETE)]
