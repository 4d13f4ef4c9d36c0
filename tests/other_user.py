# SPDX-License-Identifier: Apache-2.0
"""A second user, for tests that run as root: a child process that gives its rights up."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

OTHER: Final = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as two users")


def as_other(act: Callable[[], object]) -> None:
    """Run a function as another user, in a child; fails with what it raised."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            act()
            os._exit(0)
        except BaseException:
            os.write(writes, traceback.format_exc().encode())
            os._exit(1)
    os.close(writes)
    with os.fdopen(reads) as said:
        failure = said.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, failure


def give_to_other(path: Path) -> None:
    """Let the other user own it."""
    os.chown(path, OTHER, OTHER)
