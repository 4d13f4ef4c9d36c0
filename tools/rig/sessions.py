# SPDX-License-Identifier: Apache-2.0
"""Sessions: everything that a process has started, found and ended by the session that was made for it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

_STEP_NS: Final = 20_000_000


def members(session: int) -> list[int]:
    """The living processes of a session. Zombies, which only wait for their parents, are left out."""
    found = list[int]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # The name in parentheses may contain anything. State and session are the 1st and the 4th word after
                # it.
                state, _, _, own = (entry / "stat").read_text().rpartition(") ")[2].split()[:4]
                if int(own) == session and state not in "ZX":
                    found.append(int(entry.name))
    return found


def end_session(session: int, patience_s: float) -> None:
    """Ask the first process of a session to end. After ``patience_s``, end by force whatever is left."""
    # A session without members is over, and another process may have its number by now.
    if session in members(session):
        _send(session, signal.SIGTERM)
    if not _is_gone_within(session, patience_s):
        for pid in members(session):
            _send(pid, signal.SIGKILL)
        _is_gone_within(session, patience_s)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_gone_within(session: int, seconds: float) -> bool:
    deadline_ns = monotonic_ns() + int(seconds * 1e9)
    while members(session):
        if monotonic_ns() >= deadline_ns:
            return False
        sleep_ns(_STEP_NS)
    return True
