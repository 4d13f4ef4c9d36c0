# SPDX-License-Identifier: Apache-2.0
"""Questions to many servers: how many are open at a time, what one of them costs the others, and what is raised."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from framegate.joinbarrier.spark.plan import parallel_questions as module
from framegate.joinbarrier.spark.plan.lease_keeper import LeaseKeeper
from framegate.joinbarrier.spark.plan.parallel_questions import ASKED_AT_ONCE, ask_each, ask_in_parallel
from framegate.schema.errors import EndpointUnreachable, ReaderFenced

from tests.unit.watchdog import WATCHDOG_NS, until

WATCHDOG_S = WATCHDOG_NS / 1e9


def numbered(count: int, ask: Callable[[int], int]) -> dict[str, Callable[[], int]]:
    return {str(number): partial(ask, number) for number in range(count)}


def fails(failure: Exception) -> int:
    raise failure


@pytest.mark.parametrize("count", [0, 1, 2, ASKED_AT_ONCE, 3 * ASKED_AT_ONCE])
def test_every_question_is_asked_once_and_answers_keep_their_order(count: int) -> None:
    questions = list[int]()

    def ask(number: int) -> int:
        questions.append(number)
        return -number

    found = ask_in_parallel(numbered(count, ask))
    assert list(found.items()) == [(str(number), -number) for number in range(count)]
    assert sorted(questions) == list(range(count))


def test_who_is_silent_keeps_nobody_else_from_being_asked() -> None:
    """The first of a hundred answers only when all others have."""
    answered = set[int]()

    def ask(number: int) -> int:
        if number == 0:
            until(lambda: len(answered) == 99)
        answered.add(number)
        return number

    assert len(ask_in_parallel(numbered(100, ask))) == 100


def test_several_that_are_silent_are_waited_for_at_the_same_time() -> None:
    """None of them answers before all are asked: one after another they would never."""
    together = threading.Barrier(ASKED_AT_ONCE)
    assert len(ask_in_parallel(numbered(ASKED_AT_ONCE, lambda _: together.wait(WATCHDOG_S)))) == ASKED_AT_ONCE


def test_no_more_are_open_than_the_bound_and_no_thread_stays() -> None:
    before, lock = threading.active_count(), threading.Lock()
    now = most = 0

    def ask(_number: int) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        until(lambda: most >= ASKED_AT_ONCE)
        with lock:
            now -= 1
        return 0

    ask_in_parallel(numbered(4 * ASKED_AT_ONCE, ask))
    assert most == ASKED_AT_ONCE
    assert threading.active_count() == before


def test_the_failure_that_is_raised_is_the_first_in_order_not_in_time() -> None:
    together, second_failed = threading.Barrier(2), threading.Event()

    def first() -> int:
        together.wait(WATCHDOG_S)
        assert second_failed.wait(WATCHDOG_S)
        return fails(ReaderFenced("first"))

    def second() -> int:
        together.wait(WATCHDOG_S)
        second_failed.set()
        return fails(EndpointUnreachable("second"))

    with pytest.raises(ReaderFenced):
        ask_in_parallel({"first": first, "second": second})


def test_behind_a_failure_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASKED_AT_ONCE", 1)
    questions = list[int]()

    def ask(number: int) -> int:
        questions.append(number)
        return fails(EndpointUnreachable("away")) if number == 3 else number

    with pytest.raises(EndpointUnreachable):
        ask_in_parallel(numbered(10, ask))
    assert questions == [0, 1, 2, 3]


def test_a_process_that_may_have_no_more_threads_asks_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = threading.Thread.start, list[threading.Thread]()

    def refused(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert len(ask_in_parallel(numbered(50, lambda number: number))) == 50
    assert len(started) == 2


def test_tables_of_this_host_are_asked_by_who_asks() -> None:
    def table(*, is_far: bool) -> Any:
        return SimpleNamespace(is_far=is_far)

    tables = {"a": table(is_far=True), "b": table(is_far=False), "c": table(is_far=True), "d": table(is_far=False)}
    together, threads = threading.Barrier(2), dict[str, int]()

    def ask(path: str, each: Any) -> str:
        if each.is_far:
            together.wait(WATCHDOG_S)  # Both servers at the same time.
        threads[path] = threading.get_ident()
        return path.upper()

    assert list(ask_each(tables, ask).items()) == [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]
    assert threads["b"] == threads["d"] == threading.get_ident()


class Reader:
    """A claim that is renewed by ``commit``."""

    number = committed_row = 0

    def __init__(self, commit: Callable[[], object]) -> None:
        self._commit, self.renewed = commit, 0

    def commit(self, _row: int) -> None:
        self._commit()
        self.renewed += 1


def test_a_lease_is_renewed_although_another_server_is_silent() -> None:
    well = [Reader(lambda: None) for _ in range(3)]
    silent = Reader(lambda: until(lambda: all(each.renewed for each in well)))
    gone = Reader(lambda: fails(EndpointUnreachable("away")))
    keeper = LeaseKeeper({"silent": silent, "gone": gone, **dict(zip("abc", well, strict=True))}, 3600)
    try:
        keeper.renew()
        keeper.check()
    finally:
        keeper.stop()
    assert [each.renewed for each in (silent, gone, *well)] == [1, 0, 1, 1, 1]
