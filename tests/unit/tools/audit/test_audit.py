# SPDX-License-Identifier: Apache-2.0
"""The auditor finds every kind of error in a journal that was doctored, and none in one that is in order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from framegate.spec.journal.writer import ReferenceJournalWriter
from framegate.tools.audit.auditing import Audit, audit
from framegate.tools.audit.ranges import Ranges
from framegate.tools.audit.retired import sums
from framegate.tools.audit.tables import AuditError

STREAM, EPOCH, NEXT = 10_001, 7, 9


class Desk:
    """A journal of one input that is written row by row, and a log of what was published."""

    def __init__(self, folder: Path, *, offset: int | None = 0, policy: str = "sequence") -> None:
        self.folder = folder
        rule = {"input": "left", "stream": STREAM, **({"window": 5} if offset is None else {"offset": offset})}
        described = {
            "format": 1,
            "out_stream": 20_001,
            "policy": policy,
            "inputs": [{"name": "left", "stream": STREAM}],
            "journal_epoch": 1,
            "maps": [{"version": 1, "out_epoch": 1, "rules": [rule]}],
        }
        (folder / "journal.json").write_text(json.dumps(described))
        self.writer = self._opened()
        self._sent: list[tuple[int, int]] = []

    def _opened(self) -> ReferenceJournalWriter:
        return ReferenceJournalWriter(self.folder, ["left"], out_stream=20_001, journal_epoch=1)

    def row(self, *seqs: int, epoch: int = EPOCH, **cells: Any) -> None:
        for seq in seqs:
            cell = {"seq": seq, "epoch": epoch, **cells}
            self.writer.append({"left": np.zeros(1, np.uint8)}, cells={"left": cell})

    def unmatched(self, first: int, last: int, cause: str, *, epoch: int = EPOCH) -> None:
        self.writer.unmatched("left", first, cause, seq_last=last, epoch=epoch)

    def seal(self, decided: int, *, epoch: int = EPOCH, has_ended: bool = False) -> None:
        self.writer.seal({"out_epoch": 1, "inputs": [[epoch, decided, decided, int(has_ended)]]})

    def next_file(self) -> None:
        """As another life of the agent does."""
        self.writer.finish_segment("rows")
        self.writer.finish_segment("unmatched")

    def sent(self, seqs: Iterable[int], *, epoch: int = EPOCH) -> None:
        self._sent += [(epoch, seq) for seq in seqs]

    def log(self) -> Path:
        lines = [f"{STREAM},{epoch},{seq},1" for epoch, seq in self._sent]
        path = self.folder / "sent.csv"
        path.write_text("\n".join(["stream,epoch,seq,timestamp_ns", *lines]) + "\n")
        return path

    def retire(self, table: str, before: int, *entries: dict[str, Any]) -> None:
        account = {"format": 1, "table": table, "journal_epoch": 1, "before": before, "segments": 1, "unread_rows": 0}
        (self.folder / table / "retired.json").write_text(json.dumps({**account, "entries": list(entries)}))

    def audit(self) -> Audit:
        return audit(self.folder, sent=[self.log()])

    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = self.audit()["inputs"]["left"]
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Of frames 0 to 9: 2 to 6 joined, 0, 1 and 7 not, 8 and 9 undecided."""
    desk = Desk(tmp_path)
    desk.row(2, 3, 4)
    desk.unmatched(0, 1, "before_first")
    desk.seal(4)
    desk.row(5, 6)
    desk.unmatched(7, 7, "no_partner")
    desk.seal(7)
    desk.sent(range(10))
    return desk


def entry(fate: str, frames: Ranges, *, exact: bool = True, epoch: int = EPOCH, **more: int) -> dict[str, Any]:
    count, total, squares = sums([frames])
    return {
        "input": "left",
        "epoch": epoch,
        "epochs": 1,
        "fate": fate,
        "frames": count,
        "repeats": 0,
        "first": frames.first,
        "last": frames.last,
        "sum": total,
        "squares": squares,
        "ranges": [list(pair) for pair in frames.pairs] if exact else None,
        **more,
    }


# --- in order ------------------------------------------------------------------------------------------------------


def test_a_running_join_has_a_fate_for_every_frame_and_the_rest_is_pending(desk: Desk) -> None:
    assert desk.figures() == {
        "published": 10,
        "joined": 5,
        "unmatched": {"before_first": 2, "no_partner": 1},
        "surplus": 0,
        "pending": 2,
        "unexplained": 0,
    }


def test_what_is_published_behind_the_end_of_the_join_is_surplus(desk: Desk) -> None:
    desk.writer.close()
    found = desk.figures()
    assert (found["surplus"], found["pending"], found["unexplained"]) == (2, 0, 0)


def test_what_was_published_before_the_join_listened_is_surplus(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.row(*range(5, 9))
    desk.seal(8)
    desk.sent(range(3), epoch=EPOCH - 1)
    desk.sent(range(9))
    assert desk.figures()["surplus"] == 8
    assert desk.audit().unexplained == 0


def test_an_epoch_that_passed_while_the_agent_was_away_is_surplus(desk: Desk) -> None:
    desk.unmatched(8, 9, "agent_down")
    desk.seal(9)
    desk.next_file()
    desk.row(0, 1, epoch=NEXT)
    desk.seal(1, epoch=NEXT)
    desk.sent(range(4), epoch=NEXT - 1)
    desk.sent(range(2), epoch=NEXT)
    found = desk.figures()
    assert (found["surplus"], found["unexplained"]) == (4, 0)


def test_a_window_may_hold_a_frame_in_many_rows(tmp_path: Path) -> None:
    desk = Desk(tmp_path, offset=None)
    desk.row(0, 0, 1, 1, 1)
    desk.seal(1)
    desk.sent(range(2))
    assert desk.figures()["joined"] == 2
    assert desk.audit().unexplained == 0


def test_without_a_log_nothing_is_said_of_what_was_published(desk: Desk) -> None:
    found = audit(desk.folder)["inputs"]["left"]
    assert (found["published"], found["joined"], found["surplus"], found["pending"]) == (None, 5, 0, 0)


def test_a_range_of_numbers_that_were_never_used_is_no_error(desk: Desk) -> None:
    desk.unmatched(8, 50, "agent_down")
    desk.seal(50)
    assert desk.figures()["unmatched"]["agent_down"] == 2
    assert desk.audit().unexplained == 0


def test_unmatched_frames_that_no_sealed_row_accounts_for_do_not_count(desk: Desk) -> None:
    desk.unmatched(8, 8, "late")
    desk.writer.seals += 1
    desk.writer._seal("unmatched", {"seal": desk.writer.seals})
    assert desk.figures()["pending"] == 2


def test_a_producer_that_was_killed_between_a_frame_and_its_line_is_no_error(desk: Desk) -> None:
    desk.row(8, 9, 10)
    desk.seal(10)
    assert desk.audit().unexplained == 0
    assert desk.figures()["published"] == 11


@pytest.mark.parametrize("is_exact", [True, False])
def test_frames_whose_rows_retention_removed_are_in_its_account(desk: Desk, is_exact: bool) -> None:
    desk.next_file()
    desk.row(8, 9)
    desk.seal(9)
    desk.writer.drop_oldest()
    desk.retire("segments", 5, entry("joined", Ranges([(2, 6)]), exact=is_exact))
    found = desk.figures()
    assert (found["joined"], found["unexplained"]) == (7, 0)


def test_an_account_of_several_epochs_is_checked_by_its_sums(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.row(0, 1, epoch=NEXT)
    desk.seal(1, epoch=NEXT)
    desk.sent([1, 2, 3], epoch=5)
    desk.sent([3, 4], epoch=6)
    desk.sent([0, 1], epoch=NEXT)
    count, total, squares = sums([Ranges([(1, 3)]), Ranges([(3, 4)])])
    both = {"frames": count, "sum": total, "squares": squares, "first": 1, "last": 4}
    merged = {**entry("joined", Ranges([(1, 4)]), exact=False, epoch=6, epochs=2), **both}
    desk.retire("segments", 0, merged)
    assert desk.audit().unexplained == 0


# --- doctored ------------------------------------------------------------------------------------------------------


def test_a_frame_without_a_fate_is_named(desk: Desk) -> None:
    desk.seal(9)
    found = desk.audit()
    assert [(each.input, each.epoch, each.first, each.last, each.what) for each in found.findings] == [
        ("left", EPOCH, 8, 9, "no fate")
    ]
    assert found.unexplained == 2


def test_the_tail_of_an_input_that_ended_is_not_surplus(desk: Desk) -> None:
    desk.writer.close({"out_epoch": 1, "inputs": [[EPOCH, 7, 7, 1]]})
    assert desk.audit().unexplained == 2


def test_the_tail_of_an_epoch_that_ended_while_the_agent_lived_is_named(desk: Desk) -> None:
    desk.row(0, 1, epoch=NEXT)
    desk.seal(1, epoch=NEXT)
    desk.sent(range(2), epoch=NEXT)
    assert [(each.epoch, each.first, each.last) for each in desk.audit().findings] == [(EPOCH, 8, 9)]


def test_the_head_of_a_later_epoch_is_not_surplus(desk: Desk) -> None:
    desk.unmatched(8, 9, "epoch")
    desk.row(2, 3, epoch=NEXT)
    desk.seal(3, epoch=NEXT)
    desk.sent(range(4), epoch=NEXT)
    assert [(each.epoch, each.first, each.last) for each in desk.audit().findings] == [(NEXT, 0, 1)]


@pytest.mark.parametrize("cause", ["late", "no_partner"])
def test_a_frame_that_is_joined_and_unmatched_is_named(desk: Desk, cause: str) -> None:
    desk.unmatched(3, 3, cause)
    desk.seal(7)
    [found] = desk.audit().findings
    assert (found.first, found.last) == (3, 3)
    assert "joined" in found.what


def test_a_frame_with_two_causes_is_named(desk: Desk) -> None:
    desk.unmatched(1, 1, "late")
    desk.seal(7)
    assert desk.audit().unexplained == 1


def test_a_frame_with_one_cause_twice_is_named(desk: Desk) -> None:
    desk.unmatched(7, 7, "no_partner")
    desk.seal(7)
    [found] = desk.audit().findings
    assert (found.first, found.what) == (7, "no_partner twice")


def test_a_frame_that_two_rows_hold_where_none_may_be_repeated_is_named(desk: Desk) -> None:
    desk.row(6)
    desk.seal(7)
    [found] = desk.audit().findings
    assert (found.first, found.what) == (6, "joined by two rows")


def test_a_frame_that_was_never_published_is_named(desk: Desk) -> None:
    desk.row(50, 60)
    desk.seal(7)
    assert [each.first for each in desk.audit().findings] == [50, 60]


def test_two_fates_are_found_without_a_log(desk: Desk) -> None:
    desk.unmatched(3, 3, "late")
    desk.seal(7)
    assert audit(desk.folder).unexplained == 1


@pytest.mark.parametrize("is_exact", [True, False])
def test_an_account_that_leaves_a_frame_out_is_found(desk: Desk, is_exact: bool) -> None:
    desk.next_file()
    desk.row(8, 9)
    desk.seal(9)
    desk.writer.drop_oldest()
    desk.retire("segments", 5, entry("joined", Ranges([(2, 5)]), exact=is_exact))
    assert desk.audit().unexplained == 1


def test_an_account_that_has_one_frame_for_another_is_found(desk: Desk) -> None:
    desk.next_file()
    desk.row(8, 9)
    desk.seal(9)
    desk.writer.drop_oldest()
    desk.retire("segments", 5, entry("joined", Ranges.of([2, 3, 4, 5, 9]), exact=False))
    assert desk.audit().unexplained >= 1


def test_an_account_whose_ranges_are_not_what_it_counts_is_found(desk: Desk) -> None:
    desk.next_file()
    desk.row(8, 9)
    desk.seal(9)
    desk.writer.drop_oldest()
    desk.retire("segments", 5, {**entry("joined", Ranges([(2, 6)])), "frames": 6})
    assert desk.audit().unexplained == 1


def test_rows_that_went_without_an_account_are_told(desk: Desk) -> None:
    desk.next_file()
    desk.row(8, 9)
    desk.seal(9)
    desk.writer.drop_oldest()
    found = desk.audit()
    assert found.unexplained == 5
    assert "rows 0 to 4" in found["notes"][0]


# --- its answers ---------------------------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_input(desk: Desk) -> None:
    [row] = desk.audit().to_arrow().to_pylist()
    assert row == {
        "input": "left",
        "published": 10,
        "joined": 5,
        "unmatched": 3,
        "causes": [("before_first", 2), ("no_partner", 1)],
        "surplus": 0,
        "pending": 2,
        "unexplained": 0,
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [("journal.json", "{}"), ("journal.json", "x"), ("segments/retired.json", "[]"), ("sent.csv", "stream,seq\n")],
)
def test_a_file_that_makes_no_sense_is_refused_by_name(desk: Desk, name: str, content: str) -> None:
    log = desk.log()
    (desk.folder / name).write_text(content)
    with pytest.raises(AuditError, match=name.rpartition("/")[2]):
        audit(desk.folder, sent=[log])
