# SPDX-License-Identifier: Apache-2.0
"""Folders for journals without a name: in shared memory, one for each join, removed with their program."""

from __future__ import annotations

import os
import re
import shutil
from itertools import count
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.doorbell import take_away
from framegate.shmpool.processes import process_exists

READER: Final = "program"
"""The name of the program's reader. Rows that it has not read yet are kept."""
_NAME: Final = re.compile(r"([1-9]\d{0,9})-\d{1,9}")
_numbers = count(1)


def journals_of(base_dir: str) -> Path:
    """The folder of these journals."""
    return Path(base_dir, "joined")


def new_journal(base_dir: str) -> Path:
    """The path of a folder that no other join has."""
    return journals_of(base_dir) / f"{os.getpid()}-{next(_numbers)}"


def remove_journal(path: Path) -> None:
    """Remove a folder of ``new_journal``, and its reader's bell. The memory of rows that are still held stays."""
    take_away(path, READER)
    shutil.rmtree(path, ignore_errors=True)
    if path.parent.is_dir() and not any(path.parent.iterdir()):
        path.parent.rmdir()


def remove_of_the_dead(base_dir: str) -> None:
    """Remove the folders of programs that were killed."""
    folder = journals_of(base_dir)
    if not folder.is_dir():
        return
    for each in list(folder.iterdir()):
        found = _NAME.fullmatch(each.name)
        if found is not None and not process_exists(int(found[1])):
            remove_journal(each)
