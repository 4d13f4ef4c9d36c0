# SPDX-License-Identifier: Apache-2.0
"""The demo's processes: named when they die, ended whole, and tidied up after whatever becomes of the demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from framegate.schema.errors import DemoFailed, Interrupted
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.cast import Cast
from framegate.tools.demo.child import Child
from framegate.tools.demo.cleaner import Cleaner
from framegate.tools.demo.sessions import end_session, members

READY = 'print(\'{"event": "ready"}\', flush=True)\n'
FOR_EVER = "import signal\nwhile True: signal.pause()\n"
DEAF = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{READY}{FOR_EVER}"
PARENT = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n{DEAF}"
WATCHDOG_NS = 60_000_000_000


def until(is_so: Callable[[], object]) -> None:
    deadline_ns = monotonic_ns() + WATCHDOG_NS
    while not is_so():
        assert monotonic_ns() < deadline_ns
        sleep_ns(2_000_000)


class Started:
    """Children of a test, ended with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: list[Child] = []

    def __call__(self, code: str, name: str = "camera1") -> Child:
        self.children.append(Child(name, [sys.executable, "-c", code], self.folder, {**os.environ}))
        return self.children[-1]

    def ready(self, code: str, name: str = "camera1") -> Child:
        child = self(code, name)
        until(lambda: child.hear() or child.said("ready"))
        return child


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    made = Started(tmp_path)
    yield made
    for child in made.children:
        for pid in members(child.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: child.exit_status is not None)  # noqa: B023 - called at once
        child.close()


@pytest.fixture
def cast(tmp_path: Path) -> Iterator[Cast]:
    with StopSignal() as stop:
        stop.listen()
        made = Cast(tmp_path, tmp_path, stop, lambda _: None)
        (tmp_path / "tmp").mkdir()
        yield made
        made.close()


def test_what_a_child_says_is_heard_once_and_the_last_of_a_kind_stays(started: Started) -> None:
    child = started("print('noise')\nprint('[1]')\nfor n in range(3): print('{\"event\": \"n\", \"n\": %d}' % n)\n")
    until(lambda: child.exit_status is not None)
    assert [message["n"] for message in child.hear()] == [0, 1, 2]
    assert child.hear() == []
    assert child.said("n") == {"event": "n", "n": 2}
    child.check()


def test_a_line_that_is_half_written_is_heard_when_it_is_whole(started: Started) -> None:
    goes_on = started.folder / "goes-on"
    child = started(
        "import os, time\n"
        "print('{\"event\": ', end='', flush=True)\n"
        f"while not os.path.exists({str(goes_on)!r}): time.sleep(0.001)\n"
        "print('\"ready\"}', flush=True)\n"
    )
    until(lambda: (started.folder / "camera1.out").stat().st_size)
    assert child.hear() == []
    assert child.said("ready") is None
    goes_on.touch()
    until(lambda: child.exit_status is not None)
    assert child.hear() == [{"event": "ready"}]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("raise SystemExit('no light')", "camera1 ended with exit code 1; the last it said: no light"),
        ("import os; os.kill(os.getpid(), 9)", "camera1 was killed by SIGKILL; it said nothing"),
        ("import os; os.kill(os.getpid(), 60)", "camera1 was killed by signal 60; it said nothing"),
        (
            'print(\'{"event": "error", "code": 207, "name": "X", "message": "m"}\'); raise SystemExit(3)',
            "camera1 ended with exit code 3; the last it said: [FG-207 X] m",
        ),
        (
            "import sys; sys.exit('\\n'.join('abcde'))",
            "camera1 ended with exit code 1; the last it said: c | d | e",
        ),
    ],
)
def test_a_child_that_died_is_named_with_the_last_it_said(started: Started, code: str, wanted: str) -> None:
    child = started(code)
    until(lambda: child.exit_status is not None)
    with pytest.raises(DemoFailed) as caught:
        child.check()
    assert caught.value.message == wanted
    assert (caught.value.facts["process"], caught.value.facts["pid"]) == ("camera1", child.pid)


def test_of_two_that_died_the_one_that_was_started_first_is_the_cause(cast: Cast) -> None:
    words = [sys.executable, "-c", "import sys; sys.stdin.read(); raise SystemExit(1)"]
    driver, camera = cast.start("driver", words), cast.start("camera1", words)
    until(lambda: camera.exit_status is not None)
    until(lambda: driver.exit_status is not None)
    with pytest.raises(DemoFailed, match="driver ended with exit code 1"):
        cast.check()


def test_one_that_ends_before_it_should_is_named_though_it_says_that_all_is_well(cast: Cast) -> None:
    child = cast.start("driver", [sys.executable, "-c", "pass"])
    until(lambda: child.exit_status is not None)
    cast.check(lambda ended: ended is child)
    with pytest.raises(DemoFailed, match="driver ended before it should"):
        cast.check()


def test_one_that_is_not_ready_in_time_is_named(cast: Cast) -> None:
    child = cast.start("join", [sys.executable, "-c", FOR_EVER])
    try:
        with pytest.raises(DemoFailed, match="join was not ready within"):
            cast.ready(child, 0.05)
    finally:
        end_session(child.pid, 0.0)
        until(lambda: child.exit_status is not None)


def test_ctrl_c_ends_the_waiting(cast: Cast) -> None:
    child = cast.start("join", [sys.executable, "-c", FOR_EVER])
    try:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            cast.ready(child, 60.0)
    finally:
        end_session(child.pid, 0.0)
        until(lambda: child.exit_status is not None)


def test_a_session_that_does_not_listen_ends_whole(started: Started) -> None:
    parent = started.ready(PARENT)
    until(lambda: len(members(parent.pid)) == 2)
    end_session(parent.pid, 0.05)
    assert members(parent.pid) == []


def test_a_session_without_members_is_nobodys(started: Started) -> None:
    child = started("pass")
    until(lambda: child.exit_status is not None)
    end_session(child.pid, 0.0)
    assert members(os.getsid(0)) != []


CLEANED = """
import sys
from pathlib import Path
from framegate.tools.demo.cleaner import Cleaner
home = Path(sys.argv[1])
cleaner = Cleaner(home, str(home / "aeron"), home / "journal", "demo")
cleaner.note(int(sys.argv[2]))
print("noted", flush=True)
sys.stdin.read()
"""


def test_after_kill_9_of_the_demo_its_sessions_end_and_its_folder_goes(started: Started, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    child = started.ready(DEAF.replace("SIG_IGN", "SIG_DFL"))
    words = [sys.executable, "-c", CLEANED, str(home), str(child.pid)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as demo:
        assert demo.stdout is not None
        assert demo.stdout.readline() == b"noted\n"
        demo.kill()
    until(lambda: not home.exists())
    assert child.exit_status == -signal.SIGTERM


def test_the_end_of_the_demo_waits_until_everything_is_gone(started: Started, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    child = started.ready(DEAF.replace("SIG_IGN", "SIG_DFL"))
    with Cleaner(home, str(home / "aeron"), home / "journal", "demo") as cleaner:
        cleaner.note(child.pid)
        assert child.exit_status is None
    assert not home.exists()
    assert child.exit_status == -signal.SIGTERM
