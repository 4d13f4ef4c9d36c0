# SPDX-License-Identifier: Apache-2.0
"""Names and numbers of a journal's directory. Nothing here opens a file.

::

    journal.json                                  what the journal is; replaced as a whole
    journal.head                                  what the writer tells readers, 4096 bytes
    journal.lock                                  locked by the writer
    segments/00000003-0000000000012000.open       {ordinal:08}-{first row:016}, .arrow once it is finished
    segments/free-00000007                        a recycled file on its way to its next name
    unmatched/00000001.open                       the same, without a first row
    readers/NAME.json                             one named reader

    journal.head, little-endian u64 words, written by the writer alone
    0 magic            4 state               8 first retained row    12 unmatched rows sealed
    1 version          5 open ordinal        9 heartbeat, monotonic  13 open generation
    2 journal epoch    6 open first row     10 seals                 14 doorbell epoch
    3 writer pid       7 open sealed bytes  11 next row, stored last
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final, Literal

FORMAT: Final = 1
DESCRIPTION: Final = "journal.json"
HEAD: Final = "journal.head"
RETIRED: Final = "retired.json"
"""The account of what retention removed, in each table's folder."""
LOCK: Final = "journal.lock"
ROWS_FOLDER: Final = "segments"
UNMATCHED_FOLDER: Final = "unmatched"
READERS_FOLDER: Final = "readers"

HEAD_BYTES: Final = 4096
HEAD_MAGIC: Final = int.from_bytes(b"FGJHEAD1", "little")
RUNNING: Final = 1
CLOSED: Final = 2

ARROW_MAGIC: Final = b"ARROW1\0\0"
SEGMENT_KEY: Final = "framegate.segment"
BATCH_KEY: Final = "framegate.batch"
STATE_KEY: Final = "framegate.state"

READER_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")

Table = Literal["rows", "unmatched"]
FOLDERS: Final[dict[Table, str]] = {"rows": ROWS_FOLDER, "unmatched": UNMATCHED_FOLDER}

_ROWS_NAME: Final = re.compile(r"(\d{8,19})-(\d{16,19})\.(open|arrow)")
_UNMATCHED_NAME: Final = re.compile(r"(\d{8,19})()\.(open|arrow)")


class HeadWord(IntEnum):
    """The index of each word of ``journal.head``."""

    MAGIC = 0
    VERSION = 1
    JOURNAL_EPOCH = 2
    WRITER_PID = 3
    STATE = 4
    OPEN_ORDINAL = 5
    OPEN_FIRST_ROW = 6
    OPEN_SEALED_BYTES = 7
    FIRST_ROW = 8
    HEARTBEAT_NS = 9
    SEALS = 10
    NEXT_ROW = 11
    UNMATCHED_ROWS = 12
    OPEN_GENERATION = 13
    DOORBELL_EPOCH = 14


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """A segment's file name, parsed. Names sort in the order in which their segments were written.

    >>> name = SegmentName.parse("00000003-0000000000012000.open", "rows")
    >>> name.first_row, name.is_open, str(name.finished())
    (12000, True, '00000003-0000000000012000.arrow')
    """

    ordinal: int
    first_row: int | None
    """The first row; None in the unmatched table, whose segments do not count rows."""
    is_open: bool

    @classmethod
    def parse(cls, text: str, table: Table) -> SegmentName | None:
        """Parse a file name; None if it is not that of a segment."""
        found = (_ROWS_NAME if table == "rows" else _UNMATCHED_NAME).fullmatch(text)
        if found is None:
            return None
        ordinal, first_row, suffix = found.groups()
        return cls(int(ordinal), int(first_row) if first_row else None, suffix == "open")

    def __str__(self) -> str:
        row = "" if self.first_row is None else f"-{self.first_row:016}"
        return f"{self.ordinal:08}{row}.{'open' if self.is_open else 'arrow'}"

    def finished(self) -> SegmentName:
        """The name that the segment has, or will get, once it is finished."""
        return SegmentName(self.ordinal, self.first_row, is_open=False)


def segment_names(directory: Path, table: Table) -> list[SegmentName]:
    """The segments that exist now, oldest first, each once."""
    found = dict[int, SegmentName]()
    folder = directory / FOLDERS[table]
    for each in folder.iterdir() if folder.is_dir() else ():
        name = SegmentName.parse(each.name, table)
        # A rename during the listing can show one segment under both names.
        if name is not None and (name.ordinal not in found or not name.is_open):
            found[name.ordinal] = name
    return [found[ordinal] for ordinal in sorted(found)]
