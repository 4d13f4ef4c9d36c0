# SPDX-License-Identifier: Apache-2.0
"""Restores a replay: it goes on from what it stored for a checkpoint, in the store that its coordinator names."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.restore.store import is_at_rest
from framegate.joinbarrier.checkpoint.restore_choice import LATEST
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema.control import PipelineAnnounce
from framegate.schema.errors import CheckpointDamaged, CheckpointMismatch, CheckpointMissing, NoCoordinator
from framegate.tools.replay.replay_state import ReplayState, decode_replay_state

PREFIX: Final = "replay-"
"""The prefix of the operator ids of replays."""
_SLICE_S: Final = 0.05
_log = logging.getLogger(__name__)


class Announced:
    """The announces of a pipeline's coordinator. One thread hears them, another waits for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._first: PipelineAnnounce | None = None
        self._newest: PipelineAnnounce | None = None

    def hear(self, announce: PipelineAnnounce) -> None:
        """Note an announce. The thread that hears it calls this."""
        with self._changed:
            self._first = self._first or announce
            self._newest = announce
            self._changed.notify_all()

    @property
    def is_at_rest(self) -> bool:
        """Whether no checkpoint is under way, so that all operators find the same newest one."""
        return is_at_rest(self._first, self._newest)

    def store(self, pipeline: str, wait_s: float, is_stopping: Callable[[], bool]) -> str | None:
        """Where checkpoints are kept, once none is under way; None if told to end. Raises NoCoordinator.

        All operators must choose the same checkpoint. While the last one that was begun may still be completed, it is
        not yet known which is the newest.
        """
        slices = max(round(wait_s / _SLICE_S), 1)
        with self._changed:
            for _ in range(slices):
                if is_stopping():
                    return None
                if self.is_at_rest:
                    break
                self._changed.wait(_SLICE_S)
            newest = self._newest
            if newest is None:
                raise NoCoordinator(
                    "no coordinator says where its checkpoints are",
                    pipeline=pipeline,
                    waited_s=wait_s,
                    hint=f"Start a driver with [checkpoint.{pipeline}], or name the store with --checkpoints DIR.",
                )
            if not self.is_at_rest:
                _log.warning("checkpoint %d is still under way after %g s", newest.current_checkpoint_id, wait_s)
        return newest.store


def find_state(store: CheckpointStore, wanted: str | int, operator_id: str, source: str) -> ReplayState | None:
    """The state that a replay goes on from; None to begin at the beginning. ``wanted``: ``latest``, or an id.

    A checkpoint in which the replay had no part (it began earlier, or the replay had ended) has no place of it. Then an
    older one that has is used, or else the beginning, because receivers recognize frames that they have had. Raises
    CheckpointMissing, CheckpointDamaged, and CheckpointMismatch for a checkpoint of another recording.
    """
    manifest = _newest(store) if wanted == LATEST else store.manifest(int(wanted))
    if manifest is None:
        _log.warning("%s holds no checkpoint: the replay begins at its beginning", store.place)
        return None
    known = _newest_with(store, manifest, operator_id)
    if known is None:
        _log.warning(
            "no checkpoint up to %d knows %s: the replay begins at its beginning", manifest.checkpoint_id, operator_id
        )
        return None
    if known.checkpoint_id != manifest.checkpoint_id:
        _log.warning(
            "checkpoint %d does not know %s: %d does", manifest.checkpoint_id, operator_id, known.checkpoint_id
        )
    state = decode_replay_state(store.restore(known, operator_id).state)
    _require_own(state, known, operator_id, source)
    return state


def _newest(store: CheckpointStore) -> Manifest | None:
    """The newest complete checkpoint, as a join would choose it: one with replays alone restores no join."""
    alone: Manifest | None = None
    is_damaged = False
    for checkpoint_id in reversed(store.ids()):
        damage = next(store.problems(checkpoint_id), None)
        if damage is not None:
            is_damaged = True
            _log.warning("checkpoint %d is passed over: %s", checkpoint_id, str(damage).splitlines()[0])
            continue
        manifest = store.manifest(checkpoint_id)
        if _has_receiver(manifest):
            return manifest
        alone = alone or manifest
    if alone is None and is_damaged:
        raise CheckpointMissing("there is no whole checkpoint", store=store.place)
    return alone


def _has_receiver(manifest: Manifest) -> bool:
    return any(not each.operator_id.startswith(PREFIX) for each in manifest.operators)


def _newest_with(store: CheckpointStore, manifest: Manifest, operator_id: str) -> Manifest | None:
    for checkpoint_id in reversed([each for each in store.ids() if each <= manifest.checkpoint_id]):
        found = manifest if checkpoint_id == manifest.checkpoint_id else store.manifest(checkpoint_id)
        if any(each.operator_id == operator_id for each in found.operators):
            return found
    return None


def _require_own(state: ReplayState, manifest: Manifest, operator_id: str, source: str) -> None:
    have = state.operator_id, state.checkpoint_id
    if have != (operator_id, manifest.checkpoint_id):
        raise CheckpointDamaged(
            "the state belongs to another operator",
            checkpoint_id=manifest.checkpoint_id,
            want=operator_id,
            have=state.operator_id,
        )
    if state.source != source:
        raise CheckpointMismatch(
            "the checkpoint is of another recording",
            checkpoint_id=manifest.checkpoint_id,
            want=source,
            have=state.source,
            hint="Places in one file mean nothing in another: replay the one that the checkpoint was taken with.",
        )
