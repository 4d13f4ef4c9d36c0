# SPDX-License-Identifier: Apache-2.0
"""The ended mark: a file beside a stream's regions that says that no frame follows in their epoch.

The signal in the descriptor stream passes once; a consumer that was away then learns of the end from the mark. When the
producer has left, another epoch is announced, and only its folder. So the driver writes the end of the earlier epoch
into the folder of one that nobody writes into, as the former mark.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final, TypeGuard

NAME: Final = "ended.json"
FORMER: Final = "former.json"
_MARK_MAX: Final = 256


def mark_ended(folder: str, epoch: int, after_seq: int | None) -> None:
    """Write the mark of an epoch's folder, whole or not at all."""
    _write(Path(folder, NAME), epoch, after_seq)


def mark_former(folder: str, epoch: int, after_seq: int | None) -> None:
    """Write into an epoch's folder that an earlier epoch ended. The mark is written whole or not at all."""
    _write(Path(folder, FORMER), epoch, after_seq)


def is_marked_ended(folder: str, epoch: int) -> tuple[bool, int | None]:
    """Whether an epoch has ended, and its last sequence. The mark of another epoch does not count."""
    mark = _read(Path(folder, NAME))
    return (False, None) if mark is None or mark[0] != epoch else (True, mark[1])


def former_end(folder: str, before: int) -> tuple[int, int | None] | None:
    """The end in an epoch's folder of an earlier epoch: that epoch, and its last sequence."""
    mark = _read(Path(folder, FORMER))
    return mark if mark is not None and mark[0] < before else None


def last_end(folder: str, epoch: int) -> tuple[int, int | None] | None:
    """The end of an epoch, or else of an earlier one, by the marks in its folder."""
    is_ended, after = is_marked_ended(folder, epoch)
    return (epoch, after) if is_ended else former_end(folder, epoch)


def _write(target: Path, epoch: int, after_seq: int | None) -> None:
    temporary = target.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_text(json.dumps({"epoch": epoch, "after_seq": after_seq}))
        # Every user who may read the regions may read the mark.
        temporary.chmod((target.parent / "header.ring").stat().st_mode & 0o660)
        temporary.rename(target)
    except OSError:
        # The folder may be gone with its epoch. Then there is nobody left to read the mark.
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> tuple[int, int | None] | None:
    try:
        with path.open() as mark:
            found = json.loads(mark.read(_MARK_MAX))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not _is_number(epoch := found.get("epoch")):
        return None
    after = found.get("after_seq")
    return epoch, after if _is_number(after) else None


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64
