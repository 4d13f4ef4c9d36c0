# SPDX-License-Identifier: Apache-2.0
"""Whether a folder or file can be changed by this user alone (PROTOCOL 6.3).

Whoever may write a file that this process has mapped can cut it short, and the next access ends the process. The native
core asks the same of regions when it opens them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def flaw_of_owner(path: Path) -> str | None:
    """Why others could change what lies there; None when they cannot, or nothing is there."""
    try:
        found = path.stat(follow_symlinks=True)
    except OSError:
        return None
    me = os.geteuid()
    if found.st_uid not in (me, 0) and not _shares_group(found):
        return f"it belongs to user {found.st_uid}, not to {me}"
    # In a sticky folder each may change what is his own alone.
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        return f"others may write there, mode {stat.S_IMODE(found.st_mode):o}"
    return None


def _shares_group(found: os.stat_result) -> bool:
    return bool(found.st_mode & stat.S_IWGRP) and found.st_gid in (os.getegid(), *os.getgroups())
