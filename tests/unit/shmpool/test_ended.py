# SPDX-License-Identifier: Apache-2.0
"""The ended mark beside a stream's regions."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.shmpool.marks.ended import FORMER, NAME, former_end, is_marked_ended, last_end, mark_ended, mark_former


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "header.ring").touch(mode=0o640)
    (tmp_path / "header.ring").chmod(0o640)
    return tmp_path


@pytest.mark.parametrize("after_seq", [None, 0, 41])
def test_the_mark_says_after_which_frame_its_epoch_ended(folder: Path, after_seq: int | None) -> None:
    mark_ended(str(folder), 7, after_seq)
    assert is_marked_ended(str(folder), 7) == (True, after_seq)


def test_the_mark_of_another_epoch_means_nothing(folder: Path) -> None:
    mark_ended(str(folder), 7, 1)
    assert is_marked_ended(str(folder), 8) == (False, None)


def test_without_a_mark_nothing_has_ended(folder: Path) -> None:
    assert is_marked_ended(str(folder), 7) == (False, None)
    assert is_marked_ended(str(folder / "gone"), 7) == (False, None)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "null", '{"epoch": "7"}', '{"after_seq": 3}', "\xff", "[" * 100_000]
)
def test_a_mark_that_is_none_is_believed_by_nobody(folder: Path, text: str) -> None:
    (folder / NAME).write_text(text, encoding="latin-1")
    assert is_marked_ended(str(folder), 7) == (False, None)


@pytest.mark.parametrize("after", ['"3"', "true", "1.5", "{}"])
def test_a_sequence_that_is_none_is_left_out(folder: Path, after: str) -> None:
    (folder / NAME).write_text(f'{{"epoch": 7, "after_seq": {after}}}')
    assert is_marked_ended(str(folder), 7) == (True, None)


def test_whoever_may_read_the_regions_may_read_the_mark_and_nothing_else_is_left(folder: Path) -> None:
    mark_ended(str(folder), 7, 1)
    mark_ended(str(folder), 7, 2)
    assert (folder / NAME).stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in folder.iterdir()) == [NAME, "header.ring"]


def test_a_folder_that_is_gone_is_nobodys_loss(tmp_path: Path) -> None:
    mark_ended(str(tmp_path / "gone"), 7, 1)
    assert list(tmp_path.iterdir()) == []


def test_regions_that_are_gone_leave_no_mark_behind(tmp_path: Path) -> None:
    mark_ended(str(tmp_path), 7, 1)
    assert list(tmp_path.iterdir()) == []


def test_the_former_mark_tells_of_an_epoch_before_its_own_folder_s(folder: Path) -> None:
    assert last_end(str(folder), 9) is None
    mark_former(str(folder), 7, 41)
    assert former_end(str(folder), 9) == last_end(str(folder), 9) == (7, 41)
    assert former_end(str(folder), 7) is None, "it is not before itself"
    mark_ended(str(folder), 9, None)
    assert last_end(str(folder), 9) == (9, None)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"epoch": true}', '{"epoch": -1}', '{"epoch": "7"}', '{"epoch": 1e3}']
)
def test_a_former_mark_that_is_anything_else_means_nothing(folder: Path, text: str) -> None:
    (folder / FORMER).write_text(text)
    assert former_end(str(folder), 9) is None
