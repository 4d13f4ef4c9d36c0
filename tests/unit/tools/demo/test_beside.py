# SPDX-License-Identifier: Apache-2.0
"""A command beside the demo: heard, told to end, and named when it dies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from framegate.schema.errors import DemoFailed
from framegate.shmpool.processes import process_exists
from framegate.tools.demo import beside
from framegate.tools.demo.beside import Beside

READY = "print('noise')\nprint('[1]')\nprint('{\"event\": \"ready\", \"n\": 7}', flush=True)\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What runs in place of framegate, which a test writes."""
    monkeypatch.setattr(beside, "PROGRAM", (sys.executable, str(tmp_path / "played.py")))
    return tmp_path / "played.py"


def test_what_it_says_is_heard_and_it_ends_when_it_is_told_to(program: Path, tmp_path: Path) -> None:
    program.write_text(
        "import signal, sys\nsignal.signal(signal.SIGINT, lambda *_: sys.exit())\n"
        f"assert sys.argv[1:] == ['record', '7', '--json']\n{READY}signal.pause()\n"
    )
    with Beside("camera1", tmp_path, "record", 7) as started:
        assert started.said("ready")["n"] == 7
        started.check()
        assert not started.has_ended
        started.end()
    assert started.has_ended


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
    with pytest.raises(DemoFailed) as caught, Beside("camera1", tmp_path) as started:
        started.said("ready")
    assert caught.value.message == wanted
    assert (caught.value.facts["process"], caught.value.facts["pid"]) == ("camera1", started.process.pid)


def test_one_that_fails_at_its_end_is_named_too(program: Path, tmp_path: Path) -> None:
    program.write_text(READY + "raise SystemExit(3)\n")
    with pytest.raises(DemoFailed, match="camera1 ended with code 3"), Beside("camera1", tmp_path):
        pass


def test_one_that_does_not_listen_ends_by_force_after_an_error(program: Path, tmp_path: Path) -> None:
    program.write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + READY + "while True: signal.pause()\n"
    )
    started = Beside("camera1", tmp_path)
    started.said("ready")
    started.__exit__(ZeroDivisionError, None, None)
    assert not process_exists(started.process.pid)
