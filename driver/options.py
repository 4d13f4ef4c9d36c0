# SPDX-License-Identifier: Apache-2.0
"""The options of ``framegate driver``. The module is light, because the command imports it at every start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverOptions:
    """The options of the command line; None for one that was not given."""

    config: Path | None = None
    base_dir: str | None = None
    aeron_dir: str | None = None
    slots: int | None = None
    frame_bytes: int | None = None
    json: bool = False
    parent_pid: int | None = None
    """End when this process is no longer the parent."""
