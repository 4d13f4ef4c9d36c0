# SPDX-License-Identifier: Apache-2.0
"""The continued mark beside a stream's regions. The join engine has a reader of its own (tests/system)."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.shmpool.marks.continued import NAME, is_marked_continued, mark_continued


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "header.ring").touch(mode=0o640)
    (tmp_path / "header.ring").chmod(0o640)
    return tmp_path


def test_the_mark_is_of_one_epoch(folder: Path) -> None:
    assert not is_marked_continued(str(folder), 7)
    mark_continued(str(folder), 7)
    assert is_marked_continued(str(folder), 7)
    assert not is_marked_continued(str(folder), 8)
    assert not is_marked_continued(str(folder / "gone"), 7)


@pytest.mark.parametrize("text", ["", "{", '{"epoch":7}', '{"epoch": "7"}', "\xff", '{"epoch": 7}' + " " * 64])
def test_a_mark_that_is_none_is_believed_by_nobody(folder: Path, text: str) -> None:
    (folder / NAME).write_bytes(text.encode("latin-1"))
    assert not is_marked_continued(str(folder), 7)


def test_whoever_may_read_the_regions_may_read_the_mark_and_nothing_else_is_left(folder: Path) -> None:
    mark_continued(str(folder), 7)
    assert (folder / NAME).stat().st_mode & 0o777 == 0o640
    assert {path.name for path in folder.iterdir()} == {NAME, "header.ring"}
