# SPDX-License-Identifier: Apache-2.0
"""What a task yields: every row of its range once, as the journal has it, without a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.readers import NamedReader, readers
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows
from framegate.joinbarrier.spark.read.read_range import RENEW_NS, read_range
from framegate.joinbarrier.tables import shape
from framegate.schema.errors import (
    DataLoss,
    JournalDamaged,
    JournalRecreated,
    ReaderFenced,
    SchemaChanged,
    WrongOffset,
)
from framegate.shmpool.clock import ManualClock

from tests.unit.joinbarrier.journal.journal_world import EPOCH, INPUTS, fill, segments_of, writer
from tests.unit.joinbarrier.journal_writing import append, cell, small_writer


def read(
    folder: Path, first: int, end: int, *, inputs: tuple[str, ...] = INPUTS, epoch: int = EPOCH, **options: str
) -> list[pa.RecordBatch]:
    wanted = RangeOfRows(str(folder), epoch, first, end, claim=None)
    parsed = SourceOptions.parse({"path": str(folder), **options})
    return list(read_range(wanted, parsed, inputs if parsed.table == "rows" else ()))


def rows_of(batches: list[pa.RecordBatch]) -> list[int]:
    return [row for batch in batches for row in batch.column("row").to_pylist()]


@pytest.mark.parametrize(("first", "end"), [(0, 15), (5, 12), (3, 4), (4, 6), (0, 1), (14, 15), (7, 7)])
def test_exactly_the_rows_of_the_range_are_given(folder: Path, first: int, end: int) -> None:
    segments_of(folder, [5, 7, 3])
    assert rows_of(read(folder, first, end)) == list(range(first, end))


def test_rows_are_those_of_the_journal_with_their_payloads(folder: Path) -> None:
    segments_of(folder, [5, 7])
    found = pa.Table.from_batches(read(folder, 2, 11))
    assert found.to_pylist() == Journal(folder).to_arrow(2, 11).to_pylist()


def _places(column: Any) -> set[int]:
    """Where the buffers lie that hold the values of payloads."""
    return {column.field("payload").buffers()[2].address}


def test_payloads_stay_where_the_journal_has_them(folder: Path) -> None:
    segments_of(folder, [5])
    journal = Journal(folder)
    walk = journal.walk()
    batch = walk.next()
    assert batch is not None
    assert walk.segment is not None
    schema = shape.wanted_schema("rows", INPUTS, "value")
    shaped = shape.shaped(batch, walk.segment, "rows", "value", schema)
    assert _places(shaped.column("left")) == _places(batch.record_batch.column("left"))
    lowest = pa.py_buffer(batch.memory).address
    assert lowest < min(_places(shaped.column("left"))) < lowest + len(batch.memory)


@pytest.mark.parametrize("payload", ["reference", "none"])
def test_small_batches_without_payloads_come_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch, payload: str
) -> None:
    made = writer(folder)
    for _ in range(40):
        fill(made, 2)
    (one,) = read(folder, 3, 77, payload=payload)
    assert rows_of([one]) == list(range(3, 77))
    monkeypatch.setattr(shape, "GATHER_BYTES", 4 * one.nbytes // 10)
    found = read(folder, 3, 77, payload=payload)
    assert [batch.num_rows > 20 for batch in found] == [True, True, False]
    assert pa.Table.from_batches(found) == pa.Table.from_batches([one])
    assert read(folder, 3, 3, payload=payload) == []


def test_large_batches_come_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments_of(folder, [20])
    monkeypatch.setattr(shape, "YIELD_BYTES", 512)
    pieces = read(folder, 3, 20)
    assert len(pieces) > 3
    assert rows_of(pieces) == list(range(3, 20))
    monkeypatch.setattr(shape, "YIELD_BYTES", 1)
    assert [piece.num_rows for piece in read(folder, 3, 8)] == [1] * 5


def test_a_backlog_passes_through_a_task_piece_by_piece(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is, a task has one piece of it, copies nothing, and maps a segment or two."""
    monkeypatch.setattr(shape, "YIELD_BYTES", 1 << 20)
    inputs = (JournalInput(name="left", stream=1),)
    write_description(folder, JournalDescription(out_stream=1, journal_epoch=1, inputs=inputs))
    made = small_writer(folder, ["left"], seal_bytes=4 << 20, segment_bytes=8 << 20, max_bytes=256 << 20)
    for seq in range(512):
        append(made, {"left": cell(bytes(128 << 10), seq)}, out_seq=seq)
    made.close()
    segments = len(list((folder / "segments").iterdir()))
    allocated, rows, mapped = pa.total_allocated_bytes(), 0, 0
    parsed = SourceOptions.parse({"path": str(folder)})
    for piece in read_range(RangeOfRows(str(folder), 1, 0, 512, claim=None), parsed, ("left",)):
        assert 1 <= piece.num_rows <= 8
        rows += piece.num_rows
        assert pa.total_allocated_bytes() - allocated < 1 << 20
        mapped = max(mapped, Path("/proc/self/maps").read_text().count(f"{folder}/segments/"))
    assert rows == 512
    assert 1 <= mapped <= 2 < segments


def test_without_payloads_every_other_field_is_the_same(folder: Path) -> None:
    segments_of(folder, [5])
    (bare,) = read(folder, 0, 5, payload="none")
    whole = Journal(folder).to_arrow().to_pylist()
    for row in whole:
        for name in INPUTS:
            del row[name]["payload"]
    assert bare.to_pylist() == whole


def test_the_unmatched_table_gives_its_own_rows(folder: Path) -> None:
    made = writer(folder)
    for seal in range(3):
        for seq in range(4):
            made.unmatched("left", 10 * seal + seq, "no_partner")
        fill(made, 1)
    for first, wanted in ((3, [3, 10, 11, 12, 13, 20]), (4, [10, 11, 12, 13, 20]), (6, [12, 13, 20])):
        batches = read(folder, first, 9, table="unmatched")
        assert [seq for batch in batches for seq in batch.column("seq").to_pylist()] == wanted


# --- what is not as it was planned -------------------------------------------------------------------------------


def test_rows_that_went_between_planning_and_reading_are_an_error_never_fewer_rows(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    with pytest.raises(DataLoss):
        read(folder, 2, 11)
    assert caplog.text == ""
    assert rows_of(read(folder, 2, 11, failOnDataLoss="false")) == list(range(5, 11))
    assert "3 rows are gone" in caplog.text


def test_another_life_of_the_journal_is_an_error(folder: Path) -> None:
    segments_of(folder, [5])
    with pytest.raises(JournalRecreated):
        read(folder, 0, 5, epoch=EPOCH - 1)


def test_other_inputs_than_planned_are_an_error(folder: Path) -> None:
    segments_of(folder, [5])
    with pytest.raises(SchemaChanged, match="want=left,centre have=left,right"):
        read(folder, 0, 5, inputs=("left", "centre"))


def test_a_range_behind_the_journals_end_is_an_error(folder: Path) -> None:
    segments_of(folder, [5])
    with pytest.raises(WrongOffset, match="want=6 have=5"):
        read(folder, 0, 6)


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_batch_whose_rows_are_not_those_it_names_is_an_error(folder: Path, wrong: int) -> None:
    """The first and the last row of what is read are looked at, wherever the range begins and ends."""
    made = writer(folder)
    for _ in range(3):
        made.append({"left": "stale", "right": "stale"})
    made._pending["rows"][wrong]["row"] = 7
    made.seal()
    with pytest.raises(JournalDamaged, match="other rows"):
        read(folder, 0, wrong + 1)


# --- the lease, from inside a task -------------------------------------------------------------------------------


def _task(folder: Path, claim: int, clock: ManualClock, *, may_be_fenced: bool = False) -> Any:
    options = SourceOptions.parse({"path": str(folder), "readerName": "spark"})
    wanted = RangeOfRows(str(folder), EPOCH, 0, 12, claim)
    return read_range(wanted, options, INPUTS, may_be_fenced=may_be_fenced, clock=clock)


def test_a_task_renews_the_lease_while_it_reads(folder: Path) -> None:
    segments_of(folder, [5, 4, 3])
    clock = ManualClock(1)
    claim = NamedReader.claim(folder, "spark", journal_epoch=EPOCH, clock=clock).state.claim
    seen = list[int]()
    for _ in _task(folder, claim, clock):
        (state,) = readers(folder)
        seen.append(state.seen_at_ns)
        clock.advance(RENEW_NS // 2)
    assert seen[0] > 1
    assert seen[1] == seen[0]
    assert seen[2] > seen[1]


def test_a_task_of_a_fenced_query_ends_and_one_of_a_table_goes_on(folder: Path) -> None:
    segments_of(folder, [12])
    claim = NamedReader.claim(folder, "spark", journal_epoch=EPOCH).state.claim
    NamedReader.claim(folder, "spark", journal_epoch=EPOCH)
    with pytest.raises(ReaderFenced):
        list(_task(folder, claim, ManualClock(1)))
    assert rows_of(list(_task(folder, claim, ManualClock(1), may_be_fenced=True))) == list(range(12))
