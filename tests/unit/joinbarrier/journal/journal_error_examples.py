# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of a journal's readers, through product code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.layout import ROWS_FOLDER, SegmentName

from tests.unit.joinbarrier.journal.journal_world import EPOCH, fill, segments_of, writer


def _in_a_folder(example: Callable[[Path], object]) -> Callable[[], None]:
    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            example(Path(folder))

    return run


def _no_segment(folder: Path) -> None:
    writer(folder)
    (folder / ROWS_FOLDER / str(SegmentName(1, 0, is_open=False))).write_bytes(b"no segment at all")
    list(Journal(folder).rows())


def _dropped(folder: Path) -> None:
    segments_of(folder, [1, 1]).drop_oldest()
    list(Journal(folder).rows(start=0))


def _claimed_twice(folder: Path) -> None:
    segments_of(folder, [1])
    with Journal(folder).rows("spark") as earlier, Journal(folder).rows("spark"):
        list(earlier)


def _begun_anew(folder: Path) -> None:
    segments_of(folder, [1])
    journal = Journal(folder)
    (folder / ROWS_FOLDER).rename(folder / "old")
    fill(writer(folder, epoch=EPOCH + 1), 1)
    list(journal.rows())


def _of_a_later_format(folder: Path) -> None:
    (folder / "journal.json").write_text('{"format": 2}')
    Journal(folder)


def _badly_named(folder: Path) -> None:
    writer(folder)
    Journal(folder).rows("a/b")


JOURNAL_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    430: _in_a_folder(Journal),
    431: _in_a_folder(_no_segment),
    432: _in_a_folder(_dropped),
    433: _in_a_folder(_claimed_twice),
    434: _in_a_folder(_badly_named),
    435: _in_a_folder(_begun_anew),
    436: _in_a_folder(_of_a_later_format),
}
