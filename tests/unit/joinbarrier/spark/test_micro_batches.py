# SPDX-License-Identifier: Apache-2.0
"""The driver's side of a streaming query over real journals, without Spark."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.journal.layout import HEAD, HeadWord, segment_names
from framegate.joinbarrier.journal.readers import NamedReader, readers, surveyed
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.micro_batches import RELEASE_AFTER_NS, MicroBatches
from framegate.joinbarrier.tables.extents import Limit
from framegate.joinbarrier.tables.offsets import Position
from framegate.schema.errors import (
    DataLoss,
    JournalMissing,
    JournalRecreated,
    JournalsDiffer,
    ReaderFenced,
    WrongOffset,
    WrongOption,
)
from framegate.shmpool.clock import Clock, ManualClock, monotonic_ns
from framegate.shmpool.idle import sleep_ns

from tests.unit.joinbarrier.journal.journal_world import EPOCH, fill, segments_of, writer

ALL = Limit()


@contextmanager
def opened(*paths: Path, clock: Clock = monotonic_ns, **options: str) -> Iterator[MicroBatches]:
    given = {"path": ",".join(map(str, paths)), "startingOffsets": "earliest", **options}
    made = MicroBatches(SourceOptions.parse(given), cores=2, clock=clock)
    try:
        yield made
    finally:
        made.stop()


def at(path: Path, row: int, epoch: int = EPOCH) -> dict[str, Position]:
    return {str(path): Position(epoch, row)}


def begun(batches: MicroBatches) -> dict[str, Position]:
    """The start of a new query, behind its first micro-batch, which is empty."""
    start = batches.initial()
    assert batches.latest(start, ALL) == start
    assert batches.ranges(start, start) == []
    return start


def rows_of(batches: MicroBatches, start: Any, end: Any) -> list[int]:
    return [row for each in batches.ranges(start, end) for row in range(each.first_row, each.end_row)]


def committed(folder: Path) -> int:
    (state,) = readers(folder)
    return state.committed_row


# --- beginning ---------------------------------------------------------------------------------------------


BEGINNINGS = {"earliest": 5, "latest": 15, "9": 9, f'{{"epoch":{EPOCH},"row":8}}': 8}


@pytest.mark.parametrize(("start", "row"), BEGINNINGS.items())
def test_a_query_begins_where_it_is_told(folder: Path, start: str, row: int) -> None:
    segments_of(folder, [5, 7, 3]).drop_oldest()
    with opened(folder, startingOffsets=start) as batches:
        assert batches.initial() == at(folder, row)


def test_without_being_told_a_stream_begins_with_what_comes(folder: Path) -> None:
    segments_of(folder, [5])
    options = SourceOptions.parse({"path": str(folder)})
    assert MicroBatches(options, cores=1).initial() == at(folder, 5)


def test_a_start_that_is_gone_is_data_loss_or_the_oldest_row(folder: Path) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    with opened(folder, startingOffsets="3") as batches, pytest.raises(DataLoss) as caught:
        batches.initial()
    assert (caught.value.facts["first_row"], caught.value.facts["last_row"]) == (3, 4)
    with opened(folder, startingOffsets="3", failOnDataLoss="false") as batches:
        assert batches.initial() == at(folder, 5)


def test_a_start_that_is_not_there_yet_is_refused(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder, startingOffsets="6") as batches, pytest.raises(WrongOffset, match="want=6 have=5"):
        batches.initial()


def test_a_start_of_another_life_of_the_journal_is_an_error(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder, startingOffsets=f'{{"epoch":{EPOCH - 1},"row":3}}') as batches, pytest.raises(JournalRecreated):
        batches.initial()


def test_a_directory_without_a_journal_is_named(folder: Path) -> None:
    with pytest.raises(JournalMissing, match=str(folder)), opened(folder):
        pass


def test_journals_with_other_inputs_are_not_read_together(folder: Path) -> None:
    one, two = folder / "one", folder / "two"
    for path in (one, two):
        path.mkdir()
        segments_of(path, [1])
    text = (two / "journal.json").read_text()
    (two / "journal.json").write_text(text.replace('"right"', '"centre"'))
    with pytest.raises(JournalsDiffer, match="left,centre"), opened(one, two):
        pass


def test_a_journal_under_two_names_is_refused_before_its_rows_come_twice(folder: Path) -> None:
    journal, link = folder / "journal", folder / "link"
    journal.mkdir()
    segments_of(journal, [1])
    link.symlink_to(journal)
    with pytest.raises(WrongOption, match="twice") as caught, opened(journal, link):
        pass
    assert caught.value.facts == {"option": "path", "have": str(link), "other": str(journal), "place": str(link)}


def test_the_start_stays_what_it_was_however_the_journal_goes_on(folder: Path) -> None:
    """Spark asks for it again when it runs the first micro-batch."""
    made = segments_of(folder, [5, 7])
    for start in ("earliest", "latest"):
        with opened(folder, startingOffsets=start) as batches:
            first = batches.initial()
            fill(made, 3)
            made.finish_segment()
            made.drop_oldest()
            assert batches.initial() == first


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_query_that_ends_in_its_first_micro_batch_begins_where_it_had_begun(folder: Path, start: str) -> None:
    """Spark has logged the end of the empty batch; today's words for the start mean other rows."""
    made = segments_of(folder, [5, 7])
    with opened(folder, startingOffsets=start) as batches:
        first = batches.initial()
        logged = batches.latest(first, ALL)
    fill(made, 3)
    if start == "earliest":
        first = logged = at(folder, 5)
        made.drop_oldest()
    with opened(folder, startingOffsets=start) as batches:
        assert batches.ranges(batches.initial(), logged) == []
        end = batches.latest(logged, ALL)
        assert rows_of(batches, logged, end) == list(range(logged[str(folder)].row, 15))


def test_a_micro_batch_that_ends_before_it_begins_is_an_error(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder) as batches, pytest.raises(WrongOffset, match="start=4 end=2"):
        batches.ranges(at(folder, 4), at(folder, 2))


# --- how far a micro-batch goes ------------------------------------------------------------------------------


def test_a_micro_batch_ends_behind_what_is_sealed(folder: Path) -> None:
    made = writer(folder)
    fill(made, 5)
    with opened(folder) as batches:
        assert batches.latest(at(folder, 0), ALL) == at(folder, 5)
        assert batches.latest(at(folder, 5), ALL) == at(folder, 5)
        fill(made, 3)
        assert batches.latest(at(folder, 5), ALL) == batches.newest() == at(folder, 8)


@pytest.mark.parametrize(("limit", "row"), [(Limit(rows_max=4), 4), (Limit(rows_max=6), 6), (Limit(bytes_max=1), 1)])
def test_limits_may_end_it_inside_a_sealed_batch_and_one_row_always_passes(
    folder: Path, limit: Limit, row: int
) -> None:
    segments_of(folder, [5, 7])
    with opened(folder) as batches:
        assert batches.latest(at(folder, 0), limit) == at(folder, row)


def test_a_query_passes_its_whole_backlog_within_its_limits(folder: Path) -> None:
    segments_of(folder, [5, 7, 3])
    with opened(folder) as batches:
        seen, start = list[int](), begun(batches)
        while (end := batches.latest(start, Limit(rows_max=4))) != start:
            part = rows_of(batches, start, end)
            assert 1 <= len(part) <= 4
            batches.commit(end)
            seen, start = seen + part, end
    assert seen == list(range(15))


def test_what_is_sealed_after_the_freeze_is_not_read(folder: Path) -> None:
    made = segments_of(folder, [5])
    with opened(folder) as batches:
        batches.freeze()
        fill(made, 3)
        assert batches.latest(at(folder, 0), Limit(rows_max=3)) == at(folder, 3)
        assert batches.latest(at(folder, 3), ALL) == at(folder, 5)
        assert batches.latest(at(folder, 5), ALL) == at(folder, 5)


def test_journals_share_the_limit_and_leave_what_they_do_not_need(folder: Path) -> None:
    paths = [folder / name for name in ("a", "b")]
    for path, rows in zip(paths, ([2], [30]), strict=True):
        path.mkdir()
        segments_of(path, rows)
    with opened(*paths) as batches:
        start = begun(batches)
        assert batches.latest(start, Limit(rows_max=10)) == at(paths[0], 2) | at(paths[1], 8)
        assert len(rows_of(batches, start, batches.latest(start, Limit(rows_max=1)))) == 1
        assert len(rows_of(batches, start, batches.latest(start, ALL))) == 32


def test_journals_that_all_have_much_get_the_same_share(folder: Path) -> None:
    paths = [folder / name for name in ("a", "b")]
    for path in paths:
        path.mkdir()
        segments_of(path, [30])
    with opened(*paths) as batches:
        assert batches.latest(begun(batches), Limit(rows_max=10)) == at(paths[0], 5) | at(paths[1], 5)


def test_a_head_that_lies_behind_is_no_way_back(folder: Path) -> None:
    made = segments_of(folder, [5])
    with opened(folder) as batches:
        assert batches.latest(at(folder, 5), ALL) == at(folder, 5)
        made._set(HeadWord.NEXT_ROW, 2)
        assert batches.latest(at(folder, 5), ALL) == at(folder, 5)


@pytest.mark.parametrize("sealed", [{7, 8}, {8}, {0, 7, 8}])
def test_a_micro_batch_never_crosses_a_barrier(folder: Path, sealed: set[int]) -> None:
    """Wherever barriers lie: inside a sealed batch, two of them in one, or at the end of one."""
    made = writer(folder)
    for checkpoint, rows in ((0, 4), (7, 3), (8, 2)):
        for _ in range(rows):
            made.append({"left": "stale", "right": "stale"}, checkpoint_id=checkpoint)
        if checkpoint in sealed:
            made.seal()
    with opened(folder, alignToCheckpoints="true") as batches:
        ends, start = [], begun(batches)
        while (end := batches.latest(start, ALL)) != start:
            ends.append(end[str(folder)].row)
            start = end
    assert ends == [4, 7, 9]


def test_without_a_head_the_segments_say_what_is_sealed(folder: Path) -> None:
    segments_of(folder, [5, 7])
    (folder / HEAD).unlink()
    with opened(folder) as batches:
        assert batches.newest() == at(folder, 12)


# --- the same rows, or an error --------------------------------------------------------------------------------


def test_the_same_offsets_give_the_same_rows_to_another_process_and_later(folder: Path) -> None:
    made = segments_of(folder, [5, 7])
    with opened(folder) as batches:
        before = rows_of(batches, at(folder, 2), at(folder, 11))
    fill(made, 20)
    with opened(folder, minPartitions="5") as batches:
        assert rows_of(batches, at(folder, 2), at(folder, 11)) == before == list(range(2, 11))


def test_an_empty_range_has_no_tasks(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder) as batches:
        assert batches.ranges(at(folder, 3), at(folder, 3)) == []


def test_at_least_as_many_tasks_as_wanted(folder: Path) -> None:
    segments_of(folder, [5, 7])
    with opened(folder, minPartitions="4") as batches:
        found = batches.ranges(at(folder, 0), at(folder, 12))
        assert [(each.first_row, each.end_row) for each in found] == [(0, 3), (3, 6), (6, 9), (9, 12)]


def test_rows_that_are_gone_are_an_error_with_their_range(folder: Path) -> None:
    made = segments_of(folder, [5, 7])
    with opened(folder) as batches:
        made.drop_oldest()
        with pytest.raises(DataLoss) as caught:
            batches.ranges(at(folder, 2), at(folder, 9))
        assert (caught.value.facts["first_row"], caught.value.facts["last_row"]) == (2, 4)


def test_rows_that_are_gone_may_be_passed_over_and_are_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    with opened(folder, failOnDataLoss="false") as batches, caplog.at_level(logging.WARNING):
        end = batches.latest(at(folder, 2), Limit(rows_max=4))
        assert end == at(folder, 9)
        assert rows_of(batches, at(folder, 2), end) == [5, 6, 7, 8]
    assert f"{folder}: 3 rows of 2 to 8 are gone" in caplog.text


def test_a_journal_that_lost_its_end_is_an_error(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder) as batches, pytest.raises(WrongOffset, match="want=9 have=5"):
        batches.ranges(at(folder, 0), at(folder, 9))


def test_a_journal_that_began_anew_is_an_error_at_every_question(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder) as batches:
        (folder / "segments").rename(folder / "old")
        fill(writer(folder, epoch=EPOCH + 1), 8)
        with pytest.raises(JournalRecreated, match=f"want={EPOCH} have={EPOCH + 1}"):
            batches.latest(at(folder, 2), ALL)
    with opened(folder) as batches:
        for question in (
            lambda: batches.latest(at(folder, 2), ALL),
            lambda: batches.ranges(at(folder, 2), at(folder, 5)),
            lambda: batches.commit(at(folder, 2)),
        ):
            with pytest.raises(JournalRecreated):
                question()


def test_a_journal_that_is_taken_away_under_a_query_is_missed(folder: Path) -> None:
    path = folder / "journal"
    path.mkdir()
    segments_of(path, [5])
    with opened(path) as batches:
        batches.latest(at(path, 0), ALL)
        path.rename(folder / "elsewhere")
        with pytest.raises(JournalMissing):
            batches.latest(at(path, 5), ALL)


def test_a_named_query_is_told_of_a_new_beginning_not_of_its_forgotten_name(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder, readerName="spark") as batches:
        (folder / "segments").rename(folder / "old")
        (folder / "readers" / "spark.json").unlink()
        fill(writer(folder, epoch=EPOCH + 1), 1)
        with pytest.raises(JournalRecreated):
            batches.commit(at(folder, 5))


# --- retention -----------------------------------------------------------------------------------------------


def test_a_named_query_holds_from_the_oldest_row_and_releases_what_is_committed(folder: Path) -> None:
    segments_of(folder, [5, 7])
    with opened(folder, readerName="spark") as batches:
        assert committed(folder) == 0
        batches.commit(at(folder, 5))
        assert committed(folder) == 5


def test_a_commit_that_comes_again_or_late_takes_nothing_back(folder: Path) -> None:
    """After an idle release Spark still commits, one batch late, what is already behind it."""
    segments_of(folder, [5, 7])
    with opened(folder, readerName="spark") as batches:
        batches.commit(at(folder, 9))
        batches.commit(at(folder, 5))
        batches.commit(at(folder, 9))
        assert committed(folder) == 9


def test_asking_for_more_releases_nothing(folder: Path) -> None:
    segments_of(folder, [5, 7])
    with opened(folder, readerName="spark") as batches:
        batches.latest(at(folder, 5), ALL)
        batches.ranges(at(folder, 5), at(folder, 12))
        assert committed(folder) == 0


def test_what_was_executed_is_released_once_nothing_new_comes(folder: Path) -> None:
    """A full journal waits for its reader, and Spark commits only when it has another batch."""
    made, clock = segments_of(folder, [5]), ManualClock(1)
    with opened(folder, readerName="spark", clock=clock) as batches:
        batches.latest(at(folder, 5), ALL)
        clock.advance(RELEASE_AFTER_NS - 1)
        batches.latest(at(folder, 5), ALL)
        assert committed(folder) == 0
        clock.advance(1)
        batches.latest(at(folder, 5), ALL)
        assert committed(folder) == 5
        fill(made, 3)
        batches.latest(at(folder, 5), ALL)
        batches.latest(at(folder, 8), ALL)
        clock.advance(RELEASE_AFTER_NS - 1)
        batches.latest(at(folder, 8), ALL)
        assert committed(folder) == 5


def test_a_later_query_of_the_same_name_fences_the_earlier(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder, readerName="spark") as earlier, opened(folder, readerName="spark") as later:
        with pytest.raises(ReaderFenced):
            earlier.commit(at(folder, 3))
        later.commit(at(folder, 2))
    assert committed(folder) == 2


def test_the_thread_that_keeps_the_lease_tells_of_a_fence_at_the_next_question(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder, readerName="spark") as earlier:
        keeper = earlier._keeper
        assert keeper is not None
        NamedReader.claim(folder, "spark", journal_epoch=EPOCH)
        keeper._period_s = 0.001
        keeper.stop()
        keeper._is_over.clear()
        keeper._keep()
        with pytest.raises(ReaderFenced):
            earlier.latest(at(folder, 0), ALL)


def test_a_query_that_cannot_begin_fences_nobody(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder, readerName="spark") as running:
        with pytest.raises(WrongOption), opened(folder, readerName="spark", startingOffsets="soon"):
            pass
        running.commit(at(folder, 3))
    assert committed(folder) == 3


def test_a_batch_that_takes_longer_than_the_lease_keeps_its_rows(folder: Path) -> None:
    """Nobody asks the query anything for two leases; its name is alive at every look."""
    segments_of(folder, [5])
    info = json.loads((folder / "journal.json").read_text())
    (folder / "journal.json").write_text(json.dumps({**info, "reader_lease_s": 1}))
    with opened(folder, readerName="spark"):
        claimed_ns = readers(folder)[0].seen_at_ns
        deadline_ns = monotonic_ns() + 60_000_000_000
        while readers(folder)[0].seen_at_ns < claimed_ns + 2_000_000_000:
            assert surveyed(folder, monotonic_ns()).living == ["spark"]
            assert monotonic_ns() < deadline_ns
            sleep_ns(20_000_000)


def test_a_query_that_comes_back_under_its_name_goes_on_at_once(folder: Path) -> None:
    segments_of(folder, [5])
    with opened(folder, readerName="spark") as batches:
        batches.commit(at(folder, 3))
    with opened(folder, readerName="spark") as batches:
        assert batches.latest(at(folder, 3), ALL) == at(folder, 5)
        assert committed(folder) == 3


# --- the other table -------------------------------------------------------------------------------------------


def test_the_unmatched_table_is_read_in_the_same_way(folder: Path) -> None:
    made = writer(folder)
    for seal in range(3):
        for seq in range(4):
            made.unmatched("left", 10 * seal + seq, "no_partner")
        fill(made, 1)
    with opened(folder, table="unmatched") as batches:
        start = begun(batches)
        assert start == at(folder, 0)
        end = batches.latest(start, Limit(rows_max=6))
        assert end == at(folder, 6)
        assert batches.latest(start, ALL) == batches.newest() == at(folder, 12)
        assert rows_of(batches, end, at(folder, 12)) == list(range(6, 12))


def test_unmatched_rows_that_are_gone_are_data_loss_too(folder: Path) -> None:
    made = writer(folder)
    for seal in range(2):
        for seq in range(4):
            made.unmatched("left", 10 * seal + seq, "no_partner")
        fill(made, 1)
        made.finish_segment("unmatched")
    (folder / "unmatched" / str(segment_names(folder, "unmatched")[0])).unlink()
    with opened(folder, table="unmatched") as batches:
        assert batches.initial() == at(folder, 4)
        with pytest.raises(DataLoss, match="first_row=1 last_row=3 rows=3"):
            batches.ranges(at(folder, 1), at(folder, 8))
    with opened(folder, table="unmatched", failOnDataLoss="false") as batches:
        assert rows_of(batches, at(folder, 1), at(folder, 8)) == [4, 5, 6, 7]


def test_unmatched_rows_that_no_seal_accounts_for_are_not_read(folder: Path) -> None:
    made = writer(folder)
    made.unmatched("left", 1, "no_partner")
    fill(made, 1)
    made._pending["unmatched"] = []
    made.unmatched("left", 2, "no_partner")
    made._seal("unmatched", {"seal": made.seals + 1})
    with opened(folder, table="unmatched") as batches:
        assert batches.newest() == at(folder, 1)
        (folder / HEAD).unlink()
        assert batches.newest() == at(folder, 1)
