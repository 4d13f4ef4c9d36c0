# SPDX-License-Identifier: Apache-2.0
"""Is somebody still there, and who descends from whom? The numbers come from files that other processes wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def process_exists(pid: int) -> bool:
    """Whether a process of this number runs, whoever's it is."""
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
    """A process and all that descend from it, as they are at this moment."""
    yield pid
    with suppress(OSError):  # It ended a moment ago.
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))
