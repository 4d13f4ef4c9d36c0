# SPDX-License-Identifier: Apache-2.0
"""Checks the rules that the columns of one batch must keep, beside their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.causes import Absence, Cause
from framegate.joinbarrier.journal.description import JournalDescription
from framegate.schema.errors import JournalDamaged

_PRESENT: Final = "present"
STATUSES: Final = (_PRESENT, *get_args(Absence))


def check_rows(batch: Batch, info: JournalDescription) -> None:
    """Check a batch of the rows table. Raises JournalDamaged with the first row that breaks a rule."""
    columns = batch.record_batch
    numbers = np.arange(batch.first_row, batch.end_row)
    _same(batch, "row", columns.column("row"), numbers)
    _same(batch, "out_stream", columns.column("out_stream"), np.full_like(numbers, info.out_stream))
    _same(batch, "journal_epoch", columns.column("journal_epoch"), np.full_like(numbers, info.journal_epoch))
    for each in info.inputs:
        _check_input(batch, each.name, columns.column(each.name))


def check_unmatched(batch: Batch, streams: Mapping[str, int]) -> None:
    """Check a batch of the unmatched table. Raises JournalDamaged."""
    columns = batch.record_batch
    for name, known in (("input", tuple(streams)), ("cause", tuple(Cause))):
        _all(batch, f"an unknown {name}", pc.is_in(columns.column(name), pa.array(known, pa.utf8())))
    _all(batch, "a range that ends before it begins", pc.less_equal(columns.column("seq"), columns.column("seq_last")))


def _same(batch: Batch, name: str, column: pa.Array, want: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    _all(batch, f"a wrong {name}", pc.equal(column, pa.array(want, pa.int64())))


def _check_input(batch: Batch, name: str, column: pa.StructArray) -> None:
    if column.null_count:
        raise JournalDamaged("a null in a column of structs", input=name, first_row=batch.first_row)
    status, payload = column.field("status"), column.field("payload")
    _all(batch, "an unknown status", pc.is_in(status, pa.array(STATUSES, pa.utf8())), input=name)
    is_present = pc.equal(status, _PRESENT)
    _all(batch, "payload and status disagree", pc.equal(pc.is_valid(payload), is_present), input=name)
    _all(batch, "a present frame without a sequence", pc.or_(pc.invert(is_present), column.field("seq").is_valid()))


def _all(batch: Batch, problem: str, holds: pa.Array, **facts: object) -> None:
    """Raise JournalDamaged unless ``holds`` is true for every row; null counts as false."""
    broken = [index for index, value in enumerate(holds.to_pylist()) if value is not True]
    if broken:
        error = JournalDamaged(problem, row=batch.first_row + broken[0])
        error.facts.update(facts)
        raise error
