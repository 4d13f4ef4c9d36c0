# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a join of a recording, which is its own source and its own coordinator.

A barrier stands in all streams at once, between two messages of the file, so no stream waits for another. The place in
the file is part of the state, and a restored join goes on reading there. Ids are stored before they are used, and only
one process at a time coordinates a store.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any, Final

from framegate.joinbarrier.agent.state import described, operator_id_of, sync_journal
from framegate.joinbarrier.checkpoint.checkpoint_id import CheckpointId
from framegate.joinbarrier.checkpoint.coordinator.actions import IssuedIds
from framegate.joinbarrier.checkpoint.coordinator.issued_ids import read_issued_ids, sole_coordinator, write_issued_ids
from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.operator.state import encode_head
from framegate.joinbarrier.checkpoint.state_head import SourcePlace
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import Content, store_files
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema.errors import StoreFailed
from framegate.shmpool.clock import monotonic_ns, realtime_ns

from framegate._native import JoinEngine

_NS_PER_MS: Final = 1_000_000
KEPT: Final = 3
"""How many checkpoints are kept. If one is damaged, a restore uses the one before it."""
_log = logging.getLogger(__name__)


class RecordingCheckpoints:
    """The checkpoints of one join of a recording, taken between two items. ``close`` gives the store free."""

    def __init__(self, place: str, config: JoinConfig, folder: JournalFolder, engine: JoinEngine) -> None:
        self._config = config
        self._folder = folder
        self._engine = engine
        self._streams = list(dict.fromkeys(each.stream for each in config.input))
        self._files = store_files(place)
        self._kept = CheckpointStore(place, self._files)
        self._places: dict[int, SourcePlace] = {}
        self._held = ExitStack()
        self._held.enter_context(sole_coordinator(self._files, place))
        pipeline = config.join.pipeline
        before = read_issued_ids(self._files, pipeline, place) or IssuedIds(0, 0)
        last = engine.counters()["checkpoints"]["checkpoint_id"]
        self._issued = IssuedIds(max(before.last_checkpoint_id, self._kept.highest_id(), last), before.epoch + 1)
        self._interval_ns = config.checkpoint.interval_ms * _NS_PER_MS
        self._due_ns = monotonic_ns() + self._interval_ns
        self.taken = 0
        self.failed = 0
        self.applied: MergeMap | None = None
        """The map that is in force."""

    @property
    def is_due(self) -> bool:
        """Whether the next checkpoint is due."""
        return self._interval_ns > 0 and monotonic_ns() >= self._due_ns

    def begin(self, place: SourcePlace, outputs: int) -> dict[str, Any]:
        """Cut here. Returns the engine's outcome."""
        self._due_ns = monotonic_ns() + self._interval_ns
        checkpoint_id, epoch = self._issued.last_checkpoint_id + 1, self._issued.epoch
        self._issued = IssuedIds(checkpoint_id, epoch)
        try:
            write_issued_ids(self._files, self._config.join.pipeline, self._issued, self._kept.place)
        except StoreFailed as failure:
            self._note_failure(checkpoint_id, failure)
            return self._engine.settle(outputs)
        self._places[checkpoint_id] = place
        for stream in self._streams:
            self._engine.inject(stream, checkpoint_id, epoch, False)
        return self._engine.settle(outputs)

    def store(self) -> None:
        """Store the snapshot once its rows are sealed. If it cannot be stored, the join warns and goes on."""
        for news in self._engine.take_news():
            place = self._places.pop(news["checkpoint_id"], None)
            if news["kind"] != "snapshot" or place is None:
                continue
            try:
                self._store(news["snapshot"], place)
            except StoreFailed as failure:
                self._note_failure(news["checkpoint_id"], failure)

    def summary(self) -> dict[str, int]:
        """The counts of checkpoints for the join's summary."""
        return {"checkpoints_taken": self.taken, "checkpoints_failed": self.failed}

    def close(self) -> None:
        """Idempotent."""
        self._held.close()

    def _store(self, snapshot: Any, place: SourcePlace) -> None:
        head = snapshot.head()
        checkpoint_id = head["checkpoint_id"]
        if self._config.journal.durability == "checkpoint":
            sync_journal(self._folder.path)
        state = Content(encode_head(described(head, self._config, self._folder, self.applied, place)), snapshot.records)
        stored = self._kept.write_state(checkpoint_id, operator_id_of(self._config), state)
        self._kept.write_part(checkpoint_id, OperatorPart(state=stored))
        now_ns = realtime_ns()
        manifest = Manifest(
            checkpoint_id=checkpoint_id,
            checkpoint_uuid=str(CheckpointId.at(now_ns)),
            epoch=head["epoch"],
            pipeline=self._config.join.pipeline,
            is_unaligned=False,
            was_threshold_triggered=False,
            created_ns=now_ns,
            operators=(stored,),
        )
        self._kept.commit(manifest)
        self._kept.prune(KEPT)
        self.taken += 1

    def _note_failure(self, checkpoint_id: int, failure: StoreFailed) -> None:
        self.failed += 1
        _log.warning("checkpoint %d is not stored: %s", checkpoint_id, str(failure).splitlines()[0])
