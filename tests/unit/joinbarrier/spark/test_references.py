# SPDX-License-Identifier: Apache-2.0
"""References lead to the payload they were made for, or to a clear error: never to other bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from framegate.joinbarrier.spark.read.frames import frames, to_numpy
from framegate.joinbarrier.tables import references
from framegate.joinbarrier.tables.references import SEGMENTS_MAX, MappedSegments, Reference
from framegate.schema.errors import ReferenceOutlived, ReferenceRefused

from tests.unit.joinbarrier.journal.journal_world import EPOCH, left, right, segments_of
from tests.unit.joinbarrier.journal_writing import append, cell, files, small_writer
from tests.unit.joinbarrier.spark.test_read_range import read


def column(folder: Path, first: int, end: int, name: str = "left", payload: str = "reference") -> pa.ChunkedArray:
    return pa.Table.from_batches(read(folder, first, end, payload=payload)).column(name)


def texts(folder: Path, first: int, end: int) -> list[str]:
    return [cell["ref"] for cell in column(folder, first, end).to_pylist()]


@pytest.mark.parametrize("payload", ["value", "reference"])
@pytest.mark.parametrize(("first", "end"), [(0, 15), (3, 11)])
def test_frames_are_the_arrays_that_were_joined(folder: Path, payload: str, first: int, end: int) -> None:
    segments_of(folder, [5, 7, 3])
    for row, array in zip(range(first, end), frames(column(folder, first, end, "left", payload)), strict=True):
        np.testing.assert_array_equal(array, left(row), strict=True)
    for row, array in zip(range(first, end), frames(column(folder, first, end, "right", payload)), strict=True):
        if row % 3 == 2:
            assert array is None
        else:
            np.testing.assert_array_equal(array, right(row), strict=True)


@pytest.mark.parametrize("payload", ["value", "reference"])
def test_frames_cannot_be_written_to(folder: Path, payload: str) -> None:
    segments_of(folder, [2])
    for array in frames(column(folder, 0, 2, "left", payload)):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_by_value_they_are_views_of_the_column(folder: Path) -> None:
    segments_of(folder, [5])
    (chunk,) = column(folder, 0, 5, "left", "value").chunks
    data = chunk.field("payload").buffers()[2]
    for array in frames(chunk):
        assert array is not None
        assert data.address <= array.ctypes.data < data.address + data.size


@pytest.mark.parametrize("payload", ["value", "reference"])
def test_in_a_pandas_udf_the_column_is_a_data_frame(folder: Path, payload: str) -> None:
    segments_of(folder, [3])
    table = pa.Table.from_batches(read(folder, 0, 3, payload=payload))
    whole = pa.Table.from_struct_array(table.column("right").combine_chunks()).to_pandas()
    found = frames(whole)
    assert found[2] is None
    np.testing.assert_array_equal(found[1], right(1), strict=True)


@pytest.mark.parametrize("payload", ["value", "reference"])
def test_a_collected_cell_becomes_an_array(folder: Path, payload: str) -> None:
    segments_of(folder, [3])
    cells = column(folder, 0, 3, "right", payload).to_pylist()
    np.testing.assert_array_equal(to_numpy(cells[1]), right(1), strict=True)
    assert to_numpy(cells[2]) is None


def test_a_column_without_payloads_says_so(folder: Path) -> None:
    segments_of(folder, [3])
    bare = column(folder, 0, 3, "left", "none")
    with pytest.raises(ReferenceRefused, match="read without payloads"):
        frames(bare)
    with pytest.raises(ReferenceRefused, match="read without payloads"):
        to_numpy(bare[0].as_py())


@pytest.mark.parametrize(("first", "end"), [(0, 15), (3, 11), (2, 3)])
@pytest.mark.parametrize("name", ["left", "right"])
def test_few_rows_and_many_get_the_same_texts(
    folder: Path, monkeypatch: pytest.MonkeyPatch, first: int, end: int, name: str
) -> None:
    """Row 2 of "right" has no payload, and a sealed batch of such rows alone has no bytes at all."""
    segments_of(folder, [5, 7, 3])
    found = []
    for rows in (10**9, 0):
        monkeypatch.setattr(references, "ROWS_AT_ONCE", rows)
        found.append([None if cell is None else cell["ref"] for cell in column(folder, first, end, name).to_pylist()])
    assert found[0] == found[1]
    assert len(found[0]) == end - first


def test_a_reference_names_the_journal_without_links_on_the_way(folder: Path) -> None:
    (folder / "real").mkdir()
    segments_of(folder / "real", [1])
    (folder / "link").symlink_to("real")
    (text,) = texts(folder / "link", 0, 1)
    assert Reference.parse(text).directory == str((folder / "real").resolve())


# --- what a reference may be ---------------------------------------------------------------------------------


HOSTILE = ["", "framegate:1:", "framegate:2:1:1:1:0:1:/a", "framegate:1:1:1:1:0:1:a", "framegate:1:-1:1:1:0:1:/a",
           "framegate:1:1:1:1:0:1e3:/a", "framegate:1:" + "9" * 30 + ":1:1:0:1:/a",
           "framegate:1:+1:1:1:0:1:/a", "framegate:1:1: 1:1:0:1:/a", "framegate:1:1:1_0:1:0:1:/a", "x:1:1:1:1:0:1:/a",
           "framegate:1:1:1:1:0:1:", "framegate:1:1:1:٣:0:1:/a"]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_that_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ReferenceRefused, match="not a reference"):
        MappedSegments().array(text, "uint8", None)


def test_a_reference_that_points_outside_its_segment_is_refused(folder: Path) -> None:
    segments_of(folder, [1])
    (text,) = texts(folder, 0, 1)
    head, offset, length, path = text.rsplit(":", 3)
    size = files(folder)[0].stat().st_size
    for bad in (f"{head}:{size}:{length}:{path}", f"{head}:{offset}:{size}:{path}", f"{head}:{10**19}:1:{path}"):
        with pytest.raises(ReferenceRefused, match="outside its segment"):
            MappedSegments().array(bad, None, None)
    with pytest.raises(ReferenceRefused, match="does not fit its dtype"):
        MappedSegments().array(text, "float64", [7])


# --- how long it holds ----------------------------------------------------------------------------------------


def test_a_reference_that_outlived_its_segment_is_an_error(folder: Path) -> None:
    made = segments_of(folder, [2, 2])
    (text, _) = texts(folder, 0, 2)
    made.drop_oldest()
    with pytest.raises(ReferenceOutlived, match=f"epoch={EPOCH} segment=1 generation=1"):
        MappedSegments().array(text, "uint16", [2, 3])


@pytest.mark.parametrize("field", ["epoch", "generation"])
def test_a_segment_of_another_use_or_life_is_not_taken_for_it(folder: Path, field: str) -> None:
    segments_of(folder, [1])
    (text,) = texts(folder, 0, 1)
    parts = text.split(":", 7)
    parts[{"epoch": 2, "generation": 4}[field]] = "5"
    has_it_mapped = MappedSegments()
    has_it_mapped.array(text, "uint16", [2, 3])
    for mapped in (MappedSegments(), has_it_mapped):
        with pytest.raises(ReferenceOutlived):
            mapped.array(":".join(parts), "uint16", [2, 3])


def test_a_file_that_is_used_again_keeps_no_old_reference_alive(folder: Path) -> None:
    """The native writer takes dropped files for new segments: other rows in the same file, under another generation."""
    payload = bytes(range(200)) * 20
    writer = small_writer(folder, ["left"])
    (folder / "journal.json").write_text(
        '{"format": 1, "out_stream": 1, "journal_epoch": 1, "inputs": [{"name": "left", "stream": 1}]}'
    )
    for seq in range(4):
        append(writer, {"left": cell(payload, seq)})
    writer.seal()
    rows = pa.Table.from_batches(read(folder, 0, 4, inputs=("left",), epoch=1, payload="reference"))
    text = rows.column("left")[0].as_py()["ref"]
    inode = files(folder)[0].stat().st_ino
    del rows
    assert MappedSegments().array(text, None, None).tobytes() == payload
    seq = 4
    first = Reference.parse(text).ordinal
    while not any(path.stat().st_ino == inode and int(path.name[:8]) != first for path in files(folder)):
        assert seq < 2000, "the file was not used again"
        append(writer, {"left": cell(bytes(reversed(payload)), seq)})
        writer.seal()
        seq += 1
    with pytest.raises(ReferenceOutlived):
        MappedSegments().array(text, None, None)
    writer.close()


def test_an_array_keeps_its_bytes_also_when_its_segment_is_dropped_and_let_go(folder: Path) -> None:
    made = segments_of(folder, [2, 2])
    mapped = MappedSegments()
    array = mapped.array(texts(folder, 0, 2)[1], "uint16", [2, 3])
    made.drop_oldest()
    mapped.let_go()
    np.testing.assert_array_equal(array, left(1), strict=True)


def test_few_segments_stay_mapped_between_batches_and_none_that_was_dropped(folder: Path) -> None:
    made = segments_of(folder, [1] * (SEGMENTS_MAX + 3))
    mapped = MappedSegments()
    for text in texts(folder, 0, SEGMENTS_MAX + 3):
        mapped.array(text, "uint16", [2, 3])
    mapped.let_go()
    assert [key[2] for key in mapped._kept] == list(range(4, SEGMENTS_MAX + 4))
    for _ in range(5):
        made.drop_oldest()
    mapped.let_go()
    assert [key[2] for key in mapped._kept] == list(range(6, SEGMENTS_MAX + 4))
