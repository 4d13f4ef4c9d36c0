# SPDX-License-Identifier: Apache-2.0
"""Frames made all at once are those that are made one by one; what is not plainly alike is left to that way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from framegate.joinbarrier.spark.read import frames as frames_module
from framegate.joinbarrier.spark.read.frames import frames, stacks
from framegate.joinbarrier.tables.same_shape import one_format, runs, stretches
from framegate.schema.errors import FramegateError, ReferenceOutlived, ReferenceRefused

from tests.unit.joinbarrier.journal.journal_world import fill, left, segments_of, writer
from tests.unit.joinbarrier.spark.test_references import column

ROWS = 15


@pytest.fixture(params=["value", "reference"])
def lefts(request: pytest.FixtureRequest, folder: Path) -> pa.StructArray:
    """One array, over several batches and segments."""
    segments_of(folder, [5, 7, 3])
    return column(folder, 0, ROWS, payload=request.param).combine_chunks()


@pytest.fixture
def only_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked at cell by cell."""

    def refused(column: Any) -> None:
        raise AssertionError(f"not alike: {column.type}")

    monkeypatch.setattr(frames_module, "_one_by_one", refused)


def with_cells(column: pa.StructArray, name: str, change: Callable[[int, Any], Any]) -> pa.StructArray:
    """The column with other values in one field."""
    names = [field.name for field in column.type]
    arrays = [column.field(each) for each in names]
    index = names.index(name)
    cells = [change(row, value) for row, value in enumerate(arrays[index].to_pylist())]
    arrays[index] = pa.array(cells, arrays[index].type)
    return pa.StructArray.from_arrays(arrays, fields=list(column.type))


def payload_of(column: pa.StructArray) -> str:
    return "ref" if any(field.name == "ref" for field in column.type) else "payload"


# --- at once -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("only_at_once")
def test_the_frames_are_the_joined_arrays_over_batches_and_segments(lefts: pa.StructArray) -> None:
    for row, array in enumerate(frames(lefts)):
        np.testing.assert_array_equal(array, left(row), strict=True)
        assert array is not None
        assert not array.flags.writeable


@pytest.mark.usefixtures("only_at_once")
@pytest.mark.parametrize("order", [[*range(ROWS)][::-1], [3, 3, 0, 14, 5, 1], [7]])
def test_rows_in_any_order_have_their_own_frames(lefts: pa.StructArray, order: list[int]) -> None:
    for row, array in zip(order, frames(lefts.take(pa.array(order))), strict=True):
        np.testing.assert_array_equal(array, left(row), strict=True)


@pytest.mark.usefixtures("only_at_once")
def test_a_slice_begins_with_its_own_first_row(lefts: pa.StructArray) -> None:
    for row, array in zip(range(4, 13), frames(lefts.slice(4, 9)), strict=True):
        np.testing.assert_array_equal(array, left(row), strict=True)


@pytest.mark.usefixtures("only_at_once")
def test_absent_frames_keep_their_places(lefts: pa.StructArray) -> None:
    absent = {0, 6, 7, 14}
    for name in (payload_of(lefts), "dtype", "shape"):
        lefts = with_cells(lefts, name, lambda row, value: None if row in absent else value)
    for row, array in enumerate(frames(lefts)):
        if row in absent:
            assert array is None
        else:
            np.testing.assert_array_equal(array, left(row), strict=True)


@pytest.mark.parametrize("payload", ["value", "reference"])
def test_many_segments_are_no_obstacle(folder: Path, payload: str) -> None:
    """More than are looked for at once: then one by one."""
    segments_of(folder, [1] * 20)
    for row, array in enumerate(frames(column(folder, 0, 20, payload=payload).combine_chunks())):
        np.testing.assert_array_equal(array, left(row), strict=True)


@pytest.mark.usefixtures("only_at_once")
def test_frames_that_lie_back_to_back_are_one_stack(lefts: pa.StructArray) -> None:
    found = stacks(lefts)
    assert [len(stack) for stack in found] == ([ROWS] if payload_of(lefts) == "payload" else [5, 7, 3])
    np.testing.assert_array_equal(np.concatenate(found), np.stack([left(row) for row in range(ROWS)]), strict=True)
    assert not any(stack.flags.writeable for stack in found)


@pytest.mark.usefixtures("only_at_once")
def test_a_row_without_a_frame_is_in_no_stack(lefts: pa.StructArray) -> None:
    absent = {0, 6, 7, 14}
    for name in (payload_of(lefts), "dtype", "shape"):
        lefts = with_cells(lefts, name, lambda row, value: None if row in absent else value)
    present = lefts.field("dtype").is_valid().to_pylist()
    expected = [left(row) for row in range(ROWS) if present[row]]
    assert len(expected) == ROWS - len(absent)
    np.testing.assert_array_equal(np.concatenate(stacks(lefts)), np.stack(expected), strict=True)
    for name in (payload_of(lefts), "dtype", "shape"):
        lefts = with_cells(lefts, name, lambda row, value: None)
    assert stacks(lefts) == []


# --- not at once, and right all the same -----------------------------------------------------------------------


def test_many_segments_are_as_many_stacks(folder: Path) -> None:
    segments_of(folder, [1] * 20)
    found = stacks(column(folder, 0, 20))
    np.testing.assert_array_equal(np.concatenate(found), np.stack([left(row) for row in range(20)]), strict=True)


def test_frames_of_several_formats_are_no_stack(lefts: pa.StructArray) -> None:
    other = with_cells(lefts, "shape", lambda row, value: [6] if row == 9 else value)
    for several in (other, pa.chunked_array([other.slice(0, 9), other.slice(9, 1)])):
        with pytest.raises(ReferenceRefused, match=r"\(2, 3\); .*\(6,\): frames of several dtypes or shapes"):
            stacks(several)
    assert sum(map(len, stacks(other.slice(0, 9)))) == 9


def test_frames_of_several_formats_are_each_their_own(lefts: pa.StructArray) -> None:
    other = {1: ("int16", [6]), 2: ("uint8", [3, 4]), 9: ("uint16", [3, 2])}
    lefts = with_cells(lefts, "dtype", lambda row, value: other.get(row, (value, 0))[0])
    lefts = with_cells(lefts, "shape", lambda row, value: other.get(row, (0, value))[1])
    for row, array in enumerate(frames(lefts)):
        dtype, shape = other.get(row, ("uint16", [2, 3]))
        np.testing.assert_array_equal(array, left(row).view(dtype).reshape(shape), strict=True)


@pytest.mark.parametrize("payload", ["value", "reference"])
def test_a_frame_without_dimensions_is_an_array(folder: Path, payload: str) -> None:
    made = writer(folder)
    for value in (7, 8):
        made.append({"left": np.array([value], np.int64), "right": "stale"})
    made.seal({})
    found = with_cells(column(folder, 0, 2, payload=payload).combine_chunks(), "shape", lambda *_: [])
    for value, array in zip((7, 8), frames(found), strict=True):
        np.testing.assert_array_equal(array, np.array(value, np.int64), strict=True)


@pytest.mark.parametrize("row", [0, 8, ROWS - 1])
def test_one_wrong_shape_among_many_is_refused(lefts: pa.StructArray, row: int) -> None:
    for shape in ([2, 4], [-2, -3], [0], [], [2**31 - 1, 2]):
        broken = with_cells(lefts, "shape", lambda at, value: shape if at == row else value)  # noqa: B023
        with pytest.raises(FramegateError, match="does not fit its dtype"):
            frames(broken)


def test_a_wrong_shape_of_all_is_refused(lefts: pa.StructArray) -> None:
    for shape in ([2, 4], [-2, -3], [0]):
        with pytest.raises(FramegateError, match="does not fit its dtype"):
            frames(with_cells(lefts, "shape", lambda _, value: shape))  # noqa: B023


def changed(text: str, part: int, value: str) -> str:
    parts = text.split(":", 7)
    parts[part] = value
    return ":".join(parts)


@pytest.mark.parametrize("row", [0, 8, ROWS - 1])
@pytest.mark.parametrize(
    ("part", "value", "error"),
    [
        (0, "other", ReferenceRefused),
        (1, "2", ReferenceRefused),
        (2, "5", ReferenceOutlived),
        (3, "77", ReferenceOutlived),
        (4, "9", ReferenceOutlived),
        (5, "", ReferenceRefused),
        (5, "-1", ReferenceRefused),
        (5, "0x10", ReferenceRefused),
        (5, " 64", ReferenceRefused),
        (5, "1:2", ReferenceRefused),
        (5, "99999999", ReferenceRefused),
        (5, "9" * 18, ReferenceRefused),
        (5, "9" * 19, ReferenceRefused),
        (5, "9" * 30, ReferenceRefused),
        (6, "13", ReferenceRefused),
        (6, "012x", ReferenceRefused),
        (7, "segments", ReferenceRefused),
        (7, "/nowhere", FramegateError),
    ],
)
def test_one_wrong_reference_among_many_is_refused(
    folder: Path, row: int, part: int, value: str, error: type[FramegateError]
) -> None:
    segments_of(folder, [5, 7, 3])
    lefts = column(folder, 0, ROWS).combine_chunks()
    broken = with_cells(lefts, "ref", lambda at, text: changed(text, part, value) if at == row else text)
    with pytest.raises(error):
        frames(broken)


def test_a_reference_may_not_end_outside_its_segment(folder: Path) -> None:
    """The last place where a frame fits, and the first where it does not."""
    segments_of(folder, [2])
    lefts = column(folder, 0, 2).combine_chunks()
    (path,) = (folder / "segments").iterdir()
    size = path.stat().st_size
    for offset in (size - 12, size - 11):
        moved = with_cells(lefts, "ref", lambda at, text: changed(text, 5, str(offset)) if at else text)  # noqa: B023
        if offset + 12 <= size:
            last = frames(moved)[1]
            assert last is not None
            assert last.tobytes() == path.read_bytes()[-12:]
        else:
            with pytest.raises(ReferenceRefused, match="outside its segment"):
                frames(moved)


# --- the parts -------------------------------------------------------------------------------------------------


def test_a_format_is_only_what_all_have() -> None:
    shapes = pa.array([[2, 3], [2, 3]], pa.list_(pa.int32()))
    form = one_format(pa.array(["uint16", "uint16"]), shapes)
    assert form is not None
    assert (form.dtype, form.dims, form.frame_bytes) == (np.dtype("<u2"), (2, 3), 12)
    assert one_format(pa.array(["uint16", "int16"]), shapes) is None
    assert one_format(pa.array(["uint16", None]), shapes) is None
    assert one_format(pa.array(["complex", "complex"]), shapes) is None
    others: list[Any] = [
        [[2, 3], [3, 2]],
        [[2, 3], [6]],
        [[2, 3], None],
        [[2, None], [2, None]],
        [[], []],
        [[0], [0]],
    ]
    for other in others:
        assert one_format(pa.array(["uint16", "uint16"]), pa.array(other, pa.list_(pa.int32()))) is None


def test_neighbours_in_memory_share_one_array() -> None:
    form = one_format(pa.array(["uint8"]), pa.array([[2]], pa.list_(pa.int32())))
    assert form is not None
    found = stretches(bytes(range(20)), np.array([0, 2, 4, 9, 11, 3]), form)
    assert [array.tolist() for array in found] == [[[0, 1], [2, 3], [4, 5]], [[9, 10], [11, 12]], [[3, 4]]]
    assert stretches(b"", np.array([], np.int64), form) == []


def test_runs_end_where_anything_but_the_offset_changes() -> None:
    texts = [f"framegate:1:1:{segment}:1:{offset}:4:/a:b" for segment, offset in ((1, 0), (1, 4), (2, 0), (1, 9))]
    found = runs(pa.array(texts), 4)
    assert found is not None
    assert [run.offsets.tolist() for run in found] == [[0, 4], [0], [9]]
    assert runs(pa.array(texts), 5) is None


def test_a_journal_that_grows_between_columns_is_followed(folder: Path) -> None:
    made = writer(folder)
    for rows in (3, 4):
        fill(made, rows)
        lefts = column(folder, 0, made.next_row).combine_chunks()
        assert len(frames(lefts)) == made.next_row
