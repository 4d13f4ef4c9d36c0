# SPDX-License-Identifier: Apache-2.0
"""What a reader gets from finished and open segments, also when files are renamed, dropped or replaced meanwhile."""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from framegate.joinbarrier.journal import layout, segments
from framegate.joinbarrier.journal.layout import SegmentName
from framegate.schema.errors import (
    DataLoss,
    InvalidValue,
    JournalDamaged,
    JournalMissing,
    JournalNewer,
    JournalRecreated,
)

import framegate as fg
from tests.unit.joinbarrier.journal.journal_world import EPOCH, INPUTS, assert_is_row, fill, left, segments_of, writer


def numbers(journal: fg.Journal, **options: Any) -> list[int]:
    return [row["row"] for row in journal.rows(**options)]


def test_rows_of_finished_and_open_segments_come_in_order(folder: Path) -> None:
    made = segments_of(folder, [4, 3])
    fill(made, 2)
    rows = list(fg.journal(folder).rows())
    assert len(rows) == 9
    for number, row in enumerate(rows):
        assert_is_row(row, number)


def test_rows_that_are_not_sealed_are_not_seen(folder: Path) -> None:
    made = writer(folder)
    fill(made, 2)
    made.append({"left": left(2), "right": "late"})
    assert numbers(fg.journal(folder)) == [0, 1]
    assert fg.journal(folder).next_row == 2


def test_an_empty_journal_has_no_rows(folder: Path) -> None:
    writer(folder)
    journal = fg.journal(folder)
    assert numbers(journal) == []
    assert (journal.first_row, journal.next_row) == (0, 0)
    assert journal.to_arrow().num_rows == 0
    assert journal.unmatched().num_rows == 0


@pytest.mark.parametrize(
    ("start", "stop", "want"), [(5, 8, [5, 6, 7]), (None, 2, [0, 1]), (8, None, [8]), (20, 30, [])]
)
def test_a_range_may_begin_and_end_inside_batches(
    folder: Path, start: int | None, stop: int | None, want: list[int]
) -> None:
    segments_of(folder, [4, 3, 2])
    journal = fg.journal(folder)
    assert [row["row"] for row in journal.rows(start=start, stop=stop)] == want
    assert journal.to_arrow(start, stop).column("row").to_pylist() == want


def test_a_limit_ends_in_the_middle_of_a_batch(folder: Path) -> None:
    segments_of(folder, [4, 4])
    assert numbers(fg.journal(folder), start=2, limit=3) == [2, 3, 4]


def test_views_are_read_only_and_lie_in_the_mapping(folder: Path) -> None:
    segments_of(folder, [3])
    (row, *_) = fg.journal(folder).rows()
    assert not row["left"].flags.writeable
    assert not row["left"].flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        row["left"][0, 0] = 1


def test_an_empty_payload_is_an_empty_array(folder: Path) -> None:
    made = writer(folder)
    made.append({"left": np.zeros((0, 3), np.uint8), "right": "late"})
    made.seal()
    (row,) = fg.journal(folder).rows()
    assert row["left"].shape == (0, 3)
    assert row.inputs["left"].is_present
    assert not row["left"].flags.writeable


def test_a_payload_that_contradicts_its_shape_is_told(folder: Path) -> None:
    made = writer(folder)
    made.append({"left": left(0), "right": "late"}, cells={"left": {"shape": [7]}})
    made.seal()
    with pytest.raises(JournalDamaged, match="does not fit its dtype") as caught:
        list(fg.journal(folder).rows())
    assert caught.value.facts["input"] == "left"


def test_columns_are_attributes_and_others_are_not(folder: Path) -> None:
    segments_of(folder, [1])
    (row,) = fg.journal(folder).rows()
    assert (row.row, row.out_epoch, len(row)) == (0, 1, 12)
    with pytest.raises(AttributeError):
        _ = row.nothing


def test_a_segment_renamed_between_listing_and_opening_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = writer(folder)
    fill(made, 3)
    listed = layout.segment_names(folder, "rows")
    made.finish_segment()
    monkeypatch.setattr("framegate.joinbarrier.journal.walk.segment_names", lambda *_: listed)
    assert numbers(fg.journal(folder)) == [0, 1, 2]


def test_a_segment_finished_under_the_reader_is_followed_by_its_successor(folder: Path) -> None:
    made = writer(folder)
    fill(made, 2)
    walk = fg.journal(folder).walk()
    assert [batch.end_row for batch in iter(walk.next, None)] == [2]
    fill(made, 1)
    made.finish_segment()
    fill(made, 2)
    assert [batch.end_row for batch in iter(walk.next, None)] == [3, 5]


def test_a_batch_sealed_just_before_its_segment_was_finished_is_not_jumped_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = writer(folder)
    fill(made, 2)
    walk = fg.journal(folder).walk()
    walk.next()
    listing, asked = layout.segment_names, list[int]()

    def listed_late(*words: Any) -> list[SegmentName]:
        if not asked:
            asked.append(1)
            fill(made, 1)
            made.finish_segment()
            fill(made, 2)
        return listing(*words)

    monkeypatch.setattr("framegate.joinbarrier.journal.walk.segment_names", listed_late)
    assert [batch.end_row for batch in iter(walk.next, None)] == [3, 5]


def test_a_file_cut_under_the_reader_ends_there(folder: Path) -> None:
    made = writer(folder)
    for _ in range(8):
        fill(made, 2)
    walk = fg.journal(folder).walk()
    batch = walk.next()
    assert batch is not None
    assert batch.message.end > 4096
    (path,) = (folder / "segments").iterdir()
    os.truncate(path, 4096)
    assert walk.next() is None


def test_a_footer_at_the_end_of_the_file_leaves_a_gap_that_no_reader_minds(folder: Path) -> None:
    segments_of(folder, [3, 2], is_cut=False)
    assert numbers(fg.journal(folder)) == [0, 1, 2, 3, 4]
    assert all(path.stat().st_size == 1 << 20 for path in (folder / "segments").iterdir())


def test_views_stay_valid_after_the_segment_was_dropped(folder: Path) -> None:
    made = segments_of(folder, [3, 2])
    rows = list(fg.journal(folder).rows(stop=3))
    made.drop_oldest()
    gc.collect()
    for number, row in enumerate(rows):
        assert_is_row(row, number)


def test_a_view_keeps_the_writer_from_using_the_file_again_until_it_is_gone(folder: Path) -> None:
    segments_of(folder, [2])
    (path,) = (folder / "segments").iterdir()
    view = next(iter(fg.journal(folder).rows()))["left"]
    gc.collect()
    descriptor = os.open(path, os.O_RDWR)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        np.testing.assert_array_equal(view, left(0))
        del view
        gc.collect()
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_a_file_that_the_writer_has_locked_is_not_mapped(folder: Path) -> None:
    segments_of(folder, [2])
    (name,) = layout.segment_names(folder, "rows")
    descriptor = os.open(folder / "segments" / str(name), os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert segments.Segment.open(folder, name, "rows") is None
    finally:
        os.close(descriptor)


def test_a_file_that_lost_its_name_before_it_was_locked_is_not_mapped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments_of(folder, [2])
    (name,) = layout.segment_names(folder, "rows")
    path = folder / "segments" / str(name)
    lock = fcntl.flock

    def recycled_meanwhile(descriptor: int, operation: int) -> None:
        path.rename(path.with_name("free-00000001"))
        lock(descriptor, operation)

    monkeypatch.setattr("framegate.joinbarrier.journal.segments.fcntl.flock", recycled_meanwhile)
    assert segments.Segment.open(folder, name, "rows") is None


def test_a_segment_dropped_between_listing_and_opening_is_a_loss_with_the_exact_range(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = segments_of(folder, [4, 3, 2])
    made.drop_oldest()
    with pytest.raises(DataLoss) as caught:
        numbers(fg.journal(folder), start=1)
    facts = caught.value.facts
    assert (facts["first_row"], facts["last_row"], facts["rows"]) == (1, 3, 3)


def test_a_reader_that_retention_overtakes_learns_the_exact_range(folder: Path) -> None:
    made = segments_of(folder, [2, 3, 4])
    reading = fg.journal(folder).rows()
    assert next(reading)["row"] == 0
    made.drop_oldest()
    made.drop_oldest()
    assert next(reading)["row"] == 1
    with pytest.raises(DataLoss) as caught:
        next(reading)
    assert (caught.value.facts["first_row"], caught.value.facts["last_row"]) == (2, 4)


def test_a_reader_told_to_skip_counts_what_was_lost(folder: Path) -> None:
    made = segments_of(folder, [2, 3, 4])
    with fg.journal(folder).rows(on_loss="skip") as reading:
        assert next(reading)["row"] == 0
        made.drop_oldest()
        made.drop_oldest()
        assert [row["row"] for row in reading] == [1, 5, 6, 7, 8]
        assert reading.lost_rows == 3


def test_without_a_start_reading_begins_with_the_oldest_row_that_is_left(folder: Path) -> None:
    made = segments_of(folder, [2, 3])
    made.drop_oldest()
    journal = fg.journal(folder)
    assert numbers(journal) == [2, 3, 4]
    assert (journal.first_row, journal.next_row) == (2, 5)


def test_a_missing_head_costs_nothing_but_a_walk(folder: Path) -> None:
    segments_of(folder, [3]).close()
    (folder / "journal.head").unlink()
    assert numbers(fg.journal(folder)) == [0, 1, 2]
    assert fg.journal(folder).next_row == 3


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\0" * 4096, b"\xff" * 4096])
def test_a_foreign_head_is_passed_over(folder: Path, content: bytes) -> None:
    segments_of(folder, [3]).close()
    (folder / "journal.head").write_bytes(content)
    assert fg.journal(folder).next_row == 3


def test_batches_of_another_generation_are_old_bytes_and_no_rows(folder: Path) -> None:
    made = writer(folder)
    fill(made, 2)
    made._open["rows"].facts["generation"] = 2
    fill(made, 2)
    assert numbers(fg.journal(folder)) == [0, 1]
    made.finish_segment()
    with pytest.raises(JournalDamaged, match="another use"):
        numbers(fg.journal(folder))


def test_a_batch_without_rows_is_walked_and_not_given(folder: Path) -> None:
    made = writer(folder)
    fill(made, 2)
    made.seal({"out_epoch": 2})
    fill(made, 1)
    journal = fg.journal(folder)
    walk = journal.walk()
    assert [batch.numbers.rows for batch in iter(walk.next, None)] == [2, 0, 1]
    assert [batch.numbers.rows for batch in journal.batches()] == [2, 1]


def test_a_state_is_that_of_its_batch(folder: Path) -> None:
    made = writer(folder)
    made.seal({"out_epoch": 3, "mine": [1]})
    walk = fg.journal(folder).walk()
    batch = walk.next()
    assert batch is not None
    assert batch.state == {"out_epoch": 3, "mine": [1]}


def test_a_journal_that_began_anew_is_not_read_on(folder: Path) -> None:
    segments_of(folder, [2])
    journal = fg.journal(folder)
    (folder / "segments").rename(folder / "old")
    fill(writer(folder, epoch=EPOCH + 1), 2)
    with pytest.raises(JournalRecreated):
        numbers(journal)
    assert numbers(fg.journal(folder)) == [0, 1]


def test_segments_that_overlap_are_damage(folder: Path) -> None:
    segments_of(folder, [3, 3])
    names = layout.segment_names(folder, "rows")
    (folder / "segments" / str(names[1])).rename(folder / "segments" / str(SegmentName(2, 2, is_open=False)))
    with pytest.raises(JournalDamaged, match="overlap"):
        numbers(fg.journal(folder))


def test_a_file_under_anothers_ordinal_is_damage(folder: Path) -> None:
    segments_of(folder, [3])
    (name,) = layout.segment_names(folder, "rows")
    (folder / "segments" / str(name)).rename(folder / "segments" / str(SegmentName(7, 0, is_open=False)))
    with pytest.raises(JournalDamaged, match="the name lies") as caught:
        numbers(fg.journal(folder))
    assert str(caught.value.facts["path"]).endswith("00000007-0000000000000000.arrow")


def test_a_link_in_place_of_a_segment_is_not_followed(folder: Path) -> None:
    segments_of(folder, [3])
    (name,) = layout.segment_names(folder, "rows")
    path = folder / "segments" / str(name)
    elsewhere = path.rename(folder / "elsewhere")
    path.symlink_to(elsewhere)
    with pytest.raises(JournalDamaged, match="not a file to map"):
        numbers(fg.journal(folder))


def test_files_that_are_no_segments_are_passed_over(folder: Path) -> None:
    segments_of(folder, [2])
    for name in ("free-00000004", "notes.txt", "00000009-0000000000000002.tmp", "9-2.arrow"):
        (folder / "segments" / name).write_bytes(b"x")
    assert numbers(fg.journal(folder)) == [0, 1]


def test_an_arrow_file_of_somebody_else_is_damage(folder: Path) -> None:
    writer(folder)
    path = folder / "segments" / str(SegmentName(1, 0, is_open=False))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, pa.schema([("row", pa.int64())])) as file:
        file.write_batch(pa.record_batch({"row": pa.array([1])}))
    with pytest.raises(JournalDamaged, match="no segment of a journal"):
        numbers(fg.journal(folder))


def test_an_open_file_that_holds_nothing_yet_is_waited_for(folder: Path) -> None:
    writer(folder)
    (folder / "segments" / str(SegmentName(1, 0, is_open=True))).write_bytes(b"\0" * 64)
    assert numbers(fg.journal(folder)) == []


def test_a_folder_without_a_journal_is_told(folder: Path) -> None:
    for path in (folder, folder / "nowhere"):
        with pytest.raises(JournalMissing):
            fg.journal(path)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', '{"format": "x"}', "\udcff"])
def test_a_description_that_makes_no_sense_is_damage(folder: Path, text: str) -> None:
    (folder / "journal.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(JournalDamaged):
        fg.journal(folder)


def test_a_later_format_is_refused(folder: Path) -> None:
    (folder / "journal.json").write_text('{"format": 2}')
    with pytest.raises(JournalNewer):
        fg.journal(folder)


def test_pandas_gets_a_column_for_each_field_and_keeps_every_digit(folder: Path) -> None:
    made = writer(folder)
    times = [2**53 + 1, 2**53 + 3]
    made.append({"left": left(0), "right": "stale"}, cells={"left": {"timestamp_ns": times[0]}})
    made.append({"left": left(1), "right": left(1)}, cells={"right": {"timestamp_ns": times[1]}})
    made.seal()
    frame = fg.journal(folder).to_pandas()
    assert frame["left.timestamp_ns"].tolist()[0] == times[0]
    assert frame["right.timestamp_ns"].tolist()[1] == times[1]
    assert pd.isna(frame["right.seq"][0])
    assert frame["left.status"].tolist() == ["present", "present"]
    assert set(INPUTS) <= set(fg.journal(folder).to_pandas(flatten=False).columns)


def test_unmatched_entries_are_given_once_a_sealed_state_accounts_for_them(folder: Path) -> None:
    made = writer(folder)
    made.unmatched("left", 7, "no_partner", seq_last=9)
    fill(made, 1)
    made.unmatched("right", 1, "late")
    made._seal("unmatched", {"seal": 2})
    assert fg.journal(folder).unmatched().select(["input", "seq", "seq_last", "cause"]).to_pylist() == [
        {"input": "left", "seq": 7, "seq_last": 9, "cause": "no_partner"}
    ]
    fill(made, 1)
    assert fg.journal(folder).unmatched().num_rows == 2


def test_unmatched_frames_are_counted_and_spread_out_although_entries_are_ranges(folder: Path) -> None:
    made = writer(folder)
    made.unmatched("left", 7, "no_partner", seq_last=9)
    made.unmatched("left", 20, "overwritten", seq_last=20)
    made.unmatched("right", 1, "late")
    fill(made, 1)
    journal = fg.journal(folder)
    assert journal.unmatched_counts() == {"left": {"no_partner": 3, "overwritten": 1}, "right": {"late": 1}}
    frames = journal.unmatched(frame_by_frame=True)
    assert frames.schema == journal.unmatched().schema
    assert frames.select(["input", "seq", "cause"]).to_pandas().to_numpy().tolist() == [
        ["left", 7, "no_partner"],
        ["left", 8, "no_partner"],
        ["left", 9, "no_partner"],
        ["left", 20, "overwritten"],
        ["right", 1, "late"],
    ]
    assert frames.column("seq_last").equals(frames.column("seq"))


def test_more_unmatched_frames_than_memory_holds_are_counted_and_not_spread_out(folder: Path) -> None:
    made = writer(folder)
    made.unmatched("left", 0, "agent_down", seq_last=2**40 - 1)
    fill(made, 1)
    assert fg.journal(folder).unmatched_counts() == {"left": {"agent_down": 2**40}}
    with pytest.raises(InvalidValue, match="too many frames"):
        fg.journal(folder).unmatched(frame_by_frame=True)


def test_a_journal_in_which_everything_was_joined_has_nothing_unmatched(folder: Path) -> None:
    fill(writer(folder), 1)
    journal = fg.journal(folder)
    assert (journal.unmatched_counts(), journal.unmatched(frame_by_frame=True).num_rows) == ({}, 0)


def test_other_arrow_libraries_take_a_batch_as_it_is(folder: Path) -> None:
    segments_of(folder, [3])
    (batch,) = fg.journal(folder).batches()
    assert pa.record_batch(batch).num_rows == 3


def test_importing_framegate_and_asking_for_help_import_no_arrow() -> None:
    code = "import sys, framegate; from framegate.cli import run; run(['journal', '--help']); run(['--version'])"
    words = [sys.executable, "-c", f"{code}; sys.stderr.write(' '.join(sys.modules))"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert not {"pyarrow", "pandas", "posix_ipc", "numpy"} & set(done.stderr.split())
