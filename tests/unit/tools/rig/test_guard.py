# SPDX-License-Identifier: Apache-2.0
"""What a guard ends when its supervisor is gone: what is left of its sessions, and what has the rig's mark."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from framegate.tools.rig.guard import MARK, Guard, marked

from tests.unit.watchdog import until


@contextmanager
def sleeping(mark: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ if mark is None else {**os.environ, MARK: mark}
    process = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def is_anew(guard: Guard) -> bool:
    guard.look()
    return guard.restarts == 1


def test_it_ends_what_was_noted_and_has_not_ended() -> None:
    with sleeping() as noted, sleeping() as forgiven:
        guard = Guard(5)
        guard.note_begun(noted.pid)
        guard.note_begun(forgiven.pid)
        guard.note_ended(forgiven.pid)
        guard.close()
        assert noted.wait(60) == -signal.SIGTERM
        assert forgiven.poll() is None


def test_it_ends_what_has_the_mark_of_its_rig_and_of_no_other() -> None:
    guard = Guard(5)
    with sleeping(guard.mark) as own, sleeping("another") as other:
        until(lambda: marked(guard.mark) == [own.pid])
        guard.close()
        assert own.wait(60) == -signal.SIGTERM
        assert other.poll() is None


def test_a_guard_that_was_killed_is_followed_by_one_that_knows_the_same() -> None:
    with sleeping() as noted:
        guard = Guard(5)
        guard.note_begun(noted.pid)
        os.kill(guard.pid, signal.SIGKILL)
        until(lambda: is_anew(guard))
        guard.close()
        assert noted.wait(60) == -signal.SIGTERM
