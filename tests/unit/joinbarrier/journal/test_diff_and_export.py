# SPDX-License-Identifier: Apache-2.0
"""Two journals compared by their outputs, and one written as Parquet; Arrow's other readers open a segment."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.export import export_parquet
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.printing import row_range
from framegate.schema.errors import JournalDamaged, WrongUsage

from tests.unit.joinbarrier.journal.journal_world import EPOCH, fill, left, right, segments_of, writer


def journal_of(folder: Path, name: str, outputs: Iterable[int], *, epoch: int = EPOCH, **change: Any) -> Journal:
    """One row for each output sequence; ``change`` replaces what row 2 has."""
    directory = folder / name
    directory.mkdir()
    made = writer(directory, epoch=epoch)
    for out in outputs:
        options: dict[str, Any] = {"out_seq": out, "out_time_ns": out * 10, **(change if out == 2 else {})}
        array = options.pop("array", left(out))
        inputs = {"left": array, "right": "late"}
        made.append(inputs, cells={"left": {"seq": out, "timestamp_ns": out, **options.pop("cell", {})}}, **options)
    made.close({})
    return Journal(directory)


def test_the_same_outputs_in_another_run_are_no_difference(folder: Path) -> None:
    first = journal_of(folder, "a", [1, 2, 3], joined_at=1, checkpoint_id=4)
    second = journal_of(folder, "b", [1, 2, 3], epoch=EPOCH + 1, joined_at=2, checkpoint_id=5)
    found = diff(first, second)
    assert found.is_empty
    assert found.same == 3


def test_rows_are_lost_and_gained_by_their_outputs_and_not_by_their_numbers(folder: Path) -> None:
    found = diff(journal_of(folder, "a", [1, 2, 3, 5]), journal_of(folder, "b", [2, 3, 4]))
    assert (found.lost, found.gained, found.changed_rows) == ([(1, 1, 0), (1, 5, 0)], [(1, 4, 0)], 0)
    assert not found.is_empty


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        ({"array": left(9)}, ("left.payload",)),
        ({"array": left(2).astype(np.int16)}, ("left.dtype",)),
        ({"array": left(2).reshape(6)}, ("left.shape",)),
        ({"cell": {"epoch": 9}}, ("left.epoch",)),
        ({"map_version": 4}, ("map_version",)),
    ],
)
def test_a_changed_row_names_its_columns(folder: Path, change: dict[str, Any], columns: tuple[str, ...]) -> None:
    found = diff(journal_of(folder, "a", [1, 2]), journal_of(folder, "b", [2, 3], **change))
    (changed,) = found.changed
    assert (changed.key, changed.row_a, changed.row_b, found.changed_rows) == ((1, 2, 0), 1, 0, 1)
    named = {name for name in changed.columns if name != "left.payload" or "array" in change}
    assert set(columns) <= named


def test_a_nan_is_the_same_as_itself(folder: Path) -> None:
    array = np.array([np.nan], np.float32)
    first, second = (journal_of(folder, name, [2], array=array) for name in "ab")
    assert diff(first, second).is_empty


def test_rows_can_be_known_by_their_output_time(folder: Path) -> None:
    first = journal_of(folder, "a", [2], out_seq=8)
    second = journal_of(folder, "b", [2], out_seq=9)
    assert diff(first, second).changed_rows == 0
    assert [changed.columns for changed in diff(first, second, by="out_time").changed] == [("out_seq",)]


def test_several_rows_of_one_output_are_compared_in_their_order(folder: Path) -> None:
    found = diff(journal_of(folder, "a", [1, 1, 1]), journal_of(folder, "b", [1, 1]))
    assert (found.same, found.lost) == (2, [(1, 1, 2)])


# --- Parquet -----------------------------------------------------------------------------------------------


def test_an_export_holds_every_row_and_every_byte(folder: Path) -> None:
    segments_of(folder, [4, 3])
    assert export_parquet(Journal(folder), folder / "out.parquet") == 7
    table = pq.read_table(folder / "out.parquet")
    assert table.equals(Journal(folder).to_arrow())
    assert table.column("left").to_pylist()[6]["payload"] == left(6).tobytes()


def test_a_flat_export_has_a_column_for_each_field(folder: Path) -> None:
    segments_of(folder, [2])
    export_parquet(Journal(folder), folder / "out.parquet", flatten=True)
    assert pq.read_table(folder / "out.parquet").column("right.payload").to_pylist() == [
        right(0).tobytes(),
        right(1).tobytes(),
    ]


def test_an_empty_journal_is_exported_as_an_empty_table(folder: Path) -> None:
    writer(folder)
    assert export_parquet(Journal(folder), folder / "out.parquet") == 0
    assert pq.read_table(folder / "out.parquet").schema.names == Journal(folder).schema.names


def test_a_failed_export_leaves_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = segments_of(folder, [2])
    target = folder / "out.parquet"
    target.write_bytes(b"before")
    made._open.clear()
    path = folder / "segments" / "00000002-0000000000000002.arrow"
    path.write_bytes(b"not a segment at all")
    with pytest.raises(JournalDamaged):
        export_parquet(Journal(folder), target)
    assert target.read_bytes() == b"before"
    assert not [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]


def test_an_export_is_seen_only_when_it_is_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments_of(folder, [2, 2])
    target = folder / "out.parquet"
    seen = list[bool]()
    sync = os.fsync

    def look(descriptor: int) -> None:
        seen.append(target.exists())
        sync(descriptor)

    monkeypatch.setattr("framegate.joinbarrier.journal.export.os.fsync", look)
    export_parquet(Journal(folder), target)
    assert seen == [False]
    assert target.exists()


# --- other readers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_cut", [True, False])
def test_other_programs_open_a_finished_segment(folder: Path, is_cut: bool) -> None:
    made = writer(folder)
    fill(made, 2)
    fill(made, 1)
    made.finish_segment(is_cut=is_cut)
    (path,) = (folder / "segments").iterdir()
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    table.validate(full=True)
    assert table.column("row").to_pylist() == [0, 1, 2]
    assert pl.read_ipc(path)["row"].to_list() == [0, 1, 2]
    with duckdb.connect() as database:
        database.register("journal", table)
        assert database.sql('select sum(row), count("left".payload) from journal').fetchall() == [(3, 3)]


def test_an_open_segment_without_its_first_bytes_is_a_stream(folder: Path) -> None:
    made = writer(folder)
    fill(made, 2)
    fill(made, 1)
    (path,) = (folder / "segments").glob("*.open")
    stream = pa.ipc.open_stream(path.read_bytes()[8:])
    assert [batch.num_rows for batch in stream] == [2, 1]


def test_rows_that_one_journal_has_let_go_of_are_not_compared(folder: Path) -> None:
    for name in ("whole", "later", "shorter"):
        (folder / name).mkdir()
    segments_of(folder / "whole", [2, 3])
    segments_of(folder / "later", [2, 3]).drop_oldest()
    segments_of(folder / "shorter", [2, 2]).drop_oldest()
    whole, later, shorter = (Journal(folder / name) for name in ("whole", "later", "shorter"))
    for found in (diff(whole, later), diff(later, whole)):
        assert (found.same, found.not_compared, found.is_empty) == (3, 2, True)
    # What lies behind the first row that both have is there or lost.
    assert (diff(whole, shorter).not_compared, len(diff(whole, shorter).lost)) == (2, 1)
    assert (diff(shorter, whole).not_compared, len(diff(shorter, whole).gained)) == (2, 1)


def test_an_export_into_a_folder_that_there_is_not_is_wrong_usage(folder: Path) -> None:
    segments_of(folder, [1])
    with pytest.raises(WrongUsage) as told:
        export_parquet(Journal(folder), folder / "nowhere" / "out.parquet")
    assert told.value.facts["path"] == str(folder / "nowhere")


@pytest.mark.parametrize("text", ["5", "9:3", "a:b", "-1:2"])
def test_rows_that_are_no_range_are_wrong_usage(text: str) -> None:
    with pytest.raises(WrongUsage, match="--rows"):
        row_range(text)


@pytest.mark.parametrize(("text", "wanted"), [(":", (None, None)), ("3:3", (3, 3)), (":9", (None, 9))])
def test_either_side_of_a_range_may_be_left_out(text: str, wanted: tuple[int | None, int | None]) -> None:
    assert row_range(text) == wanted
