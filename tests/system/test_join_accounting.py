# SPDX-License-Identifier: Apache-2.0
"""Joins by real processes that are killed and come back: every frame sent is joined, or says why not."""

from __future__ import annotations

import signal
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.frame_account import UNHEARD, accounts, sent
from tests.system.join_bed import (
    LEFT,
    RIGHT,
    SLOTS,
    JoinBed,
    assert_payloads_are_the_frames,
    assert_rows_go_on,
    interrupted,
    killed,
    summary_of,
)
from tests.system.journal_table import is_finished, read_leftovers, read_rows

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

UNMATCHED_AT_ONCE = 4096
REPORTS = count(1)
STREAMS = {"left": LEFT, "right": RIGHT}


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


def both(bed: JoinBed, **options: object) -> list[Program]:
    return [bed.counted(stream, seed=stream, **options) for stream in STREAMS.values()]


def has_lapped(program: Program) -> bool:
    """Whether it has sent more frames than its ring holds."""
    word = f"report {next(REPORTS)}"
    program.tell(word)
    ranges: dict[str, list[list[int]]] = program.says(event="report", word=word)["ranges"]
    return sum(last - first + 1 for each in ranges.values() for first, last in each) > SLOTS


def ended(program: Program) -> None:
    program.tell("end")
    program.says(event="ended")


def check_accounts(journal: Path, producers: list[Program]) -> dict[str, Any]:
    found = accounts(journal)
    for name, producer in zip(STREAMS, producers, strict=True):
        found[name].check(sent(producer))
    return found


def test_two_inputs_with_gaps_every_frame_is_joined_or_says_why_not(bed: JoinBed) -> None:
    producers = both(bed, gaps=0.02, count=1000)
    agent = bed.join(bed.lockstep())
    summary = summary_of(agent)
    assert_rows_go_on(bed.journal())
    assert_payloads_are_the_frames(bed.journal(), STREAMS)
    found = check_accounts(bed.journal(), producers)
    for name in STREAMS:
        assert len(found[name].joined) == summary["rows"] > 500
        assert found[name].counts()["no_partner"] > 0
        assert sum(found[name].counts().values()) == summary["unmatched"][name]
        assert UNHEARD not in found[name].counts()
    assert is_finished(bed.journal())


def test_three_inputs_with_gaps_every_frame_is_joined_or_says_why_not(bed: JoinBed) -> None:
    streams = {**STREAMS, "third": 10_003}
    producers = {name: bed.counted(stream, seed=stream, gaps=0.02, count=500) for name, stream in streams.items()}
    summary = summary_of(bed.join(bed.lockstep(inputs=streams)))
    assert_payloads_are_the_frames(bed.journal(), streams)
    found = accounts(bed.journal())
    for name, producer in producers.items():
        found[name].check(sent(producer))
        assert len(found[name].joined) == summary["rows"] > 200


def test_agent_killed_and_started_again_loses_nothing_in_silence_and_its_rows_go_on(bed: JoinBed) -> None:
    producers = both(bed, gaps=0.02)
    config = bed.lockstep()
    # With a row that is not sealed yet: its frames were heard, and no log brings them again.
    first = bed.join(config, is_ready=False, FRAMEGATE_FAULT="row.committed:300")
    assert first.wait() == -signal.SIGKILL, first
    before = read_rows(bed.journal())
    second = bed.join(config)
    assert second.says(event="ready")["next_row"] == len(before) > 0
    bed.until_rows(second, len(before) + 300)
    for producer in producers:
        ended(producer)
    summary = summary_of(second)
    after = read_rows(bed.journal())
    assert after[: len(before)] == before
    assert after[len(before)].out_seq > before[-1].out_seq
    assert_rows_go_on(bed.journal())
    assert_payloads_are_the_frames(bed.journal(), STREAMS)
    found = check_accounts(bed.journal(), producers)
    # What passed meanwhile lies in the rings, or is written down where they have come round.
    for name in STREAMS:
        assert summary["recovered"][name] + found[name].counts()["agent_down"] > 0, summary


def test_killed_after_a_seal_of_more_unmatched_frames_than_wait_at_once_none_is_forgotten(bed: JoinBed) -> None:
    # Even numbers here and odd ones there: nothing joins, and each frame is an entry of its own.
    producers = [bed.counted(stream, rate=20_000, first=first, step=2) for first, stream in enumerate(STREAMS.values())]
    config = bed.lockstep()
    first = bed.join(config, FRAMEGATE_FAULT="seal.head:2", is_ready=False)
    assert first.wait() == -signal.SIGKILL, first
    sealed = read_leftovers(bed.journal())
    assert len(sealed) > UNMATCHED_AT_ONCE
    second = bed.join(config)
    second.until(lambda: len(read_leftovers(bed.journal())) > 2 * len(sealed), "going on")
    for producer in producers:
        ended(producer)
    summary_of(second)
    check_accounts(bed.journal(), producers)


def test_agent_down_while_the_ends_passed_ends_by_the_mark(bed: JoinBed) -> None:
    producers = both(bed)
    config = bed.lockstep()
    agent = bed.join(config)
    bed.until_rows(agent, 100)
    killed(agent)
    for producer in producers:
        ended(producer)
    again = bed.join(config)
    summary_of(again)
    assert is_finished(bed.journal())
    check_accounts(bed.journal(), producers)


def test_producer_that_comes_back_opens_a_new_epoch_of_the_output(bed: JoinBed) -> None:
    # Slowly: what the left one sends meanwhile waits in its ring until the right one is there again.
    left, right = both(bed, rate=100)
    agent = bed.join(bed.lockstep())
    bed.until_rows(agent, 100)
    lost = sent(right)
    comes_back = bed.counted(RIGHT, rate=100, seed=3)
    count = len(read_rows(bed.journal()))
    bed.until_rows(agent, count + 100)
    for producer in (left, comes_back):
        ended(producer)
    summary_of(agent)
    found_again = sent(comes_back)
    rows = read_rows(bed.journal())
    epochs = sorted({row.out_epoch for row in rows})
    assert len(epochs) == 2
    assert {row.inputs["right"].epoch for row in rows if row.out_epoch == epochs[1]} == {
        epoch for epoch, _ in found_again
    }
    assert_rows_go_on(bed.journal())
    found = accounts(bed.journal())
    found["left"].check(sent(left))
    found["right"].check(lost | found_again)


def test_input_that_ends_early_leaves_the_other_without_partners_and_the_join_ends(bed: JoinBed) -> None:
    left, right = bed.counted(LEFT, count=300), bed.counted(RIGHT, count=100)
    summary = summary_of(bed.join(bed.lockstep()))
    assert summary["rows"] == 100
    assert [row.seqs("left", "right") for row in read_rows(bed.journal())] == [(seq, seq) for seq in range(100)]
    found = check_accounts(bed.journal(), [left, right])
    assert set(found["left"].causes) == {(frame[0], seq) for frame in found["left"].joined for seq in range(100, 300)}
    assert is_finished(bed.journal())


def test_inputs_that_begin_at_a_million_are_joined_from_there(bed: JoinBed) -> None:
    first = 1_000_000
    producers = both(bed, first=first, count=50)
    summary_of(bed.join(bed.lockstep()))
    assert [row.out_seq for row in read_rows(bed.journal())] == list(range(first, first + 50))
    check_accounts(bed.journal(), producers)


def test_agent_that_comes_late_begins_where_both_inputs_are(bed: JoinBed) -> None:
    for producer in both(bed, consumers=0, rate=1000):
        producer.says(event="began")
        # A subscriber may hear a little of what was said before it came: a frame that no ring holds is in no row.
        bed.system.until(partial(has_lapped, producer), "the first frames overwritten")
    agent = bed.join(bed.lockstep())
    bed.until_rows(agent, 100)
    interrupted(agent)
    rows = read_rows(bed.journal())
    assert rows[0].out_seq > 0
    assert [row.out_seq for row in rows] == list(range(rows[0].out_seq, rows[0].out_seq + len(rows)))
    assert {each.cause for each in read_leftovers(bed.journal())} <= {"before_first", "overwritten", "pending_at_end"}


def test_outputs_are_as_many_as_asked_for(bed: JoinBed) -> None:
    both(bed)
    summary = summary_of(bed.join(bed.lockstep(), "--outputs", "37"))
    assert summary["rows"] == 37
    assert [row.row for row in read_rows(bed.journal())] == list(range(37))
    assert is_finished(bed.journal())


def test_outputs_are_counted_anew_by_the_next_agent(bed: JoinBed) -> None:
    both(bed)
    config = bed.lockstep()
    for _ in range(2):
        assert summary_of(bed.join(config, "--outputs", "10"))["rows"] == 10
    assert [row.row for row in read_rows(bed.journal())] == list(range(20))
    assert_rows_go_on(bed.journal())


def test_the_summary_has_the_promised_members(bed: JoinBed) -> None:
    both(bed, count=20)
    summary = summary_of(bed.join(bed.lockstep()))
    assert {"rows", "ticks_not_ready", "absent", "overwritten", "unmatched", "bytes", "seconds"} <= set(summary)
    assert set(summary["absent"]) == set(summary["overwritten"]) == set(summary["unmatched"]) == set(STREAMS)
    assert summary["bytes"] == 20 * 2 * 512
