# SPDX-License-Identifier: Apache-2.0
"""A thread for each pipeline's store: an fsync may take a second, and leases must not wait for it."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Protocol, TypeAlias

from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Allocate,
    AllocationFailed,
    Finish,
    Result,
    StoreProblem,
)
from framegate.joinbarrier.checkpoint.coordinator.store import CoordinatorStore
from framegate.schema.control import AbortCause

Order: TypeAlias = Allocate | Finish
_log = logging.getLogger(__name__)


class Orders(Protocol):
    """What carries a coordinator's orders out."""

    def give(self, order: Order) -> None:
        """Begin to carry it out."""

    def results(self) -> list[Result]:
        """What came of those that are done, each once."""

    def close(self) -> None:
        """Come to an end: what was given is carried out."""


class StoreWorker:
    """Carries orders out one after the other."""

    def __init__(self, store: CoordinatorStore, pipeline: str) -> None:
        self._store = store
        self._done = SimpleQueue[Result]()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"checkpoint-{pipeline}")

    def give(self, order: Order) -> None:
        self._thread.submit(self._carry_out, order)

    def results(self) -> list[Result]:
        found: list[Result] = []
        while True:
            try:
                found.append(self._done.get_nowait())
            except Empty:
                return found

    def close(self) -> None:
        self._thread.shutdown(wait=True)

    def _carry_out(self, order: Order) -> None:
        self._done.put(self._result(order))
        if isinstance(order, Allocate):
            # Now that the barriers are on their way: whatever this takes, they take longer.
            self._store.tidy(order.issued.last_checkpoint_id)

    def _result(self, order: Order) -> Result:
        try:
            return self._store.finish(order) if isinstance(order, Finish) else self._store.allocate(order)
        except Exception as failure:
            # A defect here, or an error of a foreign file system, ends the checkpoint, not the driver with all leases.
            _log.exception("the store of checkpoints failed")
            if isinstance(order, Finish):
                return StoreProblem(order.checkpoint_id, AbortCause.STORE_FAILED, repr(failure))
            return AllocationFailed(order.issued.last_checkpoint_id, repr(failure))
