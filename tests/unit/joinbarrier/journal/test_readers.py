# SPDX-License-Identifier: Apache-2.0
"""Named readers: who holds a name, what is committed, and what the writer keeps for them."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from framegate.joinbarrier.journal.description import JournalDescription, write_description
from framegate.joinbarrier.journal.readers import NamedReader, readers, surveyed
from framegate.schema.errors import JournalDamaged, ReaderFenced, ReaderNameRefused
from framegate.shmpool.clock import ManualClock, monotonic_ns, realtime_ns

import framegate as fg
from tests.unit.joinbarrier.journal.journal_world import EPOCH, fill, segments_of, writer

SECOND = 1_000_000_000
LEASE_S = 60


@pytest.fixture
def clock(folder: Path) -> ManualClock:
    write_description(folder, JournalDescription(out_stream=1, journal_epoch=EPOCH, inputs=(), reader_lease_s=LEASE_S))
    return ManualClock(1_000 * SECOND)


def claim(folder: Path, name: str, clock: ManualClock, *, first_row: int = 0, epoch: int = EPOCH) -> NamedReader:
    return NamedReader.claim(folder, name, journal_epoch=epoch, first_row=first_row, clock=clock)


def test_a_new_name_holds_from_its_first_row(folder: Path, clock: ManualClock) -> None:
    claim(folder, "spark", clock, first_row=7)
    assert surveyed(folder, clock()).floor == 7


def test_a_name_goes_on_where_it_committed(folder: Path, clock: ManualClock) -> None:
    claim(folder, "spark", clock).commit(12)
    assert claim(folder, "spark", clock, first_row=3).committed_row == 12


def test_a_committed_row_never_goes_back(folder: Path, clock: ManualClock) -> None:
    reader = claim(folder, "spark", clock)
    reader.commit(12)
    reader.commit(5)
    assert reader.committed_row == 12
    assert surveyed(folder, clock()).floor == 12


def test_the_smallest_committed_row_of_the_living_is_the_floor(folder: Path, clock: ManualClock) -> None:
    claim(folder, "a", clock).commit(30)
    claim(folder, "b", clock).commit(20)
    assert surveyed(folder, clock()).floor == 20
    assert surveyed(folder, clock()).living == ["a", "b"]


def test_without_a_reader_there_is_no_floor(folder: Path, clock: ManualClock) -> None:
    assert surveyed(folder, clock()).floor is None


def test_a_reader_silent_past_its_lease_holds_nothing(folder: Path, clock: ManualClock) -> None:
    claim(folder, "a", clock).commit(30)
    clock.advance(LEASE_S * SECOND)
    assert surveyed(folder, clock()).floor == 30
    clock.advance(1)
    assert surveyed(folder, clock()).floor is None
    assert surveyed(folder, clock()).expired == ["a"]


def test_a_commit_renews_the_lease(folder: Path, clock: ManualClock) -> None:
    reader = claim(folder, "a", clock)
    clock.advance(LEASE_S * SECOND)
    reader.commit(0)
    clock.advance(LEASE_S * SECOND)
    assert surveyed(folder, clock()).living == ["a"]


def test_a_clock_that_was_set_back_makes_nobody_immortal(folder: Path, clock: ManualClock) -> None:
    claim(folder, "a", clock)
    clock.advance(-(LEASE_S * SECOND + 1))
    assert surveyed(folder, clock()).floor is None


def edited(folder: Path, name: str, **values: object) -> None:
    path = folder / "readers" / f"{name}.json"
    path.write_text(
        json.dumps(
            {key: value for key, value in {**json.loads(path.read_text()), **values}.items() if value is not None}
        )
    )


@pytest.mark.parametrize("step_s", [600, -600])
def test_a_step_of_the_wall_clock_ends_no_lease(folder: Path, clock: ManualClock, step_s: int) -> None:
    claim(folder, "a", clock).commit(30)
    edited(folder, "a", seen_at_ns=realtime_ns() - step_s * SECOND)
    assert surveyed(folder, clock()).floor == 30


@pytest.mark.parametrize("of_another_run", [{"boot_id": "another"}, {"boot_id": None, "seen_monotonic_ns": None}])
def test_a_lease_of_another_run_of_the_host_goes_by_the_wall_clock(
    folder: Path, clock: ManualClock, of_another_run: dict[str, str | None]
) -> None:
    claim(folder, "a", clock).commit(30)
    edited(folder, "a", **of_another_run)
    assert surveyed(folder, monotonic_ns()).floor == 30
    edited(folder, "a", seen_at_ns=realtime_ns() - (LEASE_S + 1) * SECOND)
    assert surveyed(folder, monotonic_ns()).floor is None


def test_a_later_claim_fences_the_earlier(folder: Path, clock: ManualClock) -> None:
    earlier = claim(folder, "spark", clock)
    later = claim(folder, "spark", clock)
    with pytest.raises(ReaderFenced) as caught:
        earlier.commit(5)
    assert caught.value.facts["reader"] == "spark"
    later.commit(4)
    assert surveyed(folder, clock()).floor == 4


def test_who_was_fenced_does_not_come_back_when_the_name_was_given_up_and_taken_again(
    folder: Path, clock: ManualClock
) -> None:
    earlier = claim(folder, "spark", clock)
    clock.advance(1)
    claim(folder, "spark", clock).release()
    clock.advance(1)
    claim(folder, "spark", clock)
    with pytest.raises(ReaderFenced):
        earlier.commit(5)


def test_who_was_fenced_cannot_release_the_name(folder: Path, clock: ManualClock) -> None:
    earlier = claim(folder, "spark", clock)
    claim(folder, "spark", clock)
    earlier.release()
    assert surveyed(folder, clock()).living == ["spark"]


def test_a_released_name_holds_nothing_and_its_holder_is_told(folder: Path, clock: ManualClock) -> None:
    reader = claim(folder, "spark", clock)
    reader.release()
    assert readers(folder) == []
    with pytest.raises(ReaderFenced, match="given up"):
        reader.commit(1)


def test_a_reader_of_an_older_journal_epoch_begins_again(folder: Path, clock: ManualClock) -> None:
    claim(folder, "spark", clock, epoch=EPOCH - 1).commit(500)
    assert surveyed(folder, clock()).floor is None
    reader = claim(folder, "spark", clock, first_row=2)
    assert (reader.committed_row, reader.is_new) == (2, True)


@pytest.mark.parametrize("name", ["", "a/b", "a b", "ä", "x" * 65, "a\n", "../a"])
def test_a_name_outside_the_grammar_is_refused(folder: Path, clock: ManualClock, name: str) -> None:
    with pytest.raises(ReaderNameRefused):
        claim(folder, name, clock)
    assert not (folder / "readers").exists()


@pytest.mark.parametrize("name", ["a", "A-1_b.c", ".", "..", "x" * 64])
def test_a_name_inside_the_grammar_is_taken(folder: Path, clock: ManualClock, name: str) -> None:
    claim(folder, name, clock)
    assert surveyed(folder, clock()).living == [name]
    assert [path.name for path in (folder / "readers").iterdir()] == [f"{name}.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"reader": "bad"}', '{"reader": "other", "claim": 1}', "\0" * 5000])
def test_a_damaged_file_holds_nothing_and_cannot_be_claimed(folder: Path, clock: ManualClock, text: str) -> None:
    claim(folder, "good", clock, first_row=9)
    (folder / "readers" / "bad.json").write_text(text)
    assert surveyed(folder, clock()).floor == 9
    with pytest.raises(JournalDamaged):
        claim(folder, "bad", clock)


def test_a_link_in_place_of_a_readers_file_is_not_followed(folder: Path, clock: ManualClock) -> None:
    claim(folder, "good", clock, first_row=9)
    (folder / "readers" / "bad.json").symlink_to(folder / "readers" / "good.json")
    assert surveyed(folder, clock()).living == ["good"]


def _claim_and_commit(folder: Path, rounds: int) -> None:
    for row in range(rounds):
        reader = NamedReader.claim(folder, "shared", journal_epoch=EPOCH)
        try:
            reader.commit(row)
        except ReaderFenced:
            continue


def test_claims_of_two_processes_at_once_leave_one_whole_file(folder: Path, clock: ManualClock) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_claim_and_commit, args=(folder, 200)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    found = json.loads((folder / "readers" / "shared.json").read_text())
    assert found["committed_row"] == 199
    assert [path.name for path in (folder / "readers").iterdir()] == ["shared.json"]


# --- reading under a name ----------------------------------------------------------------------------------


def committed(folder: Path) -> int:
    (state,) = readers(folder)
    return state.committed_row


def test_rows_are_committed_as_their_batches_end(folder: Path) -> None:
    segments_of(folder, [3, 2])
    reading = fg.journal(folder).rows("spark")
    assert [next(reading)["row"] for _ in range(3)] == [0, 1, 2]
    assert committed(folder) == 0
    assert next(reading)["row"] == 3
    assert committed(folder) == 3


def test_what_was_handed_out_last_before_a_break_comes_again(folder: Path) -> None:
    segments_of(folder, [3, 2])
    with fg.journal(folder).rows("spark") as reading:
        for row in reading:
            if row["row"] == 1:
                break
    assert committed(folder) == 1
    assert [row["row"] for row in fg.journal(folder).rows("spark")] == [1, 2, 3, 4]
    assert committed(folder) == 5
    assert list(fg.journal(folder).rows("spark")) == []


def test_reading_on_under_a_name_that_was_taken_away_ends_with_an_error(folder: Path) -> None:
    segments_of(folder, [2, 2])
    earlier = fg.journal(folder).rows("spark")
    next(earlier)
    later = fg.journal(folder).rows("spark")
    assert next(later)["row"] == 0
    next(earlier)
    with pytest.raises(ReaderFenced):
        next(earlier)


def test_a_new_reader_begins_with_the_oldest_row_or_where_it_is_told(folder: Path) -> None:
    segments_of(folder, [2, 2]).drop_oldest()
    journal = fg.journal(folder)
    assert [row["row"] for row in journal.rows("a")] == [2, 3]
    assert [row["row"] for row in journal.rows("b", start=3)] == [3]


def test_a_name_taken_away_by_hand_holds_nothing_any_more(folder: Path) -> None:
    fill(writer(folder), 2)
    journal = fg.journal(folder)
    list(journal.rows("spark"))
    journal.release("spark")
    assert readers(folder) == []
