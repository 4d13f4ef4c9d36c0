# SPDX-License-Identifier: Apache-2.0
"""Joins that are killed and go back to a checkpoint: real processes, and a test that says where everything stands."""

from __future__ import annotations

import shutil
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from framegate.joinbarrier.journal.readers import NamedReader
from framegate.schema.control import ControlSignal, SignalCategory, SignalKind
from framegate.schema.errors import DONE, FAILED, WRONG_USAGE
from framegate.shmpool.marks.continued import mark_continued

from tests.system.checkpoint_bed import WATCHDOG_S, CheckpointBed
from tests.system.join_bed import OUT, interrupted, killed, summary_of
from tests.system.journal_table import read_rows

if TYPE_CHECKING:
    from framegate.shmpool.producer.producer import Producer

    from tests.system.conftest import Program, System

SLOTS = 16


class RestoreBed(CheckpointBed):
    """Two producers that live on, and agents that come and go."""

    def __init__(self, system: System, shm: Path, **pipeline: Any) -> None:
        super().__init__(system, shm, slots=SLOTS, **pipeline)
        self.config = self.lockstep()

    def checkpoint(self, *producers: Producer) -> int:
        """A checkpoint with a barrier behind what was published last."""
        asking, barrier = self.trigger()
        for producer in producers:
            self.cut(producer, barrier)
        assert asking.wait() == DONE, asking
        return barrier[0]

    def again(self, *producers: Producer, wanted: str = "latest", words: tuple[str, ...] = ()) -> Program:
        """The next agent."""
        agent = self.join(self.config, "--restore", wanted, *words)
        for producer in producers:
            self.pool.wait_ready(producer, 1)
        return agent

    def outputs(self) -> list[int]:
        """Of the journal; each row's frames are those that it names."""
        found = []
        for row in self.rows():
            for cell in row.inputs.values():
                assert cell.seq == row.out_seq
                assert int.from_bytes(bytes(cell.array[:8]), "little") == cell.seq
            found.append(row.out_seq)
        return found

    def left_out(self) -> dict[str, list[tuple[int, int, str]]]:
        from framegate.joinbarrier.journal.journal import Journal

        found: dict[str, list[tuple[int, int, str]]] = {}
        for each in Journal(self.journal()).unmatched().to_pylist():
            found.setdefault(each["input"], []).append((each["seq"], each["seq_last"], each["cause"]))
        return found


def an_end_of(producer: Producer, epoch: int) -> bytes:
    """What a producer says when nothing follows in an epoch."""
    return ControlSignal(
        category=SignalCategory.BARRIER,
        kind=SignalKind.STREAM_GRACEFUL_END,
        barrier_id=0,
        stream_id=producer.stream_id,
        source_epoch=epoch,
        after_seq=2,
        pipeline="",
    ).encode()


def restarted(summary: dict[str, Any]) -> tuple[Any, ...]:
    return summary["restored_from"], summary["restored_frames"], summary["gap"]


def test_a_killed_agent_joins_what_waited_though_its_ring_went_on_and_reports_what_passed(
    system: System, shm: Path
) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, 0, 1, 2, 3)
        bed.publish(right, 0, 1)
        bed.until_rows(agent, 2)
        bed.checkpoint(left, right)
        killed(agent)
        # The log is joined again where the dead agent was, so what passed is what was left out.
        bed.publish(left, *range(20, 20 + 2 * SLOTS))
        agent = bed.again(left, right)
        bed.publish(right, 2, 3)
        bed.until_rows(agent, 4)
        for producer in (left, right):
            bed.publish(producer, 100)
        bed.until_rows(agent, 5)
        summary = interrupted(agent)
    assert bed.outputs() == [0, 1, 2, 3, 100]
    # Beside what waited the last joined ones.
    assert restarted(summary) == (1, 2, {"left": 16, "right": 0})
    assert "left (stream 10001): frames 4 to 19 passed" in agent.stderr
    assert (4, 19, "agent_down") in bed.left_out()["left"]
    assert bed.checkpoints_of_rows() == {0: 0, 1: 0, 2: 1, 3: 1, 100: 1}


def test_rows_sealed_after_the_cut_stay_and_two_kills_in_a_row_double_nothing(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, *range(6))
        bed.publish(right, 0)
        bed.until_rows(agent, 1)
        bed.checkpoint(left, right)
        bed.publish(right, 1, 2)
        bed.until_rows(agent, 3)
        killed(agent)
        agent = bed.again(left, right)
        bed.publish(right, 3)
        bed.until_rows(agent, 4)
        killed(agent)
        agent = bed.again(left, right)
        bed.publish(right, 4, 5)
        bed.until_rows(agent, 6)
        # It takes part in what comes: the aligner begins above the checkpoint it came from.
        assert bed.checkpoint(left, right) == 2
        interrupted(agent)
    assert bed.outputs() == [0, 1, 2, 3, 4, 5]
    assert all(row.row == place for place, row in enumerate(bed.rows()))


def test_an_unaligned_checkpoint_gives_back_what_was_in_flight(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm, alignment_timeout_ms=200)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, 0, 1)
        bed.publish(right, 0)
        bed.until_rows(agent, 1)
        asking, barrier = bed.trigger()
        bed.cut(left, barrier)
        state = bed.store / "1" / "operators" / f"join-{OUT}" / "state.bin"
        asking.until(state.exists, "a snapshot overtook")
        bed.publish(right, *range(2, 5))
        bed.cut(right, barrier)
        assert asking.wait() == DONE, asking
        killed(agent)
        bed.publish(right, *range(5, 5 + 2 * SLOTS))
        agent = bed.again(left, right)
        bed.publish(left, 2, 3, 4)
        bed.until_rows(agent, 4)
        summary = interrupted(agent)
    assert bed.restored(1)[0].manifest.is_unaligned
    assert bed.outputs() == [0, 2, 3, 4]
    # What came after the cut may have decided the frame that waited, and that may have been sealed.
    assert summary["restored_frames"] in (3, 4)
    # The barrier behind what was in flight; the log is joined again where the dead agent was, so more may come.
    assert summary["checkpoints"]["ignored_stale"] >= 1


@pytest.mark.long
def test_a_journal_that_is_gone_begins_a_new_epoch_and_says_so(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, 0, 1, 2)
        bed.publish(right, 0, 1)
        bed.until_rows(agent, 2)
        epoch = bed.rows()[0].journal_epoch
        bed.checkpoint(left, right)
        killed(agent)
        shutil.rmtree(bed.journal())
        agent = bed.again(left, right)
        bed.publish(right, 2)
        bed.until_rows(agent, 1)
        interrupted(agent)
    assert bed.outputs() == [2]
    assert bed.rows()[0].journal_epoch > epoch
    assert "the one that it was taken with is gone" in agent.stderr


@pytest.mark.long
def test_readers_of_a_journal_epoch_that_a_restore_began_hold_its_rows_back(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    sizes = {"max_bytes": "4MiB", "segment_bytes": "1MiB", "seal_bytes": "256KiB", "when_full": "block"}
    bed.config = bed.lockstep(journal=sizes)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        for producer in (left, right):
            bed.publish(producer, 0, 1)
        bed.until_rows(agent, 2)
        bed.checkpoint(left, right)
        killed(agent)
        for name in ("segments", "unmatched"):
            shutil.rmtree(bed.journal() / name)
        agent = bed.again(left, right)
        assert "a new journal epoch begins with it" in agent.stderr
        epoch = agent.says(event="ready")["journal_epoch"]
        reader = NamedReader.claim(bed.journal(), "slow", journal_epoch=epoch)
        large = np.zeros(4_000, np.uint8)
        for seq in range(2, 2_000):
            if "the journal is full" in agent.stderr:
                break
            for producer in (left, right):
                producer.publish(large, seq=seq)
            seen = partial(left.wait_seen, seq - SLOTS // 2, 0)
            agent.until(lambda seen=seen: seen() or "is full" in agent.stderr, f"at frame {seq}")  # type: ignore[misc]
        else:
            pytest.fail(f"nothing was held back: {agent}")
        rows = read_rows(bed.journal())
        assert rows[0].row == 0
        reader.commit(rows[-1].row + 1)
        agent.until(lambda: "room again" in agent.stderr, "going on")
        reader.release()
        interrupted(agent)


def test_a_damaged_checkpoint_is_passed_over_and_one_that_was_named_is_refused(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, 0, 1)
        bed.publish(right, 0)
        bed.until_rows(agent, 1)
        assert bed.checkpoint(left, right) == 1
        bed.publish(left, 2)
        assert bed.checkpoint(left, right) == 2
        killed(agent)
        state = bed.store / "2" / "operators" / f"join-{OUT}" / "state.bin"
        spoilt = bytearray(state.read_bytes())
        spoilt[-1] ^= 1
        state.write_bytes(spoilt)
        refused = bed.join(bed.config, "--restore", "2", is_ready=False)
        assert refused.wait() == FAILED, refused
        assert refused.objects()[-1]["code"] == 611
        missing = bed.join(bed.config, "--restore", "7", is_ready=False)
        assert missing.wait() == FAILED, missing
        assert missing.objects()[-1]["code"] == 610
        wrong = bed.join(bed.config, "--restore", "newest", is_ready=False)
        assert wrong.wait() == WRONG_USAGE, wrong
        agent = bed.again(left, right)
        bed.publish(right, 1)
        bed.until_rows(agent, 2)
        summary = interrupted(agent)
    assert bed.outputs() == [0, 1]
    assert summary["restored_from"] == 1
    assert "checkpoint 2 is passed over" in agent.stderr


def test_a_service_that_always_restores_starts_as_usual_before_the_first_checkpoint(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right = (bed.pool.producer(client, stream, pipeline=None) for stream in (10_001, 10_002))
        agent = bed.again(left, right)
        for producer in (left, right):
            bed.publish(producer, 0)
        bed.until_rows(agent, 1)
        assert restarted(interrupted(agent)) == (None, 0, {"left": 0, "right": 0})
    assert "it starts as usual" in agent.stderr


def test_frames_that_a_source_sends_again_are_known_when_it_says_that_it_goes_on(system: System, shm: Path) -> None:
    """Its new epoch is none of the output's: what was joined stays, what waited is joined, nothing comes twice."""
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, 0, 1, 2, 3)
        bed.publish(right, 0, 1)
        bed.until_rows(agent, 2)
        bed.checkpoint(left, right)
        killed(agent)
        lives = [producer.epoch or 0 for producer in (left, right)]
        for producer in (left, right):
            producer.close()
        left, right = (bed.pool.producer(client, stream, pipeline=None) for stream in (10_001, 10_002))
        for producer, life in zip((left, right), lives, strict=True):
            assert producer.epoch is not None
            assert producer.epoch > life
            mark_continued(str(producer._folder_of_ring), producer.epoch)
        agent = bed.again(left, right)
        bed.publish(left, 2, 3, 4)
        bed.publish(right, 0, 1, 2, 3, 4)
        bed.until_rows(agent, 5)
        right.end()
        left.end()
        summary = summary_of(agent)
    assert bed.outputs() == [0, 1, 2, 3, 4]
    assert {row.out_epoch for row in bed.rows()} == {1}
    assert [{row.inputs[name].epoch for row in bed.rows()} for name in ("left", "right")] == [{each} for each in lives]
    assert summary["gap"] == {"left": 0, "right": 0}
    assert summary["unmatched"] == {"left": 0, "right": 0}


def test_an_end_of_an_epoch_that_an_agent_never_knew_is_none_for_the_next_one(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    bed.config = bed.lockstep(inputs={"only": 10_001}, keys={"on_input_restart": "stop"})
    with bed.pool.client() as client:
        source = bed.pool.producer(client, 10_001, pipeline=None)
        agent = bed.join(bed.config)
        bed.pool.wait_ready(source, 1)
        source.send_between(an_end_of(source, (source.epoch or 0) - 1))
        bed.publish(source, 0, 1)
        source.end()
        assert summary_of(agent)["rows"] == 2
    assert {row.out_epoch for row in bed.rows()} == {1}


def test_a_source_that_goes_by_its_readers_is_told_that_what_it_sends_again_is_known(system: System, shm: Path) -> None:
    """It went back further than its ring is deep: it would wait for ever for frames that nobody counts."""
    bed = RestoreBed(system, shm)
    bed.config = bed.lockstep(inputs={"only": 10_001})
    with bed.pool.client() as client:
        source = bed.pool.producer(client, 10_001, pipeline=None)
        agent = bed.join(bed.config)
        bed.pool.wait_ready(source, 1)
        for seq in range(3 * SLOTS):
            bed.publish(source, seq)
            assert source.wait_seen(seq - SLOTS // 2, WATCHDOG_S)
        bed.until_rows(agent, 3 * SLOTS)
        killed(agent)
        source.close()
        source = client.producer(10_001, pipeline=None, continues=True)
        agent = bed.again(source)
        for seq in range(4 * SLOTS):
            bed.publish(source, seq)
            assert source.wait_seen(seq - SLOTS // 2, WATCHDOG_S), (seq, agent)
        bed.until_rows(agent, 4 * SLOTS)
        interrupted(agent)
    assert bed.outputs() == [*range(4 * SLOTS)]
    assert {row.out_epoch for row in bed.rows()} == {1}


def test_an_end_that_was_told_in_an_earlier_life_is_none_for_a_source_that_goes_on(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        for producer in (left, right):
            bed.publish(producer, 0, 1)
        bed.until_rows(agent, 2)
        bed.checkpoint(left, right)
        for producer in (left, right):
            bed.publish(producer, 2)
            producer.end()
        assert summary_of(agent)["rows"] == 3
        for producer in (left, right):
            producer.close()
        left, right = (bed.pool.producer(client, stream, pipeline=None) for stream in (10_001, 10_002))
        for producer in (left, right):
            mark_continued(str(producer._folder_of_ring), producer.epoch or 0)
        agent = bed.again(left, right)
        for producer in (left, right):
            bed.publish(producer, 2, 3)
            producer.end()
        assert summary_of(agent)["rows"] == 1
    assert bed.outputs() == [0, 1, 2, 3]
    assert {row.out_epoch for row in bed.rows()} == {1}


@pytest.mark.parametrize("policy", ["sequence", "timestamp"])
def test_an_end_of_an_earlier_life_is_none_without_a_checkpoint_too(system: System, shm: Path, policy: str) -> None:
    """The journal is whole, and checkpoints went on without the join: its tail is all that it goes back to."""
    bed = RestoreBed(system, shm)
    bed.config = bed.lockstep(keys={"on_input_restart": "stop"})
    if policy == "timestamp":
        inputs = "".join(
            f'[[input]]\nname = "{name}"\nstream = {stream}\noffset_ns = 0\n'
            for name, stream in (("left", 10_001), ("right", 10_002))
        )
        head = f'[join]\nout_stream = {OUT}\npolicy = "timestamp"\non_input_restart = "stop"\njournal = JOURNAL\n'
        bed.config = bed.configure(head + inputs)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        for seq in range(3):
            for producer in (left, right):
                producer.publish(np.zeros(8, np.uint8), 1_000 * seq, seq=seq)
        for producer in (left, right):
            producer.end()
        rows = summary_of(agent)["rows"]
        for producer in (left, right):
            producer.close()
        left, right = (client.producer(stream, pipeline=None, continues=True) for stream in (10_001, 10_002))
        agent = bed.again(left, right)
        for producer in (left, right):
            # Of a life in between: the log is joined again where an agent was that was killed before it read that.
            producer.send_between(an_end_of(producer, (producer.epoch or 0) - 1))
            producer.barrier(7, 1)
            producer.publish(np.zeros(8, np.uint8), 2_000, seq=2)
            producer.end()
        assert summary_of(agent)["rows"] == 0
    assert rows == len(bed.rows()) > 0
    assert {row.out_epoch for row in bed.rows()} == {1}


@pytest.mark.long
def test_a_source_that_says_nothing_begins_a_new_life(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, 0, 1, 2)
        bed.publish(right, 0, 1)
        bed.until_rows(agent, 2)
        bed.checkpoint(left, right)
        killed(agent)
        right.close()
        right = bed.pool.producer(client, 10_002, pipeline=None)
        agent = bed.again(left, right)
        bed.publish(right, 0, 3)
        bed.publish(left, 3)
        bed.until_rows(agent, 3)
        interrupted(agent)
    assert [(row.out_epoch, row.inputs["left"].seq, row.inputs["right"].seq) for row in bed.rows()][-1] == (2, 3, 3)


@pytest.mark.long
def test_without_a_coordinator_the_store_is_named(system: System, shm: Path) -> None:
    bed = RestoreBed(system, shm)
    with bed.pool.client() as client:
        left, right, agent = bed.begin(client, bed.config)
        bed.publish(left, 0, 1)
        bed.publish(right, 0)
        bed.until_rows(agent, 1)
        bed.checkpoint(left, right)
        killed(agent)
        agent = bed.again(left, right, wanted="1", words=("--checkpoints", str(bed.store)))
        bed.publish(right, 1)
        bed.until_rows(agent, 2)
        interrupted(agent)
    assert bed.outputs() == [0, 1]
    assert all(before < after for before, after in pairwise(bed.outputs()))
