# SPDX-License-Identifier: Apache-2.0
"""Stores an operator's snapshots on a thread of its own, so that the operator goes on meanwhile.

Jobs are done in the order in which they were given. The operator fetches their results; nothing calls back.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, TypeAlias

from framegate.schema.errors import FramegateError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stored:
    """A step of a checkpoint is stored durably."""

    checkpoint_id: int
    is_complete: bool
    """Whether it was the second step."""
    bytes: int
    """How many bytes this step stored."""


@dataclass(frozen=True, slots=True)
class NotStored:
    """A step of a checkpoint failed."""

    checkpoint_id: int
    reason: str
    """The cause and the details, as an acknowledgement reports them."""


Result: TypeAlias = Stored | NotStored
STEPS_WAITING_MAX: Final = 8
"""Most steps that wait. Each holds a state in memory."""
GIVEN_UP_MAX: Final = 64
"""How many aborted ids are remembered. Beyond them the lowest are forgotten: ids only grow, so none of those waits."""
Job: TypeAlias = Callable[[], int]
"""A job, which does the step and returns how many bytes it stored."""


class OperatorWriter:
    """Does the steps one after the other. ``close`` waits for the one under way."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[int, bool, Job] | None] = SimpleQueue()
        self._results: deque[Result] = deque()
        self._given_up: set[int] = set()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, checkpoint_id: int, job: Job, *, is_complete: bool) -> None:
        """Queue a step. It fails at once if too many wait, because the disk hangs."""
        waiting = self._jobs.qsize()
        if waiting >= STEPS_WAITING_MAX:
            self._fail(checkpoint_id, f"STORE_FAILED: {waiting} steps wait for the disk")
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="framegate-checkpoints", daemon=True)
            self._thread.start()
        self._jobs.put((checkpoint_id, is_complete, job))

    def give_up(self, checkpoint_id: int) -> None:
        """Skip the steps of a checkpoint that have not begun."""
        with self._turn:
            self._given_up.add(checkpoint_id)
            if len(self._given_up) > GIVEN_UP_MAX:
                self._given_up.remove(min(self._given_up))

    def results(self) -> list[Result]:
        """Take the results since the previous call, oldest first."""
        found = []
        while self._results:
            found.append(self._results.popleft())
        return found

    def close(self, timeout_s: float = 10.0) -> None:
        """Finish the queued steps, and take no more."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            thread.join(timeout_s)

    def _run(self) -> None:
        while (given := self._jobs.get()) is not None:
            checkpoint_id, is_complete, job = given
            if checkpoint_id in self._given_up:
                continue
            try:
                self._results.append(Stored(checkpoint_id, is_complete, job()))
            except FramegateError as failure:
                _log.warning("checkpoint %d is not stored: %s", checkpoint_id, str(failure).splitlines()[0])
                self._fail(checkpoint_id, f"STORE_FAILED: {failure.message}")
            except Exception as failure:
                # A failed checkpoint must not end a join, and its coordinator must hear of it.
                _log.exception("checkpoint %d is not stored", checkpoint_id)
                self._fail(checkpoint_id, f"SERIALISATION_FAILED: {failure!r}")

    def _fail(self, checkpoint_id: int, reason: str) -> None:
        self.give_up(checkpoint_id)
        self._results.append(NotStored(checkpoint_id, reason))
