# SPDX-License-Identifier: Apache-2.0
"""Whatever becomes of the demo, its processes end and its folder goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from framegate.tools.demo.cleaner import cleaned_up
from framegate.tools.demo.options import DemoOptions
from framegate.tools.demo.plan import Plan
from framegate.tools.rig.guard import MARK, marked

from tests.unit.tools.rig.test_sessions import until

CLEANED = """
import sys
from pathlib import Path
from framegate.tools.demo.cleaner import cleaned_up
from framegate.tools.demo.options import DemoOptions
from framegate.tools.demo.plan import Plan
home = Path(sys.argv[1])
with cleaned_up(Plan(DemoOptions(), home, home), sys.argv[2]):
    print("begun", flush=True)
    sys.stdin.read()
"""


def left_running(mark: str) -> subprocess.Popen[bytes]:
    """A process of a demo."""
    words = [sys.executable, "-c", "import signal; signal.pause()"]
    started = subprocess.Popen(words, env={**os.environ, MARK: mark})
    until(lambda: marked(mark) == [started.pid])
    return started


def test_after_kill_9_of_the_demo_its_processes_end_and_its_folder_goes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    words = [sys.executable, "-c", CLEANED, str(home), "killed"]
    with left_running("killed") as left, subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as demo:
        assert demo.stdout is not None
        assert demo.stdout.readline() == b"begun\n"
        demo.kill()
        until(lambda: not home.exists())
        assert left.wait() < 0


def test_the_end_of_the_demo_waits_until_everything_is_gone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with left_running("ended") as left:
        with cleaned_up(Plan(DemoOptions(), home, home), "ended"):
            assert home.is_dir()
        assert not home.exists()
        assert left.wait() < 0
