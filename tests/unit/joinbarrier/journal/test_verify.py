# SPDX-License-Identifier: Apache-2.0
"""What ``verify`` finds wrong, and that it finds nothing in a journal that is whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.journal.cursors import CursorCheck
from framegate.joinbarrier.journal.description import read_description, write_description
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.layout import HeadWord, segment_names
from framegate.joinbarrier.journal.verify import Verified, verify
from framegate.schema.errors import JournalDamaged
from framegate.spec.journal.writer import ReferenceJournalWriter

from tests.unit.joinbarrier.journal.journal_world import EPOCH, OUT_STREAM, fill, left, segments_of, writer


def problem_of(folder: Path) -> str:
    found = verify(Journal(folder)).problem
    return "" if found is None else found.message


def state(seq: int, *, out_epoch: int = 1, epoch: int = 1, out_seq: int = 4) -> dict[str, Any]:
    return {"out_epoch": out_epoch, "out_seq": out_seq, "inputs": [[-1, -1, -1, 0], [epoch, seq, seq, 0]]}


def test_a_whole_journal_is_consistent_open_or_closed(folder: Path) -> None:
    made = segments_of(folder, [4, 3])
    made.unmatched("left", 3, "late")
    fill(made, 2)
    assert verify(Journal(folder)) == Verified(rows=9, batches=3, segments=3, unmatched_rows=1)
    made.close()
    assert verify(Journal(folder)) == Verified(rows=9, batches=3, segments=3, unmatched_rows=1)


def test_an_empty_journal_is_consistent(folder: Path) -> None:
    writer(folder)
    assert verify(Journal(folder)) == Verified()


def test_what_retention_dropped_is_no_inconsistency(folder: Path) -> None:
    segments_of(folder, [4, 3, 2]).drop_oldest()
    assert verify(Journal(folder)) == Verified(rows=5, batches=2, segments=2)


def test_every_byte_of_payload_and_state_is_under_the_check_sum(folder: Path) -> None:
    """Every single-byte change of a batch that counts is found; none makes a reader fall over."""
    made = writer(folder, segment_bytes=1 << 14, state_capacity=16)
    made.append({"left": left(0), "right": "stale"})
    made.seal({"a": 1})
    (batch,) = Journal(folder).batches()
    begin, end = batch.message.offset, batch.message.end
    protected = set[int]()
    for offset, length in batch.message.buffers():
        protected |= set(range(offset, offset + length))
    path = folder / "segments" / str(segment_names(folder, "rows")[0])
    whole = path.read_bytes()
    at = whole.index(batch.raw_state)
    protected |= set(range(at, at + len(batch.raw_state)))
    accepted = set[int]()
    for position in range(begin, end):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        found = verify(Journal(folder))
        if found.is_consistent and found.rows == 1:
            accepted.add(position)
    # What may change unseen: gaps between buffers, and fields of the metadata that nothing depends on.
    assert not accepted & protected
    assert len(protected) > 150


def test_every_cut_of_a_finished_segment_is_found(folder: Path) -> None:
    made = segments_of(folder, [1])
    made.close()
    (path,) = (folder / "segments").iterdir()
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert problem_of(folder), length


def test_a_missing_middle_segment_is_named_with_its_rows(folder: Path) -> None:
    segments_of(folder, [4, 3, 2])
    (folder / "segments" / str(segment_names(folder, "rows")[1])).unlink()
    found = verify(Journal(folder)).problem
    assert found is not None
    assert found.message == "rows are missing between segments"
    assert (found.facts["first_row"], found.facts["last_row"]) == (4, 6)


def test_a_missing_newest_segment_is_found_by_the_head(folder: Path) -> None:
    segments_of(folder, [4, 3]).close()
    (folder / "segments" / str(segment_names(folder, "rows")[1])).unlink()
    assert problem_of(folder) == "the head speaks of rows that are not there"


def test_retention_that_overtakes_the_check_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = segments_of(folder, [2, 3, 4])
    check, dropped = CursorCheck.on_state, list[int]()

    def drop_two(self: CursorCheck, state: Any, first_row: int) -> None:
        if not dropped:
            dropped.extend([1, 2])
            made.drop_oldest()
            made.drop_oldest()
        check(self, state, first_row)

    monkeypatch.setattr(CursorCheck, "on_state", drop_two)
    assert verify(Journal(folder)) == Verified(rows=6, batches=2, segments=2, overtaken_rows=3)


def test_a_footer_that_names_fewer_batches_is_found(folder: Path) -> None:
    made = writer(folder)
    fill(made, 2)
    fill(made, 2)
    path = folder / "segments" / str(segment_names(folder, "rows")[0])
    other = folder / "other"
    other.mkdir()
    segments_of(other, [2])
    (finished,) = (other / "segments").iterdir()
    footer = finished.read_bytes()
    made.finish_segment()
    whole = path.with_suffix(".arrow").read_bytes()
    # The end of a segment that holds only the first batch: same places, one block.
    path.with_suffix(".arrow").write_bytes(whole + footer[-(int.from_bytes(footer[-10:-6], "little") + 10) :])
    assert problem_of(folder) == "the footer names other batches"


@pytest.mark.parametrize(
    ("row", "cells", "problem"),
    [
        ({"row": 5}, {}, "a wrong row"),
        ({"out_stream": OUT_STREAM + 1}, {}, "a wrong out_stream"),
        ({"journal_epoch": EPOCH + 1}, {}, "a wrong journal_epoch"),
        ({"row": None}, {}, "a wrong row"),
        ({}, {"left": {"status": "here"}}, "an unknown status"),
        ({}, {"left": {"status": None}}, "an unknown status"),
        ({}, {"left": {"payload": None}}, "payload and status disagree"),
        ({}, {"left": {"status": "late"}}, "payload and status disagree"),
        ({}, {"left": {"seq": None}}, "a present frame without a sequence"),
    ],
)
def test_columns_that_break_a_rule_are_named_with_their_row(
    folder: Path, row: dict[str, Any], cells: dict[str, Any], problem: str
) -> None:
    made = writer(folder)
    fill(made, 1)
    made.append({"left": left(1), "right": "late"}, cells=cells, **row)
    made.seal()
    found = verify(Journal(folder)).problem
    assert found is not None
    assert found.message == problem
    assert found.facts["row"] == 1


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"input_name": "middle", "cause": "late"}, "an unknown input"),
        ({"input_name": "left", "cause": "bad luck"}, "an unknown cause"),
        ({"input_name": "left", "cause": "late", "seq_last": 6}, "a range that ends before it begins"),
    ],
)
def test_unmatched_entries_that_break_a_rule_are_found(folder: Path, entry: dict[str, Any], problem: str) -> None:
    made = writer(folder)
    made.unmatched(seq=7, **entry)
    fill(made, 1)
    assert problem_of(folder) == problem


def test_unmatched_entries_that_no_sealed_state_accounts_for_are_found_once_the_writer_has_closed(folder: Path) -> None:
    made = writer(folder)
    fill(made, 1)
    made.unmatched("left", 7, "late")
    made._seal("unmatched", {"seal": 9})
    assert problem_of(folder) == ""
    made.close()
    assert problem_of(folder) == "no sealed state accounts for unmatched entries"


def forge(made: ReferenceJournalWriter) -> None:
    made.seals -= 1


@pytest.mark.parametrize(
    ("between", "first", "second", "problem"),
    [
        (None, state(9), state(8), "a cursor went back"),
        (None, state(9, epoch=2), state(10, epoch=1), "a cursor went back"),
        (None, state(9, out_epoch=2), state(9, out_epoch=1), "the output epoch went back"),
        (None, state(9, out_seq=5), state(9, out_seq=4), "a cursor went back"),
        (None, state(9), state(-1), "a cursor went back"),
        (forge, state(1), state(2), "seals do not grow"),
        (None, state(-1, epoch=-1), state(0), ""),
        (None, state(9), state(9), ""),
        (None, state(9), state(2, out_epoch=2), ""),
        (None, state(9), state(2, epoch=2), ""),
    ],
)
def test_states_and_seals_only_go_on(
    folder: Path,
    between: Callable[[ReferenceJournalWriter], None] | None,
    first: dict[str, Any],
    second: dict[str, Any],
    problem: str,
) -> None:
    made = writer(folder)
    made.seal(first)
    if between is not None:
        between(made)
    made.seal(second)
    assert problem_of(folder) == problem


def test_a_description_of_other_inputs_is_found(folder: Path) -> None:
    segments_of(folder, [2])
    described = read_description(folder)
    write_description(folder, type(described)(out_stream=OUT_STREAM, journal_epoch=EPOCH, inputs=described.inputs[:1]))
    found = verify(Journal(folder)).problem
    assert isinstance(found, JournalDamaged)
    assert re.search("column", found.message)


def test_the_head_of_a_running_writer_may_lag(folder: Path) -> None:
    made = segments_of(folder, [2])
    fill(made, 2)
    made._head[HeadWord.NEXT_ROW] = 2
    assert problem_of(folder) == ""
