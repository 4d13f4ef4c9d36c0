# SPDX-License-Identifier: Apache-2.0
"""Chooses the state that a restored join resumes from: the journal's newest if it is as far as the checkpoint, else the
checkpoint's.

Sealed rows are never cut off. A journal that is further has decided more, and that stays decided. A journal that is
shorter than the checkpoint says, or gone, has lost rows; the rows that follow belong to another journal epoch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from framegate.joinbarrier.checkpoint.state_head import StateHead, stage_text
from framegate.schema.errors import CheckpointMismatch


class Basis(StrEnum):
    """Which state a restored join resumes from."""

    SAME = "same"
    """Either: the journal ends where the checkpoint was cut."""
    TAIL = "tail"
    """The journal's: rows were sealed after the cut."""
    CHECKPOINT = "checkpoint"
    """The checkpoint's: the journal has just begun."""
    NEW_EPOCH = "new_epoch"
    """The checkpoint's, in a journal that has to begin a new epoch."""


@dataclass(frozen=True, slots=True)
class JournalTail:
    """What a journal held when it was opened."""

    epoch: int
    next_row: int
    state: str | None
    """The state of its newest sealed batch; None if there is none."""


def basis_of(head: StateHead, tail: JournalTail) -> Basis:
    """Choose the state. Raises CheckpointMismatch if the journal has the checkpoint's rows, but has decided less."""
    is_of_this_journal = tail.epoch == head.journal_epoch
    if tail.state is None:
        is_missing = is_of_this_journal and head.next_row > 0
        return Basis.NEW_EPOCH if is_missing else Basis.CHECKPOINT
    text, cursors = _read(tail.state, head)
    if is_of_this_journal and tail.next_row < head.next_row:
        return Basis.NEW_EPOCH
    # An input that was never heard has (-1, -1), which is below all others.
    is_as_far = all(own >= then for own, then in zip(cursors, head.cursors, strict=True))
    if not is_as_far:
        if is_of_this_journal:
            raise CheckpointMismatch(
                "the journal has its rows, and has decided less than it",
                checkpoint_id=head.checkpoint_id,
                next_row=tail.next_row,
            )
        return Basis.NEW_EPOCH
    return Basis.SAME if text == head.stage else Basis.TAIL


def _read(state: str, head: StateHead) -> tuple[str, tuple[tuple[int, int], ...]]:
    found: dict[str, Any] = json.loads(state)
    return stage_text(found, head.policy, len(head.inputs))
