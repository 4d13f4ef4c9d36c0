# SPDX-License-Identifier: Apache-2.0
"""Checkpoints while inputs end, are idle, stand still, or are heard by others: a real driver, real agents."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from framegate.schema.control import CheckpointBarrier
from framegate.schema.errors import DONE, FAILED

from tests.system.checkpoint_bed import PATIENT, CheckpointBed
from tests.system.join_bed import LEFT, OUT, RIGHT, interrupted, killed

if TYPE_CHECKING:
    from tests.system.conftest import System

OTHER_OUT: Final = OUT + 1
IDLE, STOPPED = LEFT + 10, LEFT + 11
BRIEF_LEASES: Final = "[policies]\nlease_keepalive_interval_ms = 300\n"
"""Tables of a driver that soon sees who is gone."""


def union(bed: CheckpointBed, inputs: Mapping[str, int]) -> Path:
    """Every frame is a row, so that rows tell who is blocked."""
    given = "".join(f'[[input]]\nname = "{name}"\nstream = {stream}\n' for name, stream in inputs.items())
    return bed.configure(f'[join]\nout_stream = {OUT}\npolicy = "union"\njournal = JOURNAL\n{given}')


def test_one_input_ended_one_idle_and_one_stopped_and_the_next_checkpoint_is_whole(system: System, shm: Path) -> None:
    """The snapshot and the unblocking come at the threshold; the late barrier's time-out names who stood still."""
    bed = CheckpointBed(
        system, shm, more=PATIENT, alignment_timeout_ms=300, late_barrier_timeout_ms=700, operator_timeout_ms=3_000
    )
    with bed.pool.client() as client:
        ended = bed.pool.producer(client, LEFT)
        live = bed.pool.producer(client, RIGHT)
        bed.pool.producer(client, IDLE)
        stopped = bed.produce(STOPPED, "--rate", "50", "--shape", "16x16")
        inputs = {"ended": LEFT, "live": RIGHT, "idle": IDLE, "stopped": STOPPED}
        agent = bed.join(union(bed, inputs))
        bed.publish(ended, 0)
        ended.end()
        bed.publish(live, 0)
        bed.until_rows(agent, 4)
        # After this one all is known, and the next one begins at once.
        before, _ = bed.trigger()
        assert before.wait() == DONE, before
        system.suspend(stopped.pid)
        asking, (first, _) = bed.trigger()
        system.until(lambda: live.counters()["barriers_sent"] == 2, "the live input's barrier was sent")
        bed.publish(live, 1)
        state = bed.store / str(first) / "operators" / f"join-{OUT}" / "state.bin"
        # The attempt is dropped when it has failed.
        agent.until(lambda: state.exists() or not system.is_alive(asking.pid), "a snapshot was taken")
        system.until(lambda: any(row.inputs["live"].seq == 1 for row in bed.rows()), "the live input goes on")
        assert asking.wait() == FAILED, asking
        told = asking.stdout + asking.stderr
        assert "LATE_BARRIER_TIMEOUT" in told, asking
        assert "stopped" in told, asking
        stopped.send(signal.SIGCONT)
        again, (second, _) = bed.trigger()
        assert again.wait() == DONE, again
        assert second > first
        bed.publish(live, 2)
        system.until(lambda: any(row.inputs["live"].seq == 2 for row in bed.rows()), "the last frame is a row")
        counted = interrupted(agent)["checkpoints"]
    assert (counted["threshold_switches"], counted["late_aborts"], counted["checkpoints_completed"]) == (1, 1, 2)
    assert (counted["stored"], counted["checkpoint_id"]) == (2, second)
    # P9: a row carries the last barrier that was snapshotted, also of the one that was aborted.
    of_live = {row.inputs["live"].seq: row.checkpoint_id for row in bed.rows() if row.inputs["live"].seq is not None}
    assert of_live == {0: 0, 1: first, 2: second}
    interrupted(stopped)


@pytest.mark.parametrize("unaligned", [False, pytest.param(True, marks=pytest.mark.long)], ids=["aligned", "unaligned"])
def test_a_producer_that_crashes_ends_what_it_owes_and_is_left_out_until_its_next_epoch(
    system: System, shm: Path, *, unaligned: bool
) -> None:
    """B20 and P15: no time-out is waited for. What ends the checkpoint is that its lease is gone, and it is named."""
    bed = CheckpointBed(
        system,
        shm,
        more=BRIEF_LEASES,
        operator_timeout_ms=3_000,
        alignment_timeout_ms=20_000,
        late_barrier_timeout_ms=20_000,
    )
    with bed.pool.client() as client:
        left = bed.pool.producer(client, LEFT, pipeline=None)
        right = bed.produce(RIGHT, "--rate", "100", "--shape", "16x16", "--pipeline", "nobodys")
        agent = bed.join(union(bed, {"left": LEFT, "right": RIGHT}))
        bed.publish(left, 0)
        bed.until_rows(agent, 3)
        asking, barrier = bed.trigger(*(["--unaligned"] if unaligned else []))
        bed.cut(left, barrier, unaligned=unaligned)
        state = bed.store / str(barrier[0]) / "operators" / f"join-{OUT}" / "state.bin"
        if unaligned:
            asking.until(state.exists, "a snapshot overtook")
        killed(right)
        assert asking.wait() == FAILED, asking
        assert not unaligned or not state.with_name("operator.json").exists()
        told = asking.stdout + asking.stderr
        assert "INPUT_LOST: " in told, asking
        assert f"input right (stream {RIGHT})" in told, asking
        # What had waited is a row, and the input that is gone owes nothing.
        asking, barrier = bed.trigger()
        bed.cut(left, barrier)
        assert asking.wait() == DONE, asking
        back = bed.pool.producer(client, RIGHT, pipeline=None)
        bed.pool.wait_ready(back, 1)
        asking, barrier = bed.trigger()
        bed.cut(left, barrier)
        bed.publish(left, 1)
        bed.publish(back, 1)
        system.until(lambda: (back.epoch, 1) in seen(bed, "right"), "its frames are rows")
        life = left.epoch
        assert (life, 1) not in seen(bed, "left"), "the others wait for its barrier again"
        bed.cut(back, barrier)
        assert asking.wait() == DONE, asking
        counted = interrupted(agent)["checkpoints"]
    assert (counted["checkpoints_completed"], counted["aborts"] + counted["late_aborts"]) == (2, 1)
    assert (life, 1) in seen(bed, "left")


def seen(bed: CheckpointBed, name: str) -> set[tuple[int | None, int | None]]:
    """Epoch and sequence of an input's frames that are rows."""
    return {(row.inputs[name].epoch, row.inputs[name].seq) for row in bed.rows()}


def test_barriers_come_by_a_consumers_own_stream_however_few_frames_it_wants(system: System, shm: Path) -> None:
    ranges = '[driver]\ndescriptor_stream_id_range = "31000-31009"'
    bed = CheckpointBed(system, shm, more=ranges, operator_timeout_ms=3_000)
    config = bed.configure(
        f'[join]\nout_stream = {OUT}\njournal = JOURNAL\n[[input]]\nname = "left"\nstream = {LEFT}\noffset = 0\n'
    )
    with bed.pool.client() as client:
        left = bed.pool.producer(client, LEFT)
        agent = bed.join(config)
        consumer = client.consumer(LEFT, own_stream=True, max_rate_hz=1)
        bed.pool.wait_ready(left, 2)
        system.until(lambda: left._own_streams, "the producer sends on the consumer's own stream")
        heard: list[tuple[int, int | None]] = []
        frames: list[int] = []

        def hear() -> bool:
            frames.extend(frame.seq for frame in consumer.poll())
            heard.extend(
                (each.message.checkpoint_id, each.after_seq)
                for each in consumer.control()
                if isinstance(each.message, CheckpointBarrier)
            )
            return len(heard) >= 2

        for first in (0, 100):
            bed.publish(left, *range(first, first + 100))
            asking, _ = bed.trigger()
            assert asking.wait() == DONE, asking
        system.until(hear, "both barriers came")
        bed.until_rows(agent, 200)
        assert interrupted(agent)["checkpoints"]["checkpoints_completed"] == 2
    assert [checkpoint_id for checkpoint_id, _ in heard] == [1, 2]
    # Few frames were let through, and a barrier says the last of those before it.
    assert len(frames) < 200
    assert all(after is None or after < 200 for _, after in heard)


def test_two_pipelines_on_one_control_stream_do_not_disturb_each_other(system: System, shm: Path) -> None:
    store = shm / "joins" / "radar"
    radar = {"dir": str(store), "operator_timeout_ms": 3_000}
    bed = CheckpointBed(system, shm, others={"radar": radar}, operator_timeout_ms=3_000)
    with bed.pool.client() as client:
        left = bed.pool.producer(client, LEFT)
        right = bed.pool.producer(client, RIGHT, pipeline="radar")
        agents = {}
        for name, stream, out, pipeline in (
            ("one", LEFT, OUT, "default"),
            ("two", RIGHT, OTHER_OUT, "radar"),
        ):
            config = bed.lockstep(name, inputs={"only": stream}, out=out, keys={"pipeline": pipeline})
            agents[name] = bed.join(config)
        for producer, agent in ((left, "one"), (right, "two")):
            bed.publish(producer, 0)
            bed.until_rows(agents[agent], 1, agent)
        for words in ((), ("--pipeline", "radar"), ("--pipeline", "radar")):
            asking = system.framegate("checkpoint", "trigger", *bed.pool.places, "--json", *words)
            assert asking.wait() == DONE, asking
        probe = system.framegate("checkpoint", "signal", *bed.pool.places, "--json", "--pipeline", "radar")
        assert probe.wait() == DONE, probe
        assert probe.objects()[-1]["barrier_id"] == 3
        for producer, agent in ((left, "one"), (right, "two")):
            bed.publish(producer, 1)
            bed.until_rows(agents[agent], 2, agent)
        summaries = {name: interrupted(agent) for name, agent in agents.items()}
    assert bed.checkpoints_of_rows("one") == {0: 0, 1: 1}
    assert bed.checkpoints_of_rows("two") == {0: 0, 1: 2}
    assert [each["checkpoints"]["stored"] for each in summaries.values()] == [1, 2]
    assert [each["control_signals"].get("aligned", 0) for each in summaries.values()] == [0, 1]
    assert json.loads((store / "coordinator.json").read_text())["last_checkpoint_id"] == 3
