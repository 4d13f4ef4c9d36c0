# SPDX-License-Identifier: Apache-2.0
"""Questions to many servers at the same time.

A query over a hundred hosts asks each of them some things a micro-batch. Asked one after another their ways add up,
and every server that is slow or away adds its time-out; asked at once they cost the slowest one, once.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from framegate.joinbarrier.tables.source_table import SourceTable

ASKED_AT_ONCE: Final = 32
"""Questions that are open, at most. What is done for each here is done under the GIL: more would save little."""
Answer = TypeVar("Answer")
_log = logging.getLogger(__name__)


def ask_each(tables: Mapping[str, SourceTable], ask: Callable[[str, SourceTable], Answer]) -> dict[str, Answer]:
    """One question to each table, its answers in the order of the tables. Raises what the first of them raised.

    Those of this host are asked one after another: they wait for nobody, and a thread would cost more than they do.
    """
    near = {path: ask(path, table) for path, table in tables.items() if not table.is_far}
    far = ask_in_parallel({path: partial(ask, path, table) for path, table in tables.items() if table.is_far})
    return {path: near[path] if path in near else far[path] for path in tables}


def ask_in_parallel(questions: Mapping[str, Callable[[], Answer]]) -> dict[str, Answer]:
    """All answers, in the order of the questions; or the failure of the first in this order that failed.

    After a failure no further question begins. Those that have begun are waited for: nothing goes on behind the
    caller's back, and each of them has a time-out.

    >>> ask_in_parallel({"a": lambda: 1, "b": lambda: 2})
    {'a': 1, 'b': 2}
    """
    if len(questions) < 2:
        return {name: question() for name, question in questions.items()}
    return _Round(questions).answers()


class _Round(Generic[Answer]):
    """Some questions, and whoever has time takes the next one: the caller, and the threads that it could start."""

    def __init__(self, questions: Mapping[str, Callable[[], Answer]]) -> None:
        self._questions = questions
        self._left = deque(questions)
        self._answers = dict[str, Answer]()
        self._failures = dict[str, BaseException]()

    def answers(self) -> dict[str, Answer]:
        helpers = self._started()
        try:
            self._ask()
        finally:
            for helper in helpers:
                helper.join()
        for name in self._questions:
            if name in self._failures:
                raise self._failures[name]
        return {name: self._answers[name] for name in self._questions}

    def _started(self) -> list[threading.Thread]:
        made = list[threading.Thread]()
        for _ in range(min(len(self._questions), ASKED_AT_ONCE) - 1):
            helper = threading.Thread(target=self._ask, name="framegate-asking", daemon=False)
            try:
                helper.start()
            except RuntimeError as refused:
                # The process may have no more of them, or is about to end. Fewer do the same, only later.
                _log.info("%d servers are asked by %d threads: %s", len(self._questions), len(made) + 1, refused)
                break
            made.append(helper)
        return made

    def _ask(self) -> None:
        while self._left and not self._failures:
            try:
                name = self._left.popleft()
            except IndexError:
                return  # Another thread was faster.
            try:
                self._answers[name] = self._questions[name]()
            except BaseException as failure:
                self._failures[name] = failure
