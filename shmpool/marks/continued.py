# SPDX-License-Identifier: Apache-2.0
"""The continued mark: a file beside a stream's regions that says that their epoch goes on with the earlier sequences.

A source that can seek writes the mark when it comes back, before its first frame. Its sequences are those that it had,
so frames that come again are repetitions and not the beginning of something new. A camera that is switched on again
writes no mark. ``native/intake/src/mapping.rs`` reads the mark when the first message of the epoch arrives.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

NAME: Final = "continued.json"
_MARK_MAX: Final = 64


def mark_continued(folder: str, epoch: int) -> None:
    """Write the mark of an epoch's folder, whole or not at all. Raises OSError."""
    target = Path(folder, NAME)
    temporary = target.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_text(json.dumps({"epoch": epoch}))
        # Every user who may read the regions may read the mark.
        temporary.chmod(Path(folder, "header.ring").stat().st_mode & 0o660)
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)


def is_marked_continued(folder: str, epoch: int) -> bool:
    """Whether the source of this epoch says so. Any other content, or the mark of another epoch, means no."""
    try:
        with Path(folder, NAME).open() as mark:
            return mark.read(_MARK_MAX) == json.dumps({"epoch": epoch})
    except (OSError, ValueError):
        return False
