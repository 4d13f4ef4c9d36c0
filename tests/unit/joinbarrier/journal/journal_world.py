# SPDX-License-Identifier: Apache-2.0
"""A journal with two inputs, written by the reference writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.spec.journal.writer import ReferenceJournalWriter

OUT_STREAM: Final = 20001
EPOCH: Final = 1_700_000_000_000_000_000
INPUTS: Final = ("left", "right")


def left(row: int) -> npt.NDArray[Any]:
    return (np.arange(6, dtype=np.uint16) + row).reshape(2, 3)


def right(row: int) -> npt.NDArray[Any]:
    return np.full(row % 4 + 1, row, np.float32)


def writer(directory: Path, *, epoch: int = EPOCH, **options: Any) -> ReferenceJournalWriter:
    inputs = tuple(JournalInput(name=name, stream=10001 + index) for index, name in enumerate(INPUTS))
    write_description(directory, JournalDescription(out_stream=OUT_STREAM, journal_epoch=epoch, inputs=inputs))
    return ReferenceJournalWriter(directory, INPUTS, out_stream=OUT_STREAM, journal_epoch=epoch, **options)


def fill(made: ReferenceJournalWriter, rows: int) -> None:
    """Append rows whose content follows from their number; every third has no right input. Seal them as one batch."""
    for _ in range(rows):
        row = made.next_row
        made.append({"left": left(row), "right": "stale" if row % 3 == 2 else right(row)})
    last = made.next_row - 1
    made.seal({"out_epoch": 1, "out_seq": last + 1, "inputs": [[1, last, last, 0]] * 2})


def segments_of(directory: Path, batches: list[int], *, is_cut: bool = True) -> ReferenceJournalWriter:
    """One finished segment for each number, holding that many rows; the next seal begins another."""
    made = writer(directory)
    for rows in batches:
        fill(made, rows)
        made.finish_segment(is_cut=is_cut)
    return made


def assert_is_row(row: Any, number: int) -> None:
    """What ``fill`` wrote, seen through a view."""
    assert (row["row"], row["out_stream"], row["journal_epoch"]) == (number, OUT_STREAM, EPOCH)
    np.testing.assert_array_equal(row["left"], left(number), strict=True)
    assert row.inputs["left"].seq == number
    if number % 3 == 2:
        assert row["right"] is None
        assert row.inputs["right"].status == "stale"
    else:
        np.testing.assert_array_equal(row["right"], right(number), strict=True)
