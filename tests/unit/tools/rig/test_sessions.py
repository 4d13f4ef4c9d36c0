# SPDX-License-Identifier: Apache-2.0
"""A session is found and ended whole, whether its first process listens or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.tools.rig.sessions import end_session, members

DEAF = (
    "import signal, subprocess, sys\n"
    "subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print(flush=True)\n"
    "while True: signal.pause()\n"
)
WATCHDOG_NS = 60_000_000_000


def until(is_so: Callable[[], object]) -> None:
    deadline_ns = monotonic_ns() + WATCHDOG_NS
    while not is_so():
        assert monotonic_ns() < deadline_ns
        sleep_ns(2_000_000)


@contextmanager
def session(code: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, which ends with the test."""
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as started:
        assert started.stdout is not None
        started.stdout.readline()
        try:
            yield started
        finally:
            for pid in members(started.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def test_a_session_that_does_not_listen_ends_whole() -> None:
    with session(DEAF) as parent:
        until(lambda: len(members(parent.pid)) == 2)
        end_session(parent.pid, 0.05)
        until(lambda: members(parent.pid) == [])


def test_a_session_without_members_is_nobodys() -> None:
    with session("pass") as started:
        started.wait()
        end_session(started.pid, 0.0)
    assert members(os.getsid(0)) != []
