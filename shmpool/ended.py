# SPDX-License-Identifier: Apache-2.0
"""The ended mark: a file beside a stream's regions that says, for their epoch, that no frame follows.

The signal in the descriptor stream passes once; a consumer that was away then learns of the end from the mark.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

NAME: Final = "ended.json"


def mark_ended(folder: str, epoch: int, after_seq: int | None) -> None:
    """Write the mark of an epoch's folder, whole or not at all."""
    target = Path(folder, NAME)
    temporary = target.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_text(json.dumps({"epoch": epoch, "after_seq": after_seq}))
        # Whoever may read the regions may read this.
        temporary.chmod(Path(folder, "header.ring").stat().st_mode & 0o660)
        temporary.rename(target)
    except OSError:
        # The folder may be gone with its epoch; then there is nobody left to tell.
        temporary.unlink(missing_ok=True)


def is_marked_ended(folder: str, epoch: int) -> tuple[bool, int | None]:
    """Whether that epoch ended, and after which sequence; the mark of another epoch means nothing."""
    try:
        mark = json.loads(Path(folder, NAME).read_text())
    except (OSError, ValueError, RecursionError):
        return False, None
    if not isinstance(mark, dict) or mark.get("epoch") != epoch:
        return False, None
    after = mark.get("after_seq")
    return True, after if isinstance(after, int) and not isinstance(after, bool) else None
