# SPDX-License-Identifier: Apache-2.0
"""Whoever wrote a journal, its readers see the same: one suite over the reference writer and the native one."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.layout import FORMAT, HeadWord, segment_names
from framegate.joinbarrier.journal.reading import RowReading
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.journal.verify import verify
from framegate.schema.errors import DataLoss, JournalRecreated
from framegate.shmpool.clock import monotonic_ns
from framegate.spec.journal import crc32c as reference_checksum
from framegate.spec.journal.writer import ReferenceJournalWriter
from hypothesis import given
from hypothesis import strategies as st

from framegate import _native
from tests.own_folder import own_folder

OUT_STREAM: Final = 20001
EPOCH: Final = 1_700_000_000_000_000_000
INPUTS: Final = ("left", "right")
Given = Mapping[str, npt.NDArray[Any] | str]


class JournalWriter(Protocol):
    """What both writers can be told, in the same words."""

    def row(self, inputs: Given) -> None: ...
    def unmatched(self, input_name: str, seq: int, cause: str) -> None: ...
    def seal(self, state: Mapping[str, Any]) -> None: ...
    def close(self, state: Mapping[str, Any]) -> None: ...
    def forget(self) -> None: ...


class Reference:
    """The twin."""

    def __init__(self, directory: Path, epoch: int = EPOCH, **_: Any) -> None:
        self.writer = ReferenceJournalWriter(directory, INPUTS, out_stream=OUT_STREAM, journal_epoch=epoch)

    def row(self, inputs: Given) -> None:
        self.writer.append(inputs)

    def unmatched(self, input_name: str, seq: int, cause: str) -> None:
        self.writer.unmatched(input_name, seq, cause)

    def seal(self, state: Mapping[str, Any]) -> None:
        self.writer.seal(state)

    def close(self, state: Mapping[str, Any]) -> None:
        self.writer.close(state)

    def forget(self) -> None:
        del self.writer


class Native:
    """What join agents use."""

    def __init__(self, directory: Path, epoch: int = EPOCH, **options: Any) -> None:
        options = {"segment_bytes": 1 << 20, "max_bytes": 64 << 20, **options}
        self.writer = _native.JournalWriter(directory, INPUTS, out_stream=OUT_STREAM, journal_epoch=epoch, **options)
        self._row = int(self.writer.recovered["next_row"])

    def row(self, inputs: Given) -> None:
        while (answer := self._append(inputs)) != "ready":
            assert answer == "seal_first"
            self.seal({})
        self._row += 1

    def _append(self, inputs: Given) -> str:
        cells: dict[str, dict[str, Any] | None] = {name: self._cell(given) for name, given in inputs.items()}
        return self.writer.append(cells, out_seq=self._row, joined_at_us=1, now_ns=monotonic_ns())

    def _cell(self, given: npt.NDArray[Any] | str) -> dict[str, Any]:
        if isinstance(given, str):
            return {"status": given}
        numbers = {"seq": self._row, "timestamp_ns": self._row * 1_000_000, "epoch": 1}
        return {**numbers, "payload": given.tobytes(), "dtype": given.dtype.name, "shape": list(given.shape)}

    def unmatched(self, input_name: str, seq: int, cause: str) -> None:
        assert self.writer.unmatched(input_name, seq=seq, cause=cause)

    def seal(self, state: Mapping[str, Any]) -> None:
        self.writer.heartbeat(monotonic_ns())
        self.writer.seal(json.dumps(state).encode(), monotonic_ns())

    def close(self, state: Mapping[str, Any]) -> None:
        self.writer.close(json.dumps(state).encode(), monotonic_ns())

    def forget(self) -> None:
        self.writer.drop_open()


Make = Callable[..., Any]


@pytest.fixture
def folder() -> Iterator[Path]:
    with own_folder("conformance") as made:
        yield made


def described(directory: Path, epoch: int = EPOCH) -> Path:
    directory.mkdir(exist_ok=True)
    inputs = tuple(JournalInput(name=name, stream=10001 + index) for index, name in enumerate(INPUTS))
    write_description(directory, JournalDescription(out_stream=OUT_STREAM, journal_epoch=epoch, inputs=inputs))
    return directory


@pytest.fixture(params=[Reference, Native])
def make(request: pytest.FixtureRequest) -> Make:
    kind: Make = request.param
    return kind


def left(row: int) -> npt.NDArray[Any]:
    return (np.arange(6, dtype=np.uint16) + row).reshape(2, 3)


def given_for(row: int) -> Given:
    right: npt.NDArray[Any] | str = "stale" if row % 3 == 2 else np.full(row % 5, row, np.float64)
    return {"left": left(row), "right": right}


def fill(writer: JournalWriter, first: int, rows: int) -> None:
    for row in range(first, first + rows):
        writer.row(given_for(row))
    writer.seal({"out_epoch": 1})


def assert_rows(journal: Journal, want: range) -> None:
    rows = list(journal.rows())
    assert [row["row"] for row in rows] == list(want)
    for row in rows:
        number = row["row"]
        assert (row["out_stream"], row["journal_epoch"], row["out_seq"]) == (OUT_STREAM, EPOCH, number)
        for name, wanted in given_for(number).items():
            cell = row.inputs[name]
            if isinstance(wanted, str):
                assert (cell.status, cell.seq, cell.dtype, cell.shape) == (wanted, None, None, None)
                assert row[name] is None
            else:
                assert (cell.status, cell.seq, cell.timestamp_ns) == ("present", number, number * 1_000_000)
                np.testing.assert_array_equal(row[name], wanted, strict=True)
                assert not row[name].flags.writeable


def test_rows_are_read_as_they_were_written(folder: Path, make: Make) -> None:
    writer = make(described(folder))
    for first, rows in ((0, 4), (4, 1), (5, 7)):
        fill(writer, first, rows)
    assert_rows(Journal(folder), range(12))
    writer.close({"out_epoch": 1})
    assert_rows(Journal(folder), range(12))
    assert Journal(folder).next_row == 12


def test_both_write_the_same_rows(folder: Path) -> None:
    journals = []
    for kind in (Reference, Native):
        writer: JournalWriter = kind(described(folder / kind.__name__))
        fill(writer, 0, 20)
        writer.close({"out_epoch": 1})
        journals.append(Journal(folder / kind.__name__))
    found = diff(*journals)
    assert found.is_empty, found.changed
    assert found.same == 20


def test_a_journal_is_consistent_while_it_is_open_and_when_it_is_closed(folder: Path, make: Make) -> None:
    writer = make(described(folder))
    fill(writer, 0, 5)
    writer.unmatched("left", 7, "no_partner")
    fill(writer, 5, 2)
    for ending in (lambda: None, lambda: writer.close({"out_epoch": 1})):
        ending()
        found = verify(Journal(folder))
        assert (found.rows, found.segments, found.unmatched_rows, found.problem) == (7, 1, 1, None)
    assert not [*folder.glob("*/*.open")]


def test_unmatched_entries_come_with_the_seal_that_accounts_for_them(folder: Path, make: Make) -> None:
    writer = make(described(folder))
    writer.unmatched("left", 3, "late")
    writer.unmatched("right", 4, "superseded")
    assert Journal(folder).unmatched().num_rows == 0
    fill(writer, 0, 1)
    found = Journal(folder).unmatched().select(["input", "seq", "seq_last", "cause"]).to_pylist()
    assert [tuple(entry.values()) for entry in found] == [("left", 3, 3, "late"), ("right", 4, 4, "superseded")]


def test_a_state_without_rows_is_a_batch(folder: Path, make: Make) -> None:
    writer = make(described(folder))
    fill(writer, 0, 2)
    writer.seal({"out_epoch": 9})
    fill(writer, 2, 1)
    walk = Journal(folder).walk()
    batches = list(iter(walk.next, None))
    # The native writer may need more seals for the same rows.
    (empty,) = [batch for batch in batches if batch.numbers.rows == 0]
    assert (empty.state["out_epoch"], empty.first_row, batches[-1].state["out_epoch"]) == (9, 2, 1)
    assert [batch.numbers.seal for batch in batches] == list(range(1, len(batches) + 1))
    assert_rows(Journal(folder), range(3))


def test_an_open_segment_is_a_stream_and_a_finished_one_a_file(folder: Path, make: Make) -> None:
    writer = make(described(folder))
    fill(writer, 0, 2)
    fill(writer, 2, 1)
    (path,) = (folder / "segments").glob("*.open")
    assert pa.ipc.open_stream(path.read_bytes()[8:]).read_all().column("row").to_pylist() == [0, 1, 2]
    writer.close({})
    path = next((folder / "segments").glob("*.arrow"))
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    table.validate(full=True)
    assert table.column("row").to_pylist() == [0, 1, 2]


def test_a_writer_that_comes_back_goes_on_with_the_next_row(folder: Path, make: Make) -> None:
    writer = make(described(folder))
    fill(writer, 0, 3)
    reading = Journal(folder).rows(follow=True)
    assert [next(reading)["row"] for _ in range(3)] == [0, 1, 2]
    # Appended, not sealed: nobody has seen it, and nobody will.
    writer.row(given_for(3))
    writer.forget()
    gc.collect()
    second = make(folder)
    fill(second, 3, 2)
    assert [next(reading)["row"] for _ in range(2)] == [3, 4]
    second.close({})
    assert list(reading) == []
    assert_rows(Journal(folder), range(5))
    assert verify(Journal(folder)).problem is None


def test_the_head_says_where_the_writer_is(folder: Path, make: Make) -> None:
    writer = make(described(folder))
    fill(writer, 0, 3)
    head = Head.open(folder)
    assert head is not None
    assert (head.next_row, head.journal_epoch, head.is_closed) == (3, EPOCH, False)
    assert head.is_writer_alive(monotonic_ns())
    (name,) = segment_names(folder, "rows")
    assert (head[HeadWord.OPEN_ORDINAL], head[HeadWord.OPEN_FIRST_ROW]) == (name.ordinal, 0)
    assert (head[HeadWord.VERSION], head[HeadWord.WRITER_PID]) == (FORMAT, os.getpid())
    segment = Segment.open(folder, name, "rows")
    assert segment is not None
    assert head[HeadWord.OPEN_GENERATION] == segment.facts.generation
    last = list(Journal(folder).batches())[-1]
    assert (head[HeadWord.OPEN_SEALED_BYTES], head[HeadWord.SEALS]) == (last.message.end, last.numbers.seal)
    writer.close({})
    assert head.is_closed
    assert not head.is_writer_alive(monotonic_ns())


def test_another_journal_epoch_is_another_journal(folder: Path, make: Make) -> None:
    fill(make(described(folder)), 0, 1)
    journal = Journal(folder)
    for name in ("segments", "unmatched", "journal.head"):
        (folder / name).rename(folder / f"old-{name}")
    fill(make(described(folder, EPOCH + 1), EPOCH + 1), 0, 1)
    with pytest.raises(JournalRecreated):
        list(journal.rows())


# --- what only the native writer does ----------------------------------------------------------------------

SEGMENT: Final = 1 << 16
BIG: Final = np.zeros(1 << 13, np.uint8)


def write_many(writer: Native, first: int, rows: int) -> None:
    """One batch a row, some rows a segment."""
    for row in range(first, first + rows):
        # The next segment's file is made by another thread.
        assert writer.writer.wait_for_segment(60.0, monotonic_ns())
        writer.row({"left": BIG + row % 251, "right": "late"})
        writer.seal({})


def collect(reading: RowReading, into: list[int]) -> None:
    for row in reading:
        into.append(row["row"])  # noqa: PERF401 - what came before an error counts


def test_a_reader_overtaken_by_retention_learns_the_exact_range(folder: Path) -> None:
    writer = Native(described(folder), segment_bytes=SEGMENT, max_bytes=4 * SEGMENT)
    write_many(writer, 0, 3)
    reading = Journal(folder).rows()
    assert next(reading)["row"] == 0
    write_many(writer, 3, 80)
    journal = Journal(folder)
    seen = [0]
    with pytest.raises(DataLoss) as caught:
        collect(reading, seen)
    assert seen == list(range(len(seen)))
    assert (caught.value.facts["first_row"], caught.value.facts["last_row"]) == (len(seen), journal.first_row - 1)
    assert [row["row"] for row in journal.rows()] == list(range(journal.first_row, 83))


def test_views_never_change_while_their_segments_would_be_used_again(folder: Path) -> None:
    writer = Native(described(folder), segment_bytes=SEGMENT, max_bytes=4 * SEGMENT)
    write_many(writer, 0, 5)
    held = list(Journal(folder).rows())
    write_many(writer, 5, 100)
    for row in held:
        np.testing.assert_array_equal(row["left"], BIG + row["row"] % 251)
    assert writer.writer.counters()["segments_held"] > 0
    del held, row
    gc.collect()
    write_many(writer, 105, 100)
    assert writer.writer.counters()["segments_recycled"] > 0
    assert verify(Journal(folder)).problem is None


def test_recycled_segments_show_no_batch_of_their_earlier_use(folder: Path) -> None:
    writer = Native(described(folder), segment_bytes=SEGMENT, max_bytes=4 * SEGMENT)
    for first in range(0, 200, 20):
        write_many(writer, first, 20)
        rows = [row["row"] for row in Journal(folder).rows()]
        assert rows == list(range(rows[0], first + 20))
    assert writer.writer.counters()["segments_recycled"] > 0


def test_rows_that_a_named_reader_has_not_committed_are_not_dropped(folder: Path) -> None:
    writer = Native(described(folder), segment_bytes=SEGMENT, max_bytes=4 * SEGMENT, when_full="block")
    writer.writer.set_floor(0)
    answer, row = "ready", 0
    while answer != "full":
        assert writer.writer.wait_for_segment(60.0, monotonic_ns()) or row > 5
        answer = writer._append({"left": BIG, "right": "late"})
        if answer == "ready":
            writer._row += 1
            row += 1
            writer.seal({})
        elif answer == "seal_first":
            writer.seal({})
    assert [found["row"] for found in Journal(folder).rows()] == list(range(row))
    assert row > 5


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_both_compute_the_same_check_sum(first: bytes, second: bytes) -> None:
    whole = reference_checksum.crc32c(first + second)
    assert _native.crc32c(first + second) == whole
    assert _native.crc32c(second, seed=_native.crc32c(first)) == whole
    assert reference_checksum.crc32c(second, seed=reference_checksum.crc32c(first)) == whole
