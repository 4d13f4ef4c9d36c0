# SPDX-License-Identifier: Apache-2.0
"""What a join stores at a cut, apart from the frames; ``checkpoint/README.md`` explains each key.

``checkpoint/state_head.py`` reads it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from framegate.joinbarrier.checkpoint.state_head import FORMAT, SourcePlace
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.journal.layout import ROWS_FOLDER, UNMATCHED_FOLDER
from framegate.joinbarrier.maps.mergemap import MergeMap


def described(
    head: dict[str, Any],
    config: JoinConfig,
    folder: JournalFolder,
    applied: MergeMap | None,
    source: SourcePlace | None = None,
) -> dict[str, Any]:
    """Make the head of a state from the head of the engine's snapshot and the map that was in force."""
    told = {
        "format": FORMAT,
        "operator_id": operator_id_of(config),
        "checkpoint_id": head["checkpoint_id"],
        "epoch": head["epoch"],
        "is_unaligned": head["why"] is not None,
        "late_inputs": head["late_inputs"],
        "out_stream": config.join.out_stream,
        "policy": config.join.policy,
        "inputs": [{"name": each.name, "stream": each.stream} for each in config.input],
        "journal": {"epoch": folder.epoch, "next_row": head["next_row"]},
        "map": {"version": head["map_version"], "message": applied.to_message().encode().hex() if applied else None},
        "stage": json.loads(head["state"]),
        "rest": json.loads(head["rest"]),
        "frames": head["frames"],
        "lost": head["lost"],
        "overwritten": head["overwritten"],
    }
    return told if source is None else {**told, "source": asdict(source)}


def operator_id_of(config: JoinConfig) -> str:
    """A join's name in its checkpoints."""
    return f"join-{config.join.out_stream}"


def sync_journal(journal: Path) -> None:
    """Sync everything that was sealed to disk. An fsync by any descriptor also writes pages that a mapping changed."""
    for folder in (ROWS_FOLDER, UNMATCHED_FOLDER):
        # A segment is renamed when it is finished. Then the folder is read again, which gives its new name.
        while not all(_sync_one(path) for path in _segments(journal / folder)):
            pass


def _segments(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".arrow", ".open"))


def _sync_one(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True
