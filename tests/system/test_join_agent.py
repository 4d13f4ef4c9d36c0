# SPDX-License-Identifier: Apache-2.0
"""What an agent tells: of a journal that another one holds, of inputs that it waits for, rings too shallow, no room."""

from __future__ import annotations

import json
import re
import shutil
import signal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.joinbarrier.journal.description import replace_file
from framegate.joinbarrier.journal.doorbell import bell_name
from framegate.joinbarrier.journal.readers import NamedReader
from framegate.schema.errors import FAILED
from framegate.shmpool.idle import sleep_ns

from tests.system.frame_account import accounts, sent, sent_so_far
from tests.system.join_bed import (
    LEFT,
    PAIR,
    RIGHT,
    SLOTS,
    JoinBed,
    assert_payloads_are_the_frames,
    assert_rows_go_on,
    interrupted,
    killed,
    summary_of,
    trace_free,
)
from tests.system.journal_table import is_finished, read_leftovers, read_rows, row_count
from tests.system.small_disk import fill

if TYPE_CHECKING:
    from tests.system.conftest import System


FULL_SOON = {"max_bytes": "4MiB", "segment_bytes": "1MiB", "seal_bytes": "256KiB", "when_full": "block"}


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


def test_second_agent_of_a_journal_is_refused_and_the_first_goes_on(bed: JoinBed) -> None:
    producers = [bed.counted(stream) for stream in (LEFT, RIGHT)]
    config = bed.lockstep()
    first = bed.join(config)
    second = bed.join(config, is_ready=False)
    assert second.wait() == 3, second
    told = second.objects()[-1]
    assert (told["event"], told["name"]) == ("error", "JOURNAL_BUSY")
    bed.until_rows(first, row_count(bed.journal()) + 100)
    for producer in producers:
        producer.tell("end")
    summary_of(first)


def test_an_agent_rings_no_bell_that_is_only_a_file_with_a_bells_name(bed: JoinBed) -> None:
    """The C library maps whatever has the name. A short file would end the agent at its first sealed batch."""
    for stream in (LEFT, RIGHT):
        bed.counted(stream, rate=1000)
    agent = bed.join(bed.lockstep())
    planted = Path("/dev/shm", "sem." + bell_name(bed.journal(), "slow").removeprefix("/"))  # noqa: S108
    planted.touch(0o600)
    try:
        NamedReader.claim(bed.journal(), "slow", journal_epoch=agent.says(event="ready")["journal_epoch"])
        # The agent looks for readers ten times a second: these rows are sealed long after it has found this one.
        bed.until_rows(agent, bed.until_rows(agent, 1) + 1000)
        interrupted(agent)
    finally:
        planted.unlink()


def test_rows_are_set_aside_by_an_agent_that_begins_and_not_before_it_has_found_a_driver(
    system: System, shm: Path
) -> None:
    bed = JoinBed(system, shm)
    driver = bed.start_driver()
    config = bed.lockstep(inputs={"only": LEFT})
    with bed.pool.client() as client:
        producer = bed.pool.producer(client, LEFT)
        agent = bed.join(config)
        bed.pool.wait_ready(producer, 1)
        producer.publish(np.zeros(4, np.uint8))
        bed.until_rows(agent, 1)
        interrupted(agent)
    rows = read_rows(bed.journal())
    driver.send(signal.SIGINT)
    assert driver.wait() == 0
    alone = bed.join(config, "--new-epoch", "--wait-driver", "0.1", is_ready=False)
    assert alone.wait() == 3, alone
    assert read_rows(bed.journal()) == rows
    assert not list(bed.journal().glob("old-*"))
    bed.start_driver()
    with bed.pool.client() as client:
        bed.pool.producer(client, LEFT)
        agent = bed.join(config, "--new-epoch")
        assert read_rows(bed.journal()) == []
        (aside,) = bed.journal().glob("old-*")
        assert aside.name == f"old-{rows[0].journal_epoch}"
        interrupted(agent)


def test_a_join_that_was_killed_before_its_first_row_binds_no_other_inputs(bed: JoinBed) -> None:
    with bed.pool.client() as client:
        left, right = (bed.pool.producer(client, stream) for stream in (LEFT, RIGHT))
        killed(bed.join(bed.lockstep()))
        agent = bed.join(bed.lockstep(inputs={"only": RIGHT}))
        bed.pool.wait_ready(right, 1)
        right.publish(np.zeros(4, np.uint8))
        bed.until_rows(agent, 1)
        interrupted(agent)
        again = bed.join(bed.lockstep(), is_ready=False)
        assert again.wait() != 0
        assert again.objects()[-1]["name"] == "JOURNAL_MISMATCH"
        left.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_agent_with_its_summary_and_a_finished_journal(bed: JoinBed, number: signal.Signals) -> None:
    for stream in (LEFT, RIGHT):
        bed.counted(stream)
    agent = bed.join(bed.lockstep())
    bed.until_rows(agent, 50)
    agent.send(number)
    assert summary_of(agent)["rows"] == row_count(bed.journal())
    assert is_finished(bed.journal())


def test_a_signal_ends_an_agent_that_nothing_was_sent_to(bed: JoinBed) -> None:
    agent = bed.join(bed.lockstep())
    assert interrupted(agent)["rows"] == 0
    assert read_rows(bed.journal()) == []


def test_the_summary_tells_how_long_the_agent_was_kept_from_its_inputs(system: System, bed: JoinBed) -> None:
    for stream in (LEFT, RIGHT):
        bed.counted(stream)
    agent = bed.join(bed.lockstep())
    bed.until_rows(agent, 50)
    stopped_ns = 400_000_000
    system.suspend(agent.pid)
    sleep_ns(stopped_ns)
    agent.send(signal.SIGCONT)
    bed.until_rows(agent, row_count(bed.journal()) + 50)
    summary = interrupted(agent)
    # It stands in a turn, or between two slices of turns.
    assert max(summary["longest_turn_ns"], summary["longest_absence_ns"]) >= stopped_ns


def test_an_input_that_stands_still_is_named_after_two_seconds(bed: JoinBed) -> None:
    bed.counted(LEFT, rate=100)
    bed.counted(RIGHT, rate=0.01)
    agent = bed.join(bed.lockstep())
    bed.until_rows(agent, 1)
    agent.until(lambda: "no row for" in agent.stderr, "saying that it waits")
    (line, *_) = [line for line in agent.stderr.splitlines() if "no row for" in line]
    assert "waits for right" in line
    assert "last seq 0" in line
    assert "left" not in line


def test_without_a_row_from_the_start_the_input_that_never_came_is_named(bed: JoinBed) -> None:
    bed.counted(LEFT, rate=100)
    agent = bed.join(bed.lockstep())
    agent.until(lambda: re.search(r"waits for .*right .*nothing was seen", agent.stderr), "naming right")


def test_a_ring_that_is_too_shallow_for_the_skew_is_told_with_the_size_that_helps(system: System, shm: Path) -> None:
    bed = JoinBed(system, shm, slots=16)
    bed.start_driver()
    left = bed.counted(LEFT, rate=1000, count=100)
    right = bed.counted(RIGHT, rate=50, count=100)
    agent = bed.join(bed.lockstep(keys={"pending": "ring"}))
    summary = summary_of(agent)
    assert summary["overwritten"]["left"] > 0
    found = re.search(r"left: .* its ring has 16 slots\..* give the stream (\d+) slots", agent.stderr)
    assert found is not None, agent
    assert int(found[1]) > 16
    for producer in (left, right):
        producer.tell("close")


@pytest.mark.parametrize("pending", ["auto", "copy"])
def test_frames_that_wait_in_copies_outlive_their_ring(system: System, shm: Path, pending: str) -> None:
    bed = JoinBed(system, shm, slots=64)
    bed.start_driver()
    # The ring comes round in a sixth of a second, which an agent on a busy machine may well need.
    for stream, rate in ((LEFT, 400), (RIGHT, 40)):
        bed.counted(stream, rate=rate, count=100)
    agent = bed.join(bed.lockstep(keys={"pending": pending}))
    summary = summary_of(agent)
    assert (summary["rows"], summary["overwritten"]["left"]) == (100, 0)
    assert summary["arena_full"] == 0
    assert (summary["copied_out_bytes"] > 0) == (pending == "auto")
    assert "newer frames came while one waited" not in agent.stderr
    assert_payloads_are_the_frames(bed.journal(), PAIR)


def test_what_was_not_joined_is_only_counted_where_that_was_asked_for(bed: JoinBed) -> None:
    producers = {"left": bed.counted(LEFT, count=300, gaps=0.1, seed=1), "right": bed.counted(RIGHT, count=300)}
    agent = bed.join(bed.lockstep(keys={"unmatched": "counts"}))
    summary = summary_of(agent)
    assert read_leftovers(bed.journal()) == []
    assert summary["unmatched"]["right"] > 0
    for name, producer in producers.items():
        assert summary["rows"] + summary["unmatched"][name] == len(sent(producer))


def test_a_full_journal_waits_for_its_named_reader_and_goes_on_after_its_commit(bed: JoinBed) -> None:
    sizes = {"max_bytes": "4MiB", "segment_bytes": "1MiB", "seal_bytes": "256KiB", "when_full": "block"}
    left, _right = (bed.counted(stream, rate=1000) for stream in (LEFT, RIGHT))
    agent = bed.join(bed.lockstep(keys={"pending": "ring"}, journal=sizes))
    epoch = agent.says(event="ready")["journal_epoch"]
    reader = NamedReader.claim(bed.journal(), "slow", journal_epoch=epoch)
    agent.until(lambda: "the journal is full" in agent.stderr, "full")
    words, sent = count(), len(sent_so_far(left, "full"))
    agent.until(lambda: len(sent_so_far(left, f"more{next(words)}")) > sent + 2 * SLOTS, "lapped by its inputs")
    held = read_rows(bed.journal())
    assert held[0].row == 0
    reader.commit(held[-1].row + 1)
    agent.until(lambda: "room again" in agent.stderr, "going on")
    agent.until(lambda: read_rows(bed.journal())[-1].row > held[-1].row + 100, "making rows")
    assert_rows_go_on(bed.journal())
    reader.release()
    # Of each pair the input that is ahead loses its frame first, and the other one's frame has no partner then.
    assert sum(interrupted(agent)["overwritten"].values()) > 0


@pytest.mark.parametrize("ended_by", ["streams", "user"])
def test_a_join_whose_streams_end_while_its_journal_is_full_accounts_for_every_frame(
    bed: JoinBed, ended_by: str
) -> None:
    """It waits for its reader. Told to end, it seals its last state and the fate of each frame all the same."""
    agent = bed.join(bed.lockstep(keys={"pending": "copy"}, journal=FULL_SOON))
    epoch = agent.says(event="ready")["journal_epoch"]
    reader = NamedReader.claim(bed.journal(), "slow", journal_epoch=epoch)
    producers = {"left": bed.counted(LEFT, rate=1000), "right": bed.counted(RIGHT, rate=1000)}
    agent.until(lambda: "the journal is full" in agent.stderr, "full")
    for each in producers.values():
        each.tell("end")
        each.says(event="ended")
    if ended_by == "user":
        agent.send(signal.SIGINT)
    else:
        reader.release()
    summary = summary_of(agent)
    known = accounts(bed.journal())
    for name, producer in producers.items():
        if ended_by == "streams":
            assert summary["rows"] + summary["unmatched"][name] == len(sent(producer))
        else:
            assert read_rows(bed.journal())[0].row == 0
            assert summary["rows"] + summary["unmatched"][name] == len(known[name].joined) + len(known[name].causes)
            known[name].check(sent(producer), may_pend=True)


def test_a_step_of_the_wall_clock_drops_no_row_that_a_living_reader_has_not_committed(bed: JoinBed) -> None:
    """Nobody may set this host's clock, so the reader's file says what it would say after a step."""
    for stream in (LEFT, RIGHT):
        bed.counted(stream, rate=1000)
    agent = bed.join(bed.lockstep(journal=FULL_SOON))
    epoch = agent.says(event="ready")["journal_epoch"]
    NamedReader.claim(bed.journal(), "slow", journal_epoch=epoch)
    file = bed.journal() / "readers" / "slow.json"
    replace_file(file, json.dumps(json.loads(file.read_text()) | {"seen_at_ns": 1}).encode(), is_durable=False)
    agent.until(lambda: "the journal is full" in agent.stderr, "full")
    assert read_rows(bed.journal())[0].row == 0
    interrupted(agent)


def test_a_journal_that_is_deleted_while_it_is_written_ends_its_join_and_not_the_next_one_there(bed: JoinBed) -> None:
    for stream in (LEFT, RIGHT):
        bed.counted(stream, rate=1000)
    config = bed.lockstep()
    first = bed.join(config)
    bed.until_rows(first, 100)
    shutil.rmtree(bed.journal())
    second = bed.join(config)
    assert first.wait() == FAILED, first
    summary, error = first.objects()[-2:]
    assert (summary["event"], error["name"]) == ("summary", "JOURNAL_FAILED")
    assert str(bed.journal()) in error["message"]
    bed.until_rows(second, 100)
    interrupted(second)
    assert_rows_go_on(bed.journal())


def test_a_journal_whose_lock_is_deleted_is_still_held(bed: JoinBed) -> None:
    for stream in (LEFT, RIGHT):
        bed.counted(stream)
    config = bed.lockstep()
    first = bed.join(config)
    bed.until_rows(first, 100)
    for name in ("journal.lock", "journal.json"):
        (bed.journal() / name).unlink()
    second = bed.join(config, is_ready=False)
    assert second.wait() == 3, second
    assert second.objects()[-1]["name"] == "JOURNAL_BUSY"
    bed.until_rows(first, row_count(bed.journal()) + 100)
    interrupted(first)
    assert_rows_go_on(bed.journal())


def test_rows_dropped_for_want_of_room_below_the_journals_bound_are_told_and_counted(
    small_disk: Path, bed: JoinBed
) -> None:
    bed.folder = small_disk
    for stream in (LEFT, RIGHT):
        bed.counted(stream, rate=1000)
    sizes = {"max_bytes": "64MiB", "segment_bytes": "1MiB", "seal_bytes": "256KiB"}
    agent = bed.join(bed.lockstep(journal=sizes))
    bed.until_rows(agent, 1)
    agent.until(lambda: "rows were dropped although" in agent.stderr, "telling")
    assert "max_bytes = 67108864" in agent.stderr
    summary = interrupted(agent)
    assert summary["journal"]["rows_dropped_early"] == read_rows(bed.journal())[0].row > 0
    assert_rows_go_on(bed.journal())


def test_a_full_file_system_is_told_and_the_join_goes_on_when_there_is_room(small_disk: Path, bed: JoinBed) -> None:
    bed.folder = small_disk
    for stream in (LEFT, RIGHT):
        bed.counted(stream, rate=1000)
    sizes = {"max_bytes": "64MiB", "segment_bytes": "1MiB", "seal_bytes": "256KiB", "when_full": "block"}
    agent = bed.join(bed.lockstep(journal=sizes))
    reader = NamedReader.claim(bed.journal(), "slow", journal_epoch=agent.says(event="ready")["journal_epoch"])
    bed.until_rows(agent, 1)
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        fill(ballast)
    agent.until(lambda: "the file system has no room" in agent.stderr, "out of room")
    held = read_rows(bed.journal())[-1].row
    ballast.unlink()
    agent.until(lambda: "room again" in agent.stderr, "going on")
    agent.until(lambda: read_rows(bed.journal())[-1].row > held + 1000, "making rows")
    reader.release()
    interrupted(agent)
    assert_rows_go_on(bed.journal())
    assert read_rows(bed.journal())[0].row == 0


def test_a_journal_that_drops_the_oldest_keeps_the_newest_rows_within_its_bytes(bed: JoinBed) -> None:
    sizes = {"max_bytes": "4MiB", "segment_bytes": "1MiB", "seal_bytes": "256KiB"}
    for stream in (LEFT, RIGHT):
        bed.counted(stream, rate=1000)
    agent = bed.join(bed.lockstep(journal=sizes))
    agent.until(lambda: (rows := read_rows(bed.journal())) and rows[0].row > 0, "dropping rows")
    interrupted(agent)
    assert_rows_go_on(bed.journal())
    kept = sum(path.stat().st_blocks * 512 for path in (bed.journal() / "segments").glob("*-*"))
    assert kept <= 4 << 20


def test_drivers_killed_and_started_again_the_join_goes_on_in_a_new_epoch(system: System, shm: Path) -> None:
    bed = JoinBed(system, shm)
    driver = bed.start_driver()
    (media_pid,) = driver.children()
    producers = [bed.counted(stream) for stream in (LEFT, RIGHT)]
    agent = bed.join(bed.lockstep())
    bed.until_rows(agent, 100)
    killed(driver)
    system.until_ended(media_pid)
    before = read_rows(bed.journal())
    bed.start_driver()
    agent.until(lambda: read_rows(bed.journal())[-1].out_epoch > before[-1].out_epoch, "in a new epoch")
    bed.until_rows(agent, row_count(bed.journal()) + 100)
    for producer in producers:
        producer.tell("end")
    summary_of(agent)
    assert_rows_go_on(bed.journal())


def test_nothing_but_the_journal_is_left_when_all_have_ended(system: System, shm: Path) -> None:
    bed = JoinBed(system, shm)
    driver = bed.start_driver()
    producers = [bed.counted(stream, count=50) for stream in (LEFT, RIGHT)]
    assert summary_of(bed.join(bed.lockstep()))["rows"] == 50
    for producer in producers:
        producer.tell("close")
        assert producer.wait() == 0, producer
    driver.send(signal.SIGTERM)
    assert driver.wait() == 0, driver
    assert trace_free(bed)
