# SPDX-License-Identifier: Apache-2.0
"""Is somebody still there? The numbers come from files that other processes wrote."""

from __future__ import annotations

import os


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
