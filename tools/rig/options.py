# SPDX-License-Identifier: Apache-2.0
"""What the command lines of a rig can say. Light: the commands import it at every start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOptions:
    """Which rig is meant; None is an option that was not given."""

    config: Path | None = None
    aeron_dir: str | None = None
    base_dir: str | None = None
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions(PlaceOptions):
    """``framegate up``."""

    file: Path
    detach: bool = False
    is_background: bool = False
    """Whether this is the process that --detach leaves behind."""
