# SPDX-License-Identifier: Apache-2.0
"""Chooses the checkpoint that a join is restored from: the one that was named, or the newest whole one of its own.

``latest`` skips checkpoints that cannot be used, with a warning; a named one is used or refused. All operators skip a
checkpoint in which any operator's file is damaged, because a join that reads another one's output must not go back
further than that one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.operator.state import decode_state
from framegate.joinbarrier.checkpoint.state_head import StateHead, read_head
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema import decode_any
from framegate.schema.errors import (
    CheckpointDamaged,
    CheckpointMismatch,
    CheckpointMissing,
    CheckpointNewer,
    MapRefused,
    MessageError,
)
from framegate.schema.merge import SequenceMergeMapAnnounce, TimestampMergeMapAnnounce

from framegate._native import join_check_records

LATEST: Final = "latest"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPart:
    """Describes the join whose state is looked for."""

    operator_id: str
    pipeline: str
    recording: str | None
    """The name of the recording that was read; None for live streams."""
    digest: str = ""
    """The digest of the recording."""
    out_stream: int
    policy: str
    inputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateInput:
    """What an input brought between the snapshot and its late barrier."""

    place: int
    records: tuple[bytes, ...]
    lost: tuple[tuple[int, int], ...]
    """Epoch and sequence of frames that were overwritten before they could be copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The part of a checkpoint that a join is restored from, read and checked."""

    head: StateHead
    frames: tuple[bytes, ...]
    late: tuple[LateInput, ...]
    map: MergeMap | None
    """The map that was in force at the cut."""


def choose(store: CheckpointStore, wanted: str | int, own: OwnPart) -> Chosen | None:
    """Choose a checkpoint. None if the newest was asked for and there is none yet.

    Raises CheckpointMissing, CheckpointDamaged or CheckpointNewer for one that was named, CheckpointMismatch for that
    of another join, and StoreFailed.
    """
    if wanted != LATEST:
        return _read(store, store.manifest(int(wanted)), own)
    for checkpoint_id in reversed(store.ids()):
        try:
            if (damage := next(store.problems(checkpoint_id), None)) is not None:
                raise damage
            return _read(store, store.manifest(checkpoint_id), own)
        except (CheckpointDamaged, CheckpointNewer, CheckpointMissing) as found:
            _log.warning("checkpoint %d is passed over: %s", checkpoint_id, str(found).splitlines()[0])
    return None


def _read(store: CheckpointStore, manifest: Manifest, own: OwnPart) -> Chosen:
    checkpoint_id = manifest.checkpoint_id
    if manifest.pipeline != own.pipeline:
        raise CheckpointMismatch(
            "another pipeline's checkpoint", checkpoint_id=checkpoint_id, want=own.pipeline, have=manifest.pipeline
        )
    restored = store.restore(manifest, own.operator_id)
    image = decode_state(restored.state)
    head = read_head(image.head, where=f"{store.place}/{checkpoint_id}")
    _require_own(head, checkpoint_id, own)
    entries = {each.input_id: each for each in manifest.inflight_data if each.operator_id == own.operator_id}
    if not set(entries) <= set(head.late_inputs):
        raise CheckpointDamaged("events of inputs that were not late", checkpoint_id=checkpoint_id)
    late = tuple(
        LateInput(
            place=place,
            records=tuple(restored.inflight.get(place, ())),
            lost=_lost(entries[place].lost if place in entries else (), checkpoint_id),
        )
        for place in head.late_inputs
    )
    epochs = [(each["stream"], each["epoch"]) for each in head.rest["streams"]]
    join_check_records(epochs, image.frames, [(each.place, each.records, each.lost) for each in late])
    return Chosen(head=head, frames=image.frames, late=late, map=_map(head))


def _map(head: StateHead) -> MergeMap | None:
    if head.map_message is None:
        return None
    try:
        message = decode_any(head.map_message)
        if isinstance(message, SequenceMergeMapAnnounce | TimestampMergeMapAnnounce):
            return MergeMap.from_message(message)
        reason = "another message"
    except (MessageError, MapRefused) as broken:
        reason = broken.message
    raise CheckpointDamaged(f"the state's map is invalid: {reason}", checkpoint_id=head.checkpoint_id)


def _require_own(head: StateHead, checkpoint_id: int, own: OwnPart) -> None:
    if (head.checkpoint_id, head.operator_id) != (checkpoint_id, own.operator_id):
        raise CheckpointDamaged("the state is another one's", checkpoint_id=checkpoint_id, found_id=head.checkpoint_id)
    for key in ("out_stream", "policy", "inputs"):
        want, have = getattr(own, key), getattr(head, key)
        if want != have:
            raise CheckpointMismatch(
                f"the checkpoint has another {key}", checkpoint_id=checkpoint_id, want=_plain(want), have=_plain(have)
            )

    recording = None if head.source is None else head.source.name
    is_same = recording == own.recording
    if head.source is not None and head.source.digest and own.recording is not None and own.digest:
        # A copied or renamed file still counts as the same recording.
        is_same = head.source.digest == own.digest
    if not is_same:
        raise CheckpointMismatch(
            "the checkpoint has another source",
            checkpoint_id=checkpoint_id,
            want=own.recording or "living streams",
            have=recording or "living streams",
        )


def _lost(found: Sequence[object], checkpoint_id: int) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    for each in found:
        epoch, seq = (each.get("epoch"), each.get("seq")) if isinstance(each, dict) else (None, None)
        if type(epoch) is not int or type(seq) is not int or not (0 <= epoch < 2**63 and 0 <= seq < 2**63):
            raise CheckpointDamaged("a loss makes no sense", checkpoint_id=checkpoint_id)
        spans.append((epoch, seq))
    return tuple(sorted(spans))


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{name}={stream}" for name, stream in value)
    return str(value)
