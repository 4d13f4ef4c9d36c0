# SPDX-License-Identifier: Apache-2.0
"""The continued mark: a file beside a stream's regions that says, for their epoch, that its frames go on where those of
the epoch before were.

A source that can seek writes it when it comes back, before its first frame: its sequences are those that it had, so
what is heard again is a repetition and not the beginning of something new. A camera that is switched on again does not.
``native/intake/src/mapping.rs`` reads it when the first thing of the epoch is heard.
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
        # Whoever may read the regions may read this.
        temporary.chmod(Path(folder, "header.ring").stat().st_mode & 0o660)
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)


def is_marked_continued(folder: str, epoch: int) -> bool:
    """Whether the source of that epoch says so; a mark that is anything else, or another epoch's, means nothing."""
    try:
        with Path(folder, NAME).open() as mark:
            return mark.read(_MARK_MAX) == json.dumps({"epoch": epoch})
    except (OSError, ValueError):
        return False
