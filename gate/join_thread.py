# SPDX-License-Identifier: Apache-2.0
"""A join agent on a thread of this process. Its engine runs natively, in slices, and without the GIL."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import Any

from framegate.joinbarrier.agent.join_agent import JoinAgent
from framegate.schema.errors import FramegateError, JournalFailed

_log = logging.getLogger(__name__)


class JoinThread:
    """Runs an attached agent until its inputs have ended, ``close`` is called, or it fails."""

    def __init__(self, agent: JoinAgent) -> None:
        self._agent = agent
        self._ending, self._ended = threading.Event(), threading.Event()
        self._end_summary: dict[str, Any] | None = None
        self.failure: BaseException | None = None
        """The error that ended the join, if there was one."""
        self._thread = threading.Thread(target=self._run, name="framegate-join", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether no more rows will come."""
        return not self._thread.is_alive()

    def summary(self) -> dict[str, Any]:
        """What was done so far."""
        if not self._ended.is_set():
            with suppress(JournalFailed):
                # The engine may be closed at this moment.
                return self._agent.summary()
        self._thread.join()
        return self._end_summary or {}

    def status(self) -> dict[str, Any]:
        """The state of the join, with what it waits for; empty once it is over."""
        if not self._ended.is_set():
            with suppress(JournalFailed):
                return self._agent.engine.status()
        return {}

    def end(self) -> None:
        """Tell the join to end in good order, and do not wait for it."""
        self._ending.set()

    def close(self) -> None:
        """End the join in good order: when this returns, the journal has everything that was joined."""
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ending.is_set() and self._agent.work():
                pass
            self._agent.join_what_was_sent()
        except BaseException as failure:
            self.failure = failure
        self._ended.set()
        try:
            self._end_summary = self._agent.close()
            self.failure = self.failure or self._agent.failure
        except FramegateError as failure:
            self.failure = self.failure or failure
        if self.failure is not None:
            _log.error("the join ended: %s", self.failure)
