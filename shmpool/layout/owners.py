# SPDX-License-Identifier: Apache-2.0
"""The owners of folders and files: whether this user alone can change them (PROTOCOL 6.3).

Another user who may write a file that this process has mapped can truncate it, and the next access ends this process.
The native core checks regions in the same way when it opens them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def flaw_of_owner(path: Path) -> str | None:
    """Why others could change what is there; None if they cannot, or nothing is there."""
    try:
        found = path.stat(follow_symlinks=True)
    except OSError:
        return None
    me = os.geteuid()
    if found.st_uid not in (me, 0) and not _shares_group(found):
        return f"it belongs to user {found.st_uid}, not to {me}"
    # In a sticky folder users may change only their own files.
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        return f"others may write there, mode {stat.S_IMODE(found.st_mode):o}"
    return None


def _shares_group(found: os.stat_result) -> bool:
    return bool(found.st_mode & stat.S_IWGRP) and found.st_gid in (os.getegid(), *os.getgroups())
