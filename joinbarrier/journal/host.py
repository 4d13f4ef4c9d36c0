# SPDX-License-Identifier: Apache-2.0
"""Identifies the present boot of this host: a journal's files keep their content within one boot."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """The kernel's id of its present boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
