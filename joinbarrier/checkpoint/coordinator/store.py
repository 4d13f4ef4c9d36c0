# SPDX-License-Identifier: Apache-2.0
"""What a coordinator does with its store: it stores ids, writes the manifest after everything that it lists (B18), and
prunes.

All of it may take as long as the disk takes, so a caller with other duties runs it on another thread.
"""

from __future__ import annotations

import logging
from collections import Counter

from framegate.joinbarrier.checkpoint.checkpoint_id import CheckpointId
from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Allocate,
    Allocated,
    AllocationFailed,
    Finish,
    IssuedIds,
    Predecessor,
    Stored,
    StoreProblem,
)
from framegate.joinbarrier.checkpoint.coordinator.issued_ids import read_issued_ids, write_issued_ids
from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.messages import EPOCH_MAX
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import StoreFiles
from framegate.schema.control import AbortCause
from framegate.schema.errors import CheckpointExists, FramegateError, StoreFailed
from framegate.shmpool.clock import realtime_ns

_log = logging.getLogger(__name__)


class CoordinatorStore:
    """The store of one pipeline, as its coordinator uses it."""

    def __init__(self, place: str, pipeline: str, keep: int, files: StoreFiles) -> None:
        self.counts = Counter[str]()
        self._place = place
        self._pipeline = pipeline
        self._keep = keep
        self._files = files
        self._store = CheckpointStore(place, files)

    def begin_epoch(self) -> tuple[IssuedIds, Predecessor | None]:
        """Begin a new epoch, which is stored durably; return the issued ids, and the newest checkpoint of the previous
        coordinator.
        """
        before = read_issued_ids(self._files, self._pipeline, self._place)
        epoch = 0 if before is None else before.epoch
        if epoch >= EPOCH_MAX:
            raise StoreFailed("the epochs are used up", store=self._place, epoch=epoch)
        last_id = before.last_checkpoint_id if before is not None else 0
        issued = IssuedIds(max(last_id, self._store.highest_id()), epoch + 1)
        write_issued_ids(self._files, self._pipeline, issued, self._place)
        whole = self._store.ids()
        operators = self._operators_of(whole[-1]) if whole else ()
        return issued, Predecessor(last_id, last_id in whole, operators) if last_id else None

    def _operators_of(self, checkpoint_id: int) -> tuple[str, ...]:
        try:
            return tuple(each.operator_id for each in self._store.manifest(checkpoint_id).operators)
        except FramegateError as failure:
            # The checkpoint cannot be restored, so nobody waits for its operators.
            _log.warning("checkpoint %d does not say whose it is: %s", checkpoint_id, first_line(failure))
            return ()

    def allocate(self, order: Allocate) -> Allocated | AllocationFailed:
        """Store an id durably."""
        try:
            write_issued_ids(self._files, self._pipeline, order.issued, self._place)
        except StoreFailed as failure:
            return AllocationFailed(order.issued.last_checkpoint_id, first_line(failure))
        return Allocated(order.issued.last_checkpoint_id)

    def tidy(self, below: int) -> None:
        """Drop the remains of failed attempts. A disk that refuses does not stop the coordinator."""
        try:
            gone, failed = self._store.drop_attempts(below)
        except StoreFailed as failure:
            gone, failed = 0, [failure]
        self.counts["attempts_dropped"] += gone
        self._note(failed)

    def finish(self, order: Finish) -> Stored | StoreProblem:
        """Read what the operators stored, then write the manifest, then prune."""
        try:
            parts = [self._part(order.checkpoint_id, *each) for each in order.acknowledged]
        except FramegateError as failure:
            return StoreProblem(order.checkpoint_id, AbortCause.STORE_FAILED, first_line(failure))
        if apart := split_cut(parts):
            return StoreProblem(order.checkpoint_id, AbortCause.INJECTION_FAILED, apart)
        manifest = self._manifest(order, parts)
        try:
            self._store.commit(manifest)
        except CheckpointExists as failure:
            # The existing checkpoint belongs to somebody else and is whole, so it must not be dropped.
            return StoreProblem(order.checkpoint_id, AbortCause.STORE_FAILED, first_line(failure))
        except StoreFailed as failure:
            self._take_back(order.checkpoint_id)
            return StoreProblem(order.checkpoint_id, AbortCause.STORE_FAILED, first_line(failure))
        return Stored(
            checkpoint_id=order.checkpoint_id,
            size_bytes=manifest.size_bytes,
            is_unaligned=manifest.is_unaligned,
            was_threshold_triggered=manifest.was_threshold_triggered,
            pruned=self._prune(),
        )

    def _part(self, checkpoint_id: int, operator_id: str, acknowledged: int) -> OperatorPart:
        part = self._store.part(checkpoint_id, operator_id)
        if part.size_bytes != acknowledged:
            raise StoreFailed(
                "an operator stored another number of bytes than it acknowledged",
                operator_id=operator_id,
                acknowledged=acknowledged,
                stored=part.size_bytes,
            )
        return part

    def _manifest(self, order: Finish, parts: list[OperatorPart]) -> Manifest:
        is_unaligned = any(each.is_unaligned for each in parts)
        return Manifest(
            checkpoint_id=order.checkpoint_id,
            checkpoint_uuid=str(CheckpointId.new()),
            epoch=order.epoch,
            pipeline=self._pipeline,
            is_unaligned=is_unaligned,
            was_threshold_triggered=any(each.was_threshold_triggered for each in parts)
            or (is_unaligned and not order.is_asked_unaligned),
            created_ns=realtime_ns(),
            operators=tuple(each.state for each in parts),
            inflight_data=tuple(entry for each in parts for entry in each.inflight),
        )

    def _take_back(self, checkpoint_id: int) -> None:
        """Drop a checkpoint that will be reported as failed: its manifest may exist already, with only its directory
        not synced.
        """
        try:
            self._store.drop(checkpoint_id)
        except StoreFailed as failure:
            self._note([failure])

    def _prune(self) -> int:
        try:
            return len(self._store.prune(self._keep))
        except StoreFailed as failure:
            self._note([failure])
            return 0

    def _note(self, failures: list[StoreFailed]) -> None:
        for failure in failures:
            self.counts["not_dropped"] += 1
            _log.warning("what is no longer needed stays: %s", first_line(failure))


def split_cut(parts: list[OperatorPart]) -> str:
    """Which stream several agents cut at different places; empty if there is none.

    What lies between the places is in one agent's state and not in the other's, so it is no consistent checkpoint.
    """
    places: dict[int | None, tuple[str, object]] = {}
    for part in parts:
        for cut in part.state.ingress:
            place = cut["epoch"], cut["last_seq"]
            name, before = places.setdefault(cut["stream"], (part.state.operator_id, place))
            if before != place:
                here = f"{name} at {before}, {part.state.operator_id} at {place}"
                return f'stream {cut["stream"]} has barrier = "ingress" in two agents and was cut apart: {here}'
    return ""


def first_line(failure: FramegateError) -> str:
    """Number, facts and message of an error, without the hint."""
    return str(failure).splitlines()[0]
