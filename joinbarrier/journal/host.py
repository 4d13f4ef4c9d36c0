# SPDX-License-Identifier: Apache-2.0
"""Which run of which host this is: a journal's files are what they were as long as it is the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """The kernel's name for the time since it was started."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
