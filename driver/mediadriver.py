# SPDX-License-Identifier: Apache-2.0
"""The bundled media driver as a child process: found, started, watched, stopped.

``start`` does not join a media driver: it refuses a directory with a live one, and replaces what a dead one left. A
directory that holds anything but a media driver's files is refused and not changed.

The child watches a pipe that only this process holds, so it ends with this process, however that ends. Its standard
error goes to a log file of its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

from framegate.schema.errors import DriverDirectoryInUse, ForeignFiles, MediaDriverFailed
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import IdleName, sleep_ns
from framegate.shmpool.processes import process_exists
from framegate.shmpool.transport.aeron import DRIVER_TIMEOUT_MS, driver_mark_of

PROGRAM: Final = "framegate-media-driver"
Threading = Literal["shared", "shared_network", "dedicated"]

_SETTLE_NS: Final = 3_000_000_000
"""A mark that has not moved for this long, and whose process is gone, belongs to a dead driver."""
_STEP_NS: Final = 50_000_000
_ORPHAN_NS: Final = 10_000_000_000
_DIRECTORY_OPTION: Final = "--aeron-dir"
_PARENT_OPTION: Final = "--parent-pid"
_LOG_TAIL_BYTES: Final = 2_000
_FOREIGN_STATUS: Final = 3
"""The program's exit code if its directory holds files that are not a media driver's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaDriverOptions:
    """The options of the media driver. The defaults suit machines with few cores."""

    threading: Threading = "shared"
    idle: IdleName = "backoff"
    term_buffer_bytes: int | None = None
    client_liveness_timeout_ms: int | None = None
    driver_timeout_ms: int = DRIVER_TIMEOUT_MS
    umask: int = 0o077
    """The umask of its directory and files. By default others are excluded; 0o007 admits the group."""

    def arguments(self) -> list[str]:
        """The arguments of the program's command line."""
        words = ["--threading", self.threading, "--idle", self.idle, "--driver-timeout-ms", str(self.driver_timeout_ms)]
        if self.term_buffer_bytes is not None:
            words += ["--term-buffer-bytes", str(self.term_buffer_bytes)]
        if self.client_liveness_timeout_ms is not None:
            words += ["--client-liveness-timeout-ms", str(self.client_liveness_timeout_ms)]
        return words


def find_program(places: Sequence[Path] | None = None) -> Path | None:
    """Find the program: ``FRAMEGATE_MEDIA_DRIVER``, then beside the interpreter, in the scripts folders, in PATH."""
    named = os.environ.get("FRAMEGATE_MEDIA_DRIVER")
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    for place in _script_folders() if places is None else places:
        if os.access(place / PROGRAM, os.X_OK):
            return place / PROGRAM
    found = shutil.which(PROGRAM)
    return Path(found) if found else None


def _script_folders() -> list[Path]:
    schemes = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    return [Path(sys.executable).parent, *(Path(folder) for folder in schemes if folder)]


def is_live(aeron_dir: str) -> bool:
    """Whether a media driver serves ``aeron_dir`` now.

    A fresh mark is enough if its process exists. If it does not (it was killed a moment ago, or is in another process
    namespace), the mark must be seen to move.
    """
    mark = driver_mark_of(aeron_dir)
    if mark is None or mark[0] > DRIVER_TIMEOUT_MS:
        return False
    return process_exists(mark[1]) or _mark_moves(aeron_dir)


def await_orphan(aeron_dir: str) -> None:
    """Wait until a bundled media driver that has just lost its parent has ended.

    Nobody may join it in its last moment, nor make files that it is about to remove. Its mark may be gone already, so
    it is looked for among the processes.
    """
    deadline_ns = monotonic_ns() + _ORPHAN_NS
    while any(_is_orphan(pid, aeron_dir) for pid in _process_ids()) and monotonic_ns() < deadline_ns:
        sleep_ns(_STEP_NS)


def _process_ids() -> list[int]:
    """The ids of all processes, if the system shows them as files."""
    processes = Path("/proc")
    names = [entry.name for entry in processes.iterdir()] if processes.is_dir() else []
    return [int(name) for name in names if name.isdigit()]


def _is_orphan(pid: int, aeron_dir: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    if Path(words[0]).name != PROGRAM or _option(words, _DIRECTORY_OPTION) != aeron_dir:
        return False
    parent = _option(words, _PARENT_OPTION)
    return parent.isdigit() and not process_exists(int(parent))


def _option(words: Sequence[str], name: str) -> str:
    """The word after an option; empty if the option is not given."""
    return words[words.index(name) + 1] if name in words[:-1] else ""


def _why_not_ready(line: bytes, *, timed_out: bool, timeout_s: float) -> str:
    if timed_out:
        return f"it was not ready within {timeout_s:g} s"
    if line:
        return f"it printed {line[:200]!r} instead of ready: the program is not framegate's media driver"
    return "it ended before it was ready, and printed nothing"


def _mark_moves(aeron_dir: str) -> bool:
    deadline_ns = monotonic_ns() + _SETTLE_NS
    last_age_ms = 0
    while monotonic_ns() < deadline_ns:
        mark = driver_mark_of(aeron_dir)
        if mark is None:
            return False
        if mark[0] < last_age_ms:
            return True
        last_age_ms = mark[0]
        sleep_ns(_STEP_NS)
    return False


class MediaDriver:
    """One child process that serves one directory.

    ``with MediaDriver(aeron_dir=...) as driver:`` starts it and stops it in good order.
    """

    def __init__(
        self, *, aeron_dir: str, log_file: str | Path | None = None, options: MediaDriverOptions | None = None
    ) -> None:
        self.aeron_dir = aeron_dir
        self.log_file = Path(log_file) if log_file is not None else Path(f"{aeron_dir}.log")
        self._options = options or MediaDriverOptions()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The child's process id; 0 before ``start``."""
        return self._process.pid if self._process else 0

    @property
    def is_running(self) -> bool:
        """Whether the child lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """The exit status like ``subprocess.Popen.returncode``: None while the child lives, negative for a signal."""
        return self._process.poll() if self._process else None

    def start(self, timeout_s: float = 20.0) -> Self:
        """Start the child, and wait until clients can connect."""
        if is_live(self.aeron_dir):
            raise DriverDirectoryInUse("a live media driver owns this directory", aeron_dir=self.aeron_dir)
        program = find_program()
        if program is None:
            raise MediaDriverFailed(
                f"the program {PROGRAM} is not installed beside this Python",
                hint="Reinstall framegate, or name the program in FRAMEGATE_MEDIA_DRIVER.",
                python=sys.executable,
            )
        self._process = self._spawn(program)
        self._await_ready(timeout_s)
        return self

    def _spawn(self, program: Path) -> subprocess.Popen[bytes]:
        # Whatever the directory holds was found dead above, so the media driver need not wait for its mark to age.
        words = [str(program), _DIRECTORY_OPTION, self.aeron_dir, "--delete-on-start", _PARENT_OPTION, str(os.getpid())]
        log = self._open_log()
        try:
            return subprocess.Popen(
                words + self._options.arguments(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                umask=self._options.umask,
                # Ctrl-C goes to a whole process group, and this child must outlive the last messages of its clients.
                start_new_session=True,
            )
        finally:
            os.close(log)

    def _open_log(self) -> int:
        try:
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        except OSError as failure:
            reason = f"its log file cannot be written: {failure.strerror}"
            raise MediaDriverFailed(
                reason, hint="Choose an --aeron-dir whose folder this user may write.", log=self.log_file
            ) from failure

    def _await_ready(self, timeout_s: float) -> None:
        assert self._process is not None  # noqa: S101  (for the type checker; start() has just set it)
        assert self._process.stdout is not None  # noqa: S101
        readable, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        line = self._process.stdout.readline() if readable else b""
        if line.startswith(b"ready "):
            return
        if readable and not line:
            # The child has closed its output, so it is about to end, and its exit code gives the reason.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self.kill()
        reason = self.log_tail() or _why_not_ready(line, timed_out=not readable, timeout_s=timeout_s)
        if self.exit_status == _FOREIGN_STATUS:
            raise ForeignFiles(reason.removeprefix(f"{PROGRAM}: "), aeron_dir=self.aeron_dir)
        raise MediaDriverFailed(reason, aeron_dir=self.aeron_dir, exit_status=self.exit_status, log=self.log_file)

    def log_tail(self) -> str:
        """The last line of the media driver's log."""
        try:
            tail = self.log_file.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in tail.splitlines() if line.strip()]
        return next((line for line in reversed(lines) if line.startswith(PROGRAM)), lines[-1] if lines else "")

    def stop(self, timeout_s: float = 10.0) -> None:
        """End the child in good order, or by force after ``timeout_s``. Idempotent."""
        if self._process is None:
            return
        if self.is_running:
            self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close_pipes()
        self._tidy_up()

    def _tidy_up(self) -> None:
        # A media driver that was killed could not remove its files, and nobody can use them any more.
        mark = driver_mark_of(self.aeron_dir)
        program = find_program()
        if mark is not None and mark[1] == self.pid and program is not None:
            subprocess.run(
                [program, _DIRECTORY_OPTION, self.aeron_dir, "--clear"], check=False, stderr=subprocess.DEVNULL
            )
        if self.log_file.is_file() and self.log_file.stat().st_size == 0:
            self.log_file.unlink()

    def kill(self) -> None:
        """Kill the child by SIGKILL. Its directory stays; the next start replaces it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close_pipes()

    def _close_pipes(self) -> None:
        assert self._process is not None  # noqa: S101  (for the type checker)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()
