# SPDX-License-Identifier: Apache-2.0
"""Stores what an operator snapshotted, on a thread of its own: the operator goes on meanwhile.

Jobs are done one after the other, in the order in which they were given. What came of them is fetched, not called back.
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
    """A step of a checkpoint lasts."""

    checkpoint_id: int
    is_complete: bool
    """Whether it was the second one."""
    bytes: int
    """What this step stored."""


@dataclass(frozen=True, slots=True)
class NotStored:
    """A step of a checkpoint came to nothing."""

    checkpoint_id: int
    reason: str
    """The cause and what was wrong, as an acknowledgement says it."""


Result: TypeAlias = Stored | NotStored
STEPS_WAITING_MAX: Final = 8
"""Each holds a state in memory."""
GIVEN_UP_MAX: Final = 64
"""Beyond these the lowest are forgotten: ids only grow, so nothing waits for one of them."""
Job: TypeAlias = Callable[[], int]
"""Does the step; how many bytes it stored."""


class OperatorWriter:
    """``close`` waits for what is under way."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[int, bool, Job] | None] = SimpleQueue()
        self._results: deque[Result] = deque()
        self._given_up: set[int] = set()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, checkpoint_id: int, job: Job, *, is_complete: bool) -> None:
        """Do a step when those before it are done. Where too many wait for a disk that hangs, it fails at once."""
        waiting = self._jobs.qsize()
        if waiting >= STEPS_WAITING_MAX:
            self._fail(checkpoint_id, f"STORE_FAILED: {waiting} steps wait for the disk")
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="framegate-checkpoints", daemon=True)
            self._thread.start()
        self._jobs.put((checkpoint_id, is_complete, job))

    def give_up(self, checkpoint_id: int) -> None:
        """What was not begun of a checkpoint need not be done."""
        with self._turn:
            self._given_up.add(checkpoint_id)
            if len(self._given_up) > GIVEN_UP_MAX:
                self._given_up.remove(min(self._given_up))

    def results(self) -> list[Result]:
        """What is done since the last call, oldest first."""
        found = []
        while self._results:
            found.append(self._results.popleft())
        return found

    def close(self, timeout_s: float = 10.0) -> None:
        """What was given is done; nothing more is taken."""
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
                # A checkpoint must not end a join, and its coordinator must hear of it.
                _log.exception("checkpoint %d is not stored", checkpoint_id)
                self._fail(checkpoint_id, f"SERIALISATION_FAILED: {failure!r}")

    def _fail(self, checkpoint_id: int, reason: str) -> None:
        self.give_up(checkpoint_id)
        self._results.append(NotStored(checkpoint_id, reason))
