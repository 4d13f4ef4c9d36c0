# SPDX-License-Identifier: Apache-2.0
"""Processes: whether one still runs, and what descends from it. Their numbers come from files of other processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def process_exists(pid: int) -> bool:
    """Whether a process with this number runs, of whatever user."""
    if not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it at this moment."""
    yield pid
    with suppress(OSError):  # It ended a moment ago.
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))
