# SPDX-License-Identifier: Apache-2.0
"""Signals, watermarks and barriers through running agents: on the data channel from agent to agent, in their places; on
the control channel by everybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.schema.control import CheckpointBarrier, ControlSignal, SignalCategory, SignalKind, Watermark
from framegate.schema.errors import DONE

from tests.system.checkpoint_bed import CheckpointBed
from tests.system.join_bed import LEFT, OUT, interrupted, summary_of

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.consumer.consumer import Consumer

    from tests.system.conftest import Program, System

CHAINED = OUT + 1
SAME = """
def same(frame):
    return frame
"""


@pytest.fixture
def bed(system: System, shm: Path) -> CheckpointBed:
    return CheckpointBed(system, shm, operator_timeout_ms=4_000)


@pytest.fixture
def client(bed: CheckpointBed) -> Iterator[Client]:
    with bed.pool.client() as client:
        yield client


def told(control: ControlSignal | CheckpointBarrier | Watermark) -> object:
    """What it says, without its place."""
    match control:
        case CheckpointBarrier():
            return ("barrier", control.checkpoint_id)
        case Watermark():
            return ("watermark", control.timestamp_ms)
    is_barrier = control.category == SignalCategory.BARRIER
    return (control.kind.name, control.barrier_id) if is_barrier else (control.kind.name,)


class Ear:
    """A consumer that remembers what stands between the frames, and behind which."""

    def __init__(self, bed: CheckpointBed, consumer: Consumer) -> None:
        self._bed = bed
        self._consumer = consumer
        self.heard: list[object] = []
        self.between: list[tuple[object, int | None]] = []

    def until(self, count: int) -> list[tuple[object, int | None]]:
        """Hear so many messages."""

        def turn() -> bool:
            for frame in self._consumer.poll():
                self.heard.append(frame.seq)
            for each in self._consumer.control():
                self.heard.append(told(each.message))
                self.between.append((told(each.message), each.after_seq))
            return len(self.between) >= count

        try:
            self._bed.system.until(turn, f"heard {count} messages")
        except BaseException:
            print(self.heard, self.between)
            raise
        return list(self.between)


def ask_signal(bed: CheckpointBed, *words: str) -> Program:
    return bed.system.framegate("checkpoint", "signal", *words, *bed.pool.places, "--json")


def test_what_stands_between_the_frames_goes_on_in_its_place_through_two_agents(
    bed: CheckpointBed, client: Client
) -> None:
    left, right, first = bed.begin(client, bed.lockstep("first", publish="left"))
    second = bed.join(bed.lockstep("second", inputs={"joined": OUT}, out=CHAINED, publish="joined"))
    with client.consumer(CHAINED) as consumer:
        ear = Ear(bed, consumer)
        for producer in (left, right):
            bed.publish(producer, 0, 1)
            producer.watermark(5)
            producer.signal("SyncTest", 4)
            bed.publish(producer, 2)
        left.signal("SyncTest")
        bed.publish(left, 3)
        bed.publish(right, 3)
        for producer in (left, right):
            bed.cut(producer, (6, 1))
            bed.publish(producer, 4)
        found = ear.until(4)
        for producer in (left, right):
            producer.end(9)
        ends = ear.until(5)[-1:]
    # Watermarks may come later than they could, and never earlier than the frames that they speak of.
    watermarks = [after for what, after in found if what == ("watermark", 5)]
    assert len(watermarks) == 1
    assert watermarks[0] is not None
    assert watermarks[0] >= 1
    assert ("barrier", 6) in [what for what, _ in found]
    assert (("SYNC_TEST", 4), 1) in found
    assert [after for what, after in found if what == ("barrier", 6)] == [3]
    assert ("SYNC_TEST",) in [what for what, _ in found]
    assert ends == [(("STREAM_GRACEFUL_END", 9), 4)]
    for agent in (first, second):
        counted = summary_of(agent)["checkpoints"]
        assert (counted["signals_aligned"], counted["signals_refused"], counted["forward_failures"]) == (2, 0, 0)
        assert counted["checkpoint_id"] == 6


def test_a_stage_with_one_input_passes_everything_straight_through(
    bed: CheckpointBed, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "same_frame.py").write_text(SAME)
    config = bed.lockstep(inputs={"source": LEFT}, publish="same_frame:same")
    source = bed.pool.producer(client, LEFT, pipeline=None)
    agent = bed.join(config, PYTHONPATH=str(tmp_path))
    bed.pool.wait_ready(source, 1)
    with client.consumer(OUT) as consumer:
        ear = Ear(bed, consumer)
        bed.publish(source, 0, 1)
        bed.cut(source, (3, 1))
        bed.publish(source, 2)
        source.signal("SyncTest", 4)
        source.watermark(7)
        bed.publish(source, 3)
        found = ear.until(3)
        source.end()
        ends = ear.until(4)[3:]
    assert found == [(("barrier", 3), 1), (("SYNC_TEST", 4), 2), (("watermark", 7), 2)]
    assert ends == [(("STREAM_GRACEFUL_END", 0), 3)]
    assert summary_of(agent)["rows"] == 4


def test_a_signal_on_the_control_channel_is_handled_and_sent_on_by_every_agent(
    bed: CheckpointBed, client: Client
) -> None:
    left, right, first = bed.begin(client, bed.lockstep("first", publish="left"))
    second = bed.join(bed.lockstep("second", inputs={"joined": OUT}, out=CHAINED))
    for producer in (left, right):
        bed.publish(producer, 0)
    bed.until_rows(second, 1, "second")
    for expected_id in (1, 2):
        asking = ask_signal(bed)
        assert asking.wait() == DONE, asking
        assert asking.objects()[-1]["barrier_id"] == expected_id
    instant = ask_signal(bed, "--instant")
    assert instant.wait() == DONE, instant
    for agent in (first, second):
        counted = interrupted(agent)["control_signals"]
        assert (counted["aligned"], counted["forwarded"], counted["instant"]) == (2, 2, 1)


def test_an_end_on_the_control_channel_ends_every_agent_in_good_order(bed: CheckpointBed, client: Client) -> None:
    left, right, first = bed.begin(client, bed.lockstep("first", publish="left"))
    second = bed.join(bed.lockstep("second", inputs={"joined": OUT}, out=CHAINED))
    for producer in (left, right):
        bed.publish(producer, 0, 1)
    bed.until_rows(second, 2, "second")
    with client.consumer(OUT) as consumer:
        asking = ask_signal(bed, "StreamGracefulEnd")
        assert asking.wait() == DONE, asking
        for agent in (first, second):
            summary = summary_of(agent)
            assert (summary["rows"], summary["control_signals"]["forwarded"]) == (2, 1)
        # Its stream has ended, or this would wait for ever.
        assert {frame.seq for frame in consumer} <= {0, 1}
    assert {row.out_seq for row in bed.rows("first")} == {0, 1}


def test_an_agent_expects_as_many_heads_as_it_is_told(bed: CheckpointBed, client: Client) -> None:
    """A signal of two heads, sent by hand: the first alone is not handled, nor is the other pipeline's."""
    config = bed.lockstep(keys={"control_upstreams": 2})
    left, right, agent = bed.begin(client, config)
    for producer in (left, right):
        bed.publish(producer, 0)
    for pipeline, barrier_id in (("default", 3), ("radar", 4), ("default", 3)):
        message = ControlSignal(
            category=SignalCategory.BARRIER,
            kind=SignalKind.STREAM_GRACEFUL_END,
            barrier_id=barrier_id,
            stream_id=None,
            source_epoch=0,
            after_seq=None,
            pipeline=pipeline,
        )
        bed.until_rows(agent, 1)
        with client.turn:
            assert client.send(message)
    summary = summary_of(agent)
    assert summary["control_signals"] == {"aligned": 1, "forwarded": 1}
