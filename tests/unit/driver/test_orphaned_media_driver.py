# SPDX-License-Identifier: Apache-2.0
"""A media driver that has lost its parent is waited for, also when its mark is gone; any other process is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from framegate.driver.mediadriver import PROGRAM, await_orphan

NOBODY = 2**22 + 1
"""Above every process number that Linux gives out."""
Pretend = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def pretend(tmp_path: Path) -> Iterator[Pretend]:
    """Start something that looks like a media driver of that folder, until its standard input ends."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str = PROGRAM, folder: Path = tmp_path, parent: int = NOBODY) -> subprocess.Popen[bytes]:
        script = "import sys; print(flush=True); sys.stdin.read(1)"
        words = [name, "-c", script, "--aeron-dir", str(folder), "--parent-pid", str(parent)]
        process = subprocess.Popen(words, executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.communicate()


def test_an_orphan_is_waited_for_although_it_has_no_mark(
    pretend: Pretend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = pretend()
    steps: list[int] = []

    def step(nanoseconds: int) -> None:
        steps.append(nanoseconds)
        orphan.communicate()

    monkeypatch.setattr("framegate.driver.mediadriver.sleep_ns", step)
    await_orphan(str(tmp_path))
    assert len(steps) == 1
    assert orphan.poll() == 0


@pytest.mark.parametrize("other", [{"name": "other"}, {"folder": Path("/elsewhere")}, {"parent": os.getpid()}])
def test_nobody_else_is_waited_for(
    pretend: Pretend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, object]
) -> None:
    def never(nanoseconds: int) -> None:
        pytest.fail(f"it waits {nanoseconds} ns")

    process = pretend(**other)
    monkeypatch.setattr("framegate.driver.mediadriver.sleep_ns", never)
    await_orphan(str(tmp_path))
    assert process.poll() is None
