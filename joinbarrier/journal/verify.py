# SPDX-License-Identifier: Apache-2.0
"""Verifies a journal: every checksum, row number and cursor, up to the first inconsistency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.cursors import CursorCheck
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.journal import Journal, accounted_by
from framegate.joinbarrier.journal.layout import segment_names
from framegate.joinbarrier.journal.naming import naming
from framegate.joinbarrier.journal.row_checks import check_rows, check_unmatched
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.journal.walk import Walk
from framegate.schema.errors import DataLoss, FramegateError, JournalDamaged

_OVERTAKEN_MAX: Final = 1000


@dataclass(slots=True)
class Verified:
    """What was verified, and the first inconsistency if there is one."""

    rows: int = 0
    batches: int = 0
    segments: int = 0
    unmatched_rows: int = 0
    overtaken_rows: int = 0
    """Rows that retention dropped just before they could be verified."""
    problem: FramegateError | None = None

    @property
    def is_consistent(self) -> bool:
        """Whether no inconsistency was found."""
        return self.problem is None


def verify(journal: Journal, result: Verified | None = None) -> Verified:
    """Verify everything that is sealed now, also beside a writer; a ``result`` that is given counts meanwhile."""
    result = result or Verified()
    try:
        head = Head.open(journal.path)
        told_row = head.next_row if head is not None else 0
        last_seal = _verify_rows(journal, result)
        _verify_unmatched(journal, result, last_seal)
        _verify_head(journal, told_row)
    except FramegateError as problem:
        result.problem = problem
    return result


def _verify_rows(journal: Journal, result: Verified) -> int:
    cursors, last_seal, info = CursorCheck(), 0, journal.info
    for path, batch in _counted(journal, result):
        with naming(path):
            batch.check()
            check_rows(batch, info)
            if batch.numbers.seal <= last_seal:
                raise JournalDamaged("seals do not grow", first_row=batch.first_row, seal=batch.numbers.seal)
            cursors.on_state(batch.state, batch.first_row)
        last_seal = batch.numbers.seal
        result.rows += batch.numbers.rows
        result.batches += 1
    return last_seal


def _counted(journal: Journal, result: Verified) -> Iterator[tuple[Path, Batch]]:
    """Every batch with its file, from the oldest on. Segments are counted, and their footers checked."""
    segments = _Segments(result)
    walk = journal.walk(on_segment=segments.enter)
    for _ in range(_OVERTAKEN_MAX):
        try:
            while (batch := walk.next()) is not None:
                segments.batches += 1
                yield segments.path, batch
            segments.leave()
            return
        except DataLoss as loss:
            if _is_a_hole(journal, walk):
                hole = JournalDamaged("rows are missing between segments")
                hole.facts.update(loss.facts)
                raise hole from None
            result.overtaken_rows += int(str(loss.facts["rows"]))
            walk = journal.walk(start=int(str(loss.facts["last_row"])) + 1, on_segment=segments.enter)


class _Segments:
    """Counts the batches of the walk's present segment, to compare the number with the segment's footer."""

    def __init__(self, result: Verified) -> None:
        self._result = result
        self._current: Segment | None = None
        self.batches = 0

    @property
    def path(self) -> Path:
        """The path of the present segment."""
        assert self._current is not None  # noqa: S101 - asked only inside a segment
        return self._current.path

    def enter(self, segment: Segment) -> None:
        self.leave()
        self._current, self.batches = segment, 0
        self._result.segments += 1

    def leave(self) -> None:
        # A segment that was open when it was mapped gets its footer only later.
        if self._current is not None and not self._current.name.is_open:
            named = self._current.footer_batches()
            if named != self.batches:
                raise JournalDamaged(
                    "the footer names other batches", path=self._current.path, want=self.batches, have=named
                )


def _is_a_hole(journal: Journal, walk: Walk[Batch]) -> bool:
    """Whether segments older than the missing ones still exist. Retention would have removed those first."""
    standing = walk.segment
    return standing is not None and any(
        name.ordinal <= standing.name.ordinal for name in segment_names(journal.path, "rows")
    )


def _verify_unmatched(journal: Journal, result: Verified, last_seal: int) -> None:
    inputs = {each.name: each.stream for each in journal.info.inputs}
    walk, seal = journal.walk("unmatched"), 0
    is_open = (head := Head.open(journal.path)) is not None and not head.is_closed
    while (batch := walk.next()) is not None:
        assert walk.segment is not None  # noqa: S101 - it has just given a batch
        with naming(walk.segment.path):
            batch.check()
            check_unmatched(batch, inputs)
            before, seal = seal, accounted_by(batch)
        if seal < before:
            raise JournalDamaged("unmatched entries of an older seal follow", want_from=before, have=seal)
        if seal > last_seal and not is_open:
            raise JournalDamaged("no sealed state accounts for unmatched entries", want_until=last_seal, have=seal)
        result.unmatched_rows += batch.numbers.rows


def _verify_head(journal: Journal, told_row: int) -> None:
    if journal.sealed_row < told_row:
        raise JournalDamaged("the head speaks of rows that are not there", want=told_row, have=journal.sealed_row)
