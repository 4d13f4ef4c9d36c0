# SPDX-License-Identifier: Apache-2.0
"""What ``import framegate as fg`` shows, and the paths that users import by."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import framegate as fg
import framegate.spark
from tests.unit.joinbarrier.journal.journal_world import segments_of

BARRIERS = ("SequenceJoinBarrier", "TimestampJoinBarrier", "LatestValueJoinBarrier")
PATHS = {
    "framegate.schema": ("decode_any",),
    "framegate.schema.wire": ("FrameDescriptor",),
    "framegate.schema.driver": ("ShmAttachRequest",),
    "framegate.schema.merge": ("SequenceMergeMapAnnounce",),
    "framegate.schema.control": ("ControlSignal",),
    "framegate.joinbarrier": ("MergeMap", "SequenceRule", "TimestampRule", *BARRIERS),
    "framegate.joinbarrier.checkpoint": (
        *("CheckpointBarrier", "CheckpointBarrierInjector", "BarrierAligner", "UnalignedCheckpointer"),
        "SignalAligner",
    ),
    "framegate.spark": ("session",),
}
"""What the contracts name, by where it is imported from."""


def test_dir_shows_what_there_is_and_nothing_else() -> None:
    assert set(dir(fg)) == set(fg.__all__)
    for name in dir(fg):
        assert getattr(fg, name) is not None


def test_what_spark_queries_use_is_there() -> None:
    for name in framegate.spark.__all__:
        assert getattr(framegate.spark, name) is not None


def test_nothing_is_loaded_before_it_is_used() -> None:
    program = "import sys, framegate; print([name for name in ('numpy', 'pyarrow', 'pydantic') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("home", PATHS)
def test_import_paths_that_users_rely_on(home: str) -> None:
    module = importlib.import_module(home)
    assert all(hasattr(module, name) for name in PATHS[home])


def test_errors_has_every_error_by_its_name() -> None:
    found = [each for _, each in inspect.getmembers(fg.errors, inspect.isclass) if issubclass(each, Exception)]
    assert len(found) > 100
    assert fg.errors.FramegateError in found


def test_a_map_and_the_barriers_say_what_they_are() -> None:
    rule = fg.SequenceRule(10001, offset=-2)
    assert "offset=-2" in repr(rule)
    assert "10001" in repr(fg.MergeMap(20001, 0, [rule]))
    barriers = [getattr(fg, name)(20001) for name in BARRIERS]
    assert repr(barriers[0]) == "<SequenceJoinBarrier of output 20001, epoch 0, no map>"
    barriers[0].apply(fg.MergeMap(20001, 0, [rule]))
    assert repr(barriers[0]) == "<SequenceJoinBarrier of output 20001, epoch 0>"


@pytest.fixture
def journal(tmp_path: Path) -> fg.Journal:
    segments_of(tmp_path, [3, 2])
    return fg.journal(tmp_path)


def test_a_journal_has_a_length_and_its_rows_one_by_one(journal: fg.Journal) -> None:
    assert len(journal) == 5
    rows = list(journal)
    assert all(isinstance(row, fg.Row) for row in rows)
    assert [row["row"] for row in rows] == [0, 1, 2, 3, 4]
    assert "rows 0 to 4" in repr(journal)
    assert str(journal.path) in repr(journal)


def test_a_journal_without_rows_is_a_journal_all_the_same(tmp_path: Path) -> None:
    segments_of(tmp_path, [])
    empty = fg.journal(tmp_path)
    assert (len(empty), list(empty), bool(empty)) == (0, [], True)


def test_polars_duckdb_and_pyarrow_take_a_journal_as_it_is(journal: fg.Journal) -> None:
    table = pa.table(journal)
    assert table.equals(journal.to_arrow())
    assert pl.DataFrame(journal)["row"].to_list() == [0, 1, 2, 3, 4]
    assert duckdb.execute("select count(*), max(row) from journal").fetchall() == [(5, 4)]
    assert np.asarray(table["row"]).tolist() == [0, 1, 2, 3, 4]
