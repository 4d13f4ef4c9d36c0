# SPDX-License-Identifier: Apache-2.0
"""Real processes for the system tests: media drivers, programs, and the waiting they need.

Every test has directories of its own under /dev/shm, gone when it ends; what the programs printed and what the
media driver logged comes with the failure.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from tests.own_folder import own_folder
from tests.system.small_disk import mounted

if TYPE_CHECKING:
    from framegate.driver.mediadriver import MediaDriver
    from framegate.shmpool.transport.interface import Received, Transport

WATCHDOG_NS = 60_000_000_000
LOOK_AGAIN_NS = 5_000_000
CHANNEL = "aeron:ipc?term-length=64k"
PROGRAMS = Path(__file__).parent / "programs"
_Found = TypeVar("_Found")
_EVIDENCE = pytest.StashKey[list[Path]]()


class Program:
    """A process that the test started, and what it has printed so far."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.words = list(words)
        self._out, self._err = folder / "stdout.txt", folder / "stderr.txt"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                env={**os.environ, **environment},
                # Not the source tree: what a program imports is what is installed.
                cwd=folder,
                # A group of its own, so that a test can play the terminal whose Ctrl-C goes to all of it.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> str:
        return self._out.read_text(errors="replace")

    @property
    def stderr(self) -> str:
        return self._err.read_text(errors="replace")

    def objects(self) -> list[dict[str, Any]]:
        """What it printed, as JSON objects; a line that is still being written is left out."""
        whole, _, _unfinished = self.stdout.rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def says(self, **wanted: object) -> dict[str, Any]:
        """Wait for a printed JSON object with these members."""

        def find() -> dict[str, Any] | None:
            return next((found for found in self.objects() if wanted.items() <= found.items()), None)

        return self.until(find, f"printed {wanted}")

    def until(self, condition: Callable[[], _Found | None], what: str) -> _Found:
        """Wait for a condition that only this program can bring about; fail at once when it has ended without."""

        def look() -> _Found | None:
            has_ended = self._process.poll() is not None
            found = condition()
            if not found and has_ended:
                pytest.fail(f"the program ended before it was {what}: {self}")
            return found

        return until(look, f"{what} by {self}")

    def tell(self, line: str) -> None:
        """Give it a line on its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def children(self) -> list[int]:
        """The pids of the processes that it started and that live."""
        lists = Path(f"/proc/{self.pid}/task").glob("*/children")
        return [int(pid) for each in lists for pid in each.read_text().split()]

    def wait(self) -> int:
        """Its exit status, negative for the signal that ended it."""
        try:
            return self._process.wait(WATCHDOG_NS / 1e9)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the program does not end: {self}")

    def close(self) -> None:
        """End it by force if it lives, by the pid that was started."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            # Unread lines may be left in it, and nobody to read them.
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def __repr__(self) -> str:
        return (
            f"{' '.join(self.words)}\nexit status: {self._process.poll()}"
            f"\nstandard output:\n{self.stdout}\nstandard error:\n{self.stderr}"
        )


class System:
    """Starts programs, and waits under a watchdog."""

    channel = CHANNEL

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._programs: list[Program] = []
        self._adopted: list[int] = []

    def start(self, *words: str, **environment: str) -> Program:
        """Start a program; it is ended with the test."""
        folder = self._folder / str(len(self._programs))
        folder.mkdir()
        self._programs.append(Program(words, folder, environment))
        return self._programs[-1]

    def framegate(self, *words: str, **environment: str) -> Program:
        """Start ``framegate ...``."""
        return self.start(sys.executable, "-m", "framegate", *words, **environment)

    def own_program(self, name: str, *words: str) -> Program:
        """Start one of ``tests/system/programs``."""
        return self.start(sys.executable, str(PROGRAMS / f"{name}.py"), *words)

    def until(self, condition: Callable[[], _Found | None], what: str) -> _Found:
        """Wait for a condition; what it found."""
        return until(condition, what)

    def until_ended(self, pid: int) -> None:
        """Wait until a process, ours or not, has ended."""
        until(lambda: not is_alive(pid), f"process {pid} ended")

    def is_alive(self, pid: int) -> bool:
        return is_alive(pid)

    def adopt(self, pid: int) -> int:
        """Be responsible for a process that a program started: it does not outlive the test, even one that fails."""
        self._adopted.append(os.pidfd_open(pid))
        return pid

    def suspend(self, pid: int) -> None:
        """Stop a process in its tracks, and wait until all of it stands still."""
        os.kill(pid, signal.SIGSTOP)
        threads = Path(f"/proc/{pid}/task")
        until(lambda: all(_state(thread) == "T" for thread in threads.iterdir()), f"process {pid} suspended")

    def serves(self, aeron_dir: str) -> bool:
        """Whether a message goes through the media driver of a directory, from one new client to another."""
        from framegate.shmpool.transport.aeron import AeronTransport

        with AeronTransport(aeron_dir) as sender, AeronTransport(aeron_dir) as receiver:
            return carry(sender, receiver, b"a message")[0].data == b"a message"

    def close(self) -> None:
        for program in self._programs:
            program.close()
        for descriptor in self._adopted:
            # By its descriptor: the number of a process that has ended may be another's by now.
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)


def carry(sender: Transport, receiver: Transport, message: bytes) -> list[Received]:
    """Send one message from one client to another; what arrived."""
    subscription = receiver.add_subscription(CHANNEL, 77)
    publication = sender.add_publication(CHANNEL, 77)
    until(lambda: publication.is_connected, "connected")
    assert publication.offer(message) > 0
    return until(subscription.poll, "a message")


def until(condition: Callable[[], _Found | None], what: str) -> _Found:
    """Wait until a condition finds something, under a watchdog."""
    deadline_ns = monotonic_ns() + WATCHDOG_NS
    while not (found := condition()):
        if monotonic_ns() > deadline_ns:
            pytest.fail(f"not within {WATCHDOG_NS / 1e9:g} s: {what}")
        sleep_ns(LOOK_AGAIN_NS)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs. One that has ended and waits to be collected by its parent does not."""
    try:
        return _state(Path(f"/proc/{pid}")) not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _state(process_or_thread: Path) -> str:
    return (process_or_thread / "stat").read_text().rpartition(") ")[2][0]


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's shell says about drivers is not for these tests."""
    for name in [name for name in os.environ if name.startswith(("AERON_", "FRAMEGATE_"))]:
        if name != "FRAMEGATE_TEST_LANE":
            monkeypatch.delenv(name)


@pytest.fixture
def shm(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder of the test's own in shared memory."""
    with own_folder("system") as folder:
        request.node.stash[_EVIDENCE] = [folder]
        yield folder


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of its own, so small that a test can fill it."""
    with mounted() as place:
        yield place


@pytest.fixture
def aeron_dir(shm: Path) -> str:
    """A path for a media driver's directory; nothing is there yet. The driver's log goes beside it."""
    return str(shm / "aeron")


@pytest.fixture
def media_driver(aeron_dir: str) -> Iterator[MediaDriver]:
    """A live media driver in ``aeron_dir``."""
    from framegate.driver.mediadriver import MediaDriver

    with MediaDriver(aeron_dir=aeron_dir) as driver:
        yield driver


@pytest.fixture
def system(tmp_path: Path, shm: Path) -> Iterator[System]:
    """Programs of this test. They are ended before its folder in shared memory goes."""
    system = System(tmp_path)
    try:
        yield system
    finally:
        system.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for log in sorted(log for folder in item.stash.get(_EVIDENCE, []) for log in folder.glob("*.log")):
            report.sections.append((f"media driver log {log.name}", log.read_text(errors="replace")))
    return report
