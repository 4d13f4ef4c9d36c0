# SPDX-License-Identifier: Apache-2.0
"""A process beside the demo: heard, told to begin and to end, and named when it dies."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.errors import DemoFailed
from framegate.shmpool.processes import process_exists
from framegate.tools.demo.beside import Beside

READY = "print('noise')\nprint('[1]')\nprint('{\"event\": \"ready\", \"n\": 7}', flush=True)\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module ``played``, which a test writes."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "played.py"


def test_what_it_says_is_heard_and_it_ends_with_its_standard_input(program: Path, tmp_path: Path) -> None:
    program.write_text(READY + "import sys\nassert sys.stdin.readline() == 'begin\\n'\nsys.stdin.read()\n")
    with Beside("camera1", tmp_path, "played") as beside:
        assert beside.said("ready")["n"] == 7
        beside.begin()
        beside.check()
        assert not beside.has_ended
    assert beside.has_ended


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("raise SystemExit('no light')", "camera1 ended with code 1; the last it said: no light"),
        ("import os; os.kill(os.getpid(), 9)", "camera1 was killed by SIGKILL; the last it said: nothing"),
        ("import os; os.kill(os.getpid(), 60)", "camera1 was killed by signal 60; the last it said: nothing"),
        ("import sys; sys.exit('\\n'.join('abcde'))", "camera1 ended with code 1; the last it said: c | d | e"),
        ("print('bye')", "camera1 did not say 'ready'; the last it said: bye"),
    ],
)
def test_one_that_died_is_named_with_the_last_it_said(program: Path, tmp_path: Path, code: str, wanted: str) -> None:
    program.write_text(code)
    with pytest.raises(DemoFailed) as caught, Beside("camera1", tmp_path, "played") as beside:
        beside.said("ready")
    assert caught.value.message == wanted
    assert (caught.value.facts["process"], caught.value.facts["pid"]) == ("camera1", beside.process.pid)


def test_one_that_fails_at_its_end_is_named_too(program: Path, tmp_path: Path) -> None:
    program.write_text(READY + "import sys\nsys.stdin.read()\nraise SystemExit(3)\n")
    with pytest.raises(DemoFailed, match="camera1 ended with code 3"), Beside("camera1", tmp_path, "played") as beside:
        beside.said("ready")


def test_one_that_does_not_listen_ends_by_force_after_an_error(program: Path, tmp_path: Path) -> None:
    program.write_text(READY + "import signal\nwhile True: signal.pause()\n")
    beside = Beside("camera1", tmp_path, "played")
    beside.said("ready")
    beside.__exit__(ZeroDivisionError, None, None)
    assert not process_exists(beside.process.pid)
