# SPDX-License-Identifier: Apache-2.0
"""A replay that is killed goes on behind the barriers of a checkpoint: nothing left out, nothing from before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.recording.frames import FrameOfRecording, Passage
from framegate.recording.reader import Recording
from framegate.schema.errors import DONE, WRONG_USAGE
from framegate.shmpool.consumer.consumer import Consumer
from framegate.tools.replay.replay_state import ReplayState, decode_replay_state

from tests.system.checkpoint_bed import CheckpointBed, outcome
from tests.system.join_bed import LEFT, OUT, PAIR, RIGHT, interrupted, killed, summary_of
from tests.unit.recording.recording_world import EPOCH, Made
from tests.unit.recording.replay_frames import frame, numbered

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

OPERATOR = f"replay-{LEFT}-{RIGHT}"
THIRD = 10_003
FRAMES = 3_000
MESSAGES_A_FRAME = 3
STEP_NS = 1_000_000
"""Between two messages, at the recorded speed."""


class Heard:
    """A consumer, and what it read: epoch and sequence."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.seen: list[tuple[int, int]] = []

    def take(self) -> None:
        self.seen += [(each.epoch, each.seq) for each in self.consumer.poll(timeout_s=0)]

    def seqs(self, life: int) -> list[int]:
        """Of one of its producer's lives, from 0."""
        epochs = list(dict.fromkeys(epoch for epoch, _ in self.seen))
        return [seq for epoch, seq in self.seen if epoch == epochs[life]]


@dataclass
class Bed(CheckpointBed):
    """A pipeline of which a replay is the only operator, and two consumers."""

    file: Path = field(init=False)

    def __init__(self, system: System, shm: Path) -> None:
        super().__init__(system, shm, slots=256, operator_timeout_ms=500)
        self.file = self.folder / "out.mcap"

    def write(self, frames: int, epochs: tuple[int, ...] = (EPOCH,), step_ns: int = STEP_NS) -> None:
        """Two streams that take turns, the left one twice as often; sequences begin anew in each epoch."""
        messages = []
        for epoch in epochs:
            for seq in range(frames):
                messages += frame(seq, numbered(seq), stream=LEFT, epoch=epoch)
                if seq % 2:
                    messages += frame(seq // 2, numbered(seq), stream=RIGHT, epoch=epoch)
        self.file.write_bytes(Made(is_one_time_a_frame=True, step_ns=step_ns).file(messages))

    def replay(self, *words: str) -> Program:
        return self.system.framegate("replay", str(self.file), *self.pool.places, "--json", "--end", *words)

    def state(self, checkpoint_id: int) -> ReplayState:
        store = CheckpointStore(self.store)
        assert list(store.problems(checkpoint_id)) == []
        return decode_replay_state(store.restore(store.manifest(checkpoint_id), OPERATOR).state)

    def checkpointed(self) -> int:
        """One that became whole; its id."""
        asking, _ = self.trigger()
        found = outcome(asking)
        assert asking.wait() == DONE, asking
        number: int = found["checkpoint_id"]
        return number

    def positions(self) -> dict[tuple[int, int], int]:
        """Where each frame of the file ends, by stream and sequence."""
        with Recording.open(self.file) as recording:
            items = [each for each in Passage(recording) if isinstance(each, FrameOfRecording)]
        return {(each.stream, each.seq): each.position for each in items}


@pytest.fixture
def bed(system: System, shm: Path) -> Bed:
    return Bed(system, shm)


@pytest.fixture
def heard(bed: Bed) -> Iterator[dict[int, Heard]]:
    with bed.pool.client() as client:
        yield {stream: Heard(client.consumer(stream)) for stream in (LEFT, RIGHT)}


def listen(bed: Bed, heard: dict[int, Heard], *, life: int, last: dict[int, int]) -> None:
    """Read until each stream has come so far in one of its lives."""

    def have_come() -> bool:
        for each in heard.values():
            each.take()
        return all(
            len({epoch for epoch, _ in each.seen}) > life and each.seqs(life)[-1] >= last[stream]
            for stream, each in heard.items()
        )

    bed.system.until(have_come, f"life {life} at {last}")


def test_a_killed_replay_goes_on_behind_the_barrier_of_each_stream(bed: Bed, heard: dict[int, Heard]) -> None:
    bed.write(FRAMES)
    words = ("--wait-consumers", "1", "--restore", "latest")
    first = bed.replay("--speed", "4", *words)
    # A supervisor has one command line: before there is a checkpoint it begins at the beginning.
    assert first.says(event="ready")["restored"] is None
    listen(bed, heard, life=0, last={LEFT: 200, RIGHT: 100})
    state = bed.state(bed.checkpointed())
    listen(bed, heard, life=0, last={stream.stream: (stream.after_seq or 0) + 50 for stream in state.streams})
    killed(first)
    positions = bed.positions()
    for each in state.streams:
        assert each.after_seq is not None
        assert each.position == positions[each.stream, each.after_seq]
        assert each.recorded_epoch == EPOCH
    # At this speed it waits for its consumers: what they do not have was not sent.
    second = bed.replay("--speed", "max", *words)
    ready = second.says(event="ready")
    assert ready["restored"] == state.checkpoint_id
    last = {LEFT: FRAMES - 1, RIGHT: FRAMES // 2 - 1}
    listen(bed, heard, life=1, last=last)
    summary = summary_of(second)
    assert summary["restored"] == state.checkpoint_id
    for each in state.streams:
        wanted = [*range((each.after_seq or 0) + 1, last[each.stream] + 1)]
        assert heard[each.stream].seqs(1) == wanted
    assert summary["frames"] == sum(len(each.seqs(1)) for each in heard.values())


@pytest.mark.long
def test_a_recorded_epoch_that_was_being_sent_goes_on_and_the_next_one_is_another(
    bed: Bed, heard: dict[int, Heard]
) -> None:
    bed.write(FRAMES // 2, epochs=(EPOCH, EPOCH + 1))
    first = bed.replay("--speed", "4", "--wait-consumers", "1")
    listen(bed, heard, life=0, last={LEFT: 200, RIGHT: 100})
    state = bed.state(bed.checkpointed())
    killed(first)
    second = bed.replay("--speed", "max", "--wait-consumers", "1", "--restore", str(state.checkpoint_id))
    listen(bed, heard, life=2, last={LEFT: FRAMES // 2 - 1, RIGHT: FRAMES // 4 - 1})
    summary_of(second)
    after = {each.stream: (each.after_seq or 0) + 1 for each in state.streams}
    for stream, each in heard.items():
        count = FRAMES // 2 if stream == LEFT else FRAMES // 4
        assert each.seqs(1) == [*range(after[stream], count)]
        assert each.seqs(2) == [*range(count)]


def test_checkpoints_go_on_without_a_replay_that_has_ended(bed: Bed) -> None:
    bed.write(40)
    agent = bed.join(bed.lockstep(inputs={**PAIR, "third": THIRD}))
    with bed.pool.client() as client:
        third = bed.pool.producer(client, THIRD)
        bed.pool.wait_ready(third, 1)
        summary_of(bed.replay("--speed", "max", "--wait-consumers", "1"))
        manifest = CheckpointStore(bed.store).manifest(bed.checkpointed())
        assert [each.operator_id for each in manifest.operators] == [f"join-{OUT}"]
        interrupted(agent)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--restore", "none"), WRONG_USAGE),
        (("--raw", "--restore", "latest"), WRONG_USAGE),
        (("--checkpoints", "somewhere"), WRONG_USAGE),
    ],
)
def test_what_cannot_be_restored_is_wrong_usage(system: System, tmp_path: Path, words: Any, status: int) -> None:
    program = system.framegate("replay", str(tmp_path / "none.mcap"), *words)
    assert program.wait() == status, program


@pytest.mark.long
def test_another_recording_than_the_checkpoints_is_refused(bed: Bed, heard: dict[int, Heard]) -> None:
    bed.write(FRAMES)
    first = bed.replay("--wait-consumers", "1")
    listen(bed, heard, life=0, last={LEFT: 10, RIGHT: 5})
    bed.checkpointed()
    killed(first)
    bed.write(FRAMES, step_ns=STEP_NS + 1)
    second = bed.replay("--restore", "latest", "--checkpoints", str(bed.store))
    assert second.wait() == WRONG_USAGE, second
    assert "another recording" in second.stdout + second.stderr
