# SPDX-License-Identifier: Apache-2.0
"""The options of the commands for rigs. The module is light, because the commands import it at every start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOptions:
    """The options that say what rig is meant; None for one that was not given."""

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
    """Whether this is the background process that --detach starts."""
