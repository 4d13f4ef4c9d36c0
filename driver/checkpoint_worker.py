# SPDX-License-Identifier: Apache-2.0
"""The workers of checkpoint stores: one thread for each pipeline, because an fsync may take a second."""

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
    """Carries out the orders of a coordinator."""

    def give(self, order: Order) -> None:
        """Begin to carry out an order."""

    def results(self) -> list[Result]:
        """The results of orders that were finished since the last call."""

    def close(self) -> None:
        """End, after all orders were carried out."""


class StoreWorker:
    """Carries out orders one after the other."""

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
            # The barriers are on their way now. Whatever tidying takes, they take longer.
            self._store.tidy(order.issued.last_checkpoint_id)

    def _result(self, order: Order) -> Result:
        try:
            return self._store.finish(order) if isinstance(order, Finish) else self._store.allocate(order)
        except Exception as failure:
            # A defect, or an error of a foreign file system, must end the checkpoint, not the driver with all leases.
            _log.exception("the store of checkpoints failed")
            if isinstance(order, Finish):
                return StoreProblem(order.checkpoint_id, AbortCause.STORE_FAILED, repr(failure))
            return AllocationFailed(order.issued.last_checkpoint_id, repr(failure))
