# SPDX-License-Identifier: Apache-2.0
"""A driver, producers and joins as a person starts them: the installed command line, in folders of the bed's own.

Nothing of framegate is imported here. A process is ended by the handle that started it, what it prints is read line by
line, and every wait ends under a watchdog.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FRAMEGATE = str(Path(sys.executable).parent / "framegate")
WATCHDOG_S = 90.0
LOOK_AGAIN_S = 0.01
_DEAF = """
import sys, time
import framegate as fg

with fg.connect() as client:
    consumer = client.consumer(int(sys.argv[1]))
    print('{"event": "ready"}', flush=True)
    time.sleep(600)
"""
USAGE, ENVIRONMENT = 2, 3
"""Exit codes: wrong usage or configuration; no driver, no room, no permission."""

Object = dict[str, Any]


class Process:
    """A program that was started, and what it has printed so far."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> None:
        self.words = list(words)
        self.lines: list[str] = []
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                self.words,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def errors(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text(errors="replace")

    @property
    def text(self) -> str:
        """All that it said, on both streams."""
        return "\n".join([*self.lines, self.errors])

    def objects(self) -> list[Object]:
        """The JSON objects that it printed."""
        return [json.loads(line) for line in list(self.lines) if line.startswith("{")]

    def says(self, **wanted: object) -> Object:
        """Wait until it has printed an object with these members."""

        def found() -> Object | None:
            return next((each for each in self.objects() if wanted.items() <= each.items()), None)

        until(lambda: found() is not None or self.has_ended, f"{wanted} from {self}")
        self._drain()
        said = found()
        assert said is not None, f"it ended without {wanted}: {self}"
        return said

    def ended(self, within_s: float = WATCHDOG_S) -> int:
        """Wait for its end; the exit code."""
        try:
            code = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self}") from None
        self._drain()
        return code

    def summary(self, within_s: float = WATCHDOG_S) -> Object:
        """Wait for its end, which must be a good one; the summary that it printed."""
        code = self.ended(within_s)
        assert code == 0, self
        return self.says(event="summary")

    def interrupted(self) -> Object:
        """The summary of a program that is told to end by Ctrl-C."""
        self.send(signal.SIGINT)
        return self.summary()

    def send(self, number: signal.Signals) -> None:
        if not self.has_ended:
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it as the kernel does, and wait until it is gone."""
        self.send(signal.SIGKILL)
        self.ended()

    def stop(self) -> None:
        """Let it stand still."""
        self.send(signal.SIGSTOP)

    def go_on(self) -> None:
        self.send(signal.SIGCONT)

    def close(self) -> None:
        """End it, kindly and then by force."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self._process.wait()
        self._drain()

    def _drain(self) -> None:
        if self.has_ended:
            self._reader.join(5)
            assert self._process.stdout is not None
            self._process.stdout.close()

    def __repr__(self) -> str:
        said = "\n".join(self.lines[-20:])
        return f"{' '.join(self.words)}\nexit: {self._process.poll()}\n{said}\n{self.errors[-4000:]}"


class Bed:
    """One place under /dev/shm with a driver and whatever is started in it. A context manager."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="framegate-outside-", dir="/dev/shm"))
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("FRAMEGATE_", "AERON_"))},
            "FRAMEGATE_AERON_DIR": str(self.folder / "aeron"),
            "FRAMEGATE_BASE_DIR": str(self.folder / "pool"),
        }
        self._started: list[Process] = []
        self._numbers = itertools.count()
        self._next_stream = 10_001
        self._sent: dict[int | str, list[Path]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The newest first: a driver goes after its clients.
        for process in reversed(self._started):
            process.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def started(self) -> int:
        """How many programs were started so far and not ended by ``end_from``."""
        return len(self._started)

    def end_from(self, mark: int) -> None:
        """End all programs but the first so many, the newest first."""
        while len(self._started) > mark:
            self._started.pop().close()

    def streams(self, count: int = 2) -> list[int]:
        """Streams that nobody else in this bed uses."""
        first = self._next_stream
        self._next_stream += count
        return list(range(first, first + count))

    # --- programs --------------------------------------------------------------------------------------------

    def run(self, *words: object, is_ready: bool = False) -> Process:
        """Start ``framegate ...``; wait until it is ready, where that is wanted."""
        return self._start([FRAMEGATE, *map(str, words)], is_ready=is_ready)

    def python(self, text: str, *words: object) -> Process:
        """Start a program that a user would write."""
        program = self.folder / f"program-{next(self._numbers)}.py"
        program.write_text(text)
        return self._start([sys.executable, str(program), *map(str, words)], is_ready=False)

    def program(self, path: Path, *words: object) -> Process:
        """Start a program of the project's examples, as a user would."""
        return self._start([sys.executable, str(path), *map(str, words)], is_ready=False)

    def shell(self, text: str) -> Process:
        """Start what a user would type."""
        return self._start(["bash", "-ec", text], is_ready=False)

    def _start(self, words: Sequence[str], *, is_ready: bool) -> Process:
        log = self.folder / f"stderr-{next(self._numbers)}.txt"
        process = Process(words, self.environment, self.folder, log)
        self._started.append(process)
        if is_ready:
            process.says(event="ready")
        return process

    def driver(self, *words: object) -> Process:
        return self.run("driver", "--json", *words, is_ready=True)

    def join(self, config: Path, *words: object, is_ready: bool = True) -> Process:
        """Start a join; wait until it listens to all its inputs."""
        return self.run("join", "--config", config, "--json", *words, is_ready=is_ready)

    def produce(
        self, stream: int | str, *words: object, consumers: int = 1, end: bool = True, is_ready: bool = False
    ) -> Process:
        """Start ``framegate produce``, which writes down what it published."""
        logs = self._sent.setdefault(stream, [])
        logs.append(self.folder / f"sent-{stream}-{len(logs)}.csv")
        told = ("--wait-consumers", consumers, *(["--end"] if end else []), "--sent-log", logs[-1], "--json")
        return self.run("produce", "--stream", stream, *told, *words, is_ready=is_ready)

    def rate(self, stream: int | str, hz: float, count: int, shape: object = "8x8", **options: Any) -> Process:
        """A producer of some frames at a rate."""
        return self.produce(stream, "--rate", hz, "--count", count, "--shape", shape, **options)

    def play(
        self,
        stream: int,
        steps: Iterable[Sequence[object]],
        shape: object = "8x8",
        words: Sequence[object] = (),
        **options: Any,
    ) -> Process:
        """A producer by schedule. Steps are (at_ms, seq, timestamp_ns); a timestamp None is none."""
        schedule = self.folder / f"schedule-{stream}-{next(self._numbers)}.csv"
        rows = [",".join("" if cell is None else str(cell) for cell in step) for step in steps]
        schedule.write_text("\n".join(["at_ms,seq,timestamp_ns", *rows]) + "\n")
        return self.produce(stream, "--schedule", schedule, "--shape", shape, *words, **options)

    def deaf(self, stream: int | str) -> Process:
        """A program that has a consumer of a stream and never reads."""
        process = self.python(_DEAF, stream)
        process.says(event="ready")
        return process

    # --- files -----------------------------------------------------------------------------------------------

    def config(
        self,
        name: str,
        policy: str,
        inputs: Mapping[str, Mapping[str, object]],
        *,
        out: int = 0,
        join: Mapping[str, object] | None = None,
        **tables: Mapping[str, object],
    ) -> Path:
        """A join.toml; ``inputs`` by their names, ``join`` for more keys of the first table, ``tables`` beside it."""
        head = {"out_stream": out or self.streams(1)[0] + 10_000, "policy": policy, "journal": name, **(join or {})}
        lines = _table("[join]", head)
        for table, keys in tables.items():
            lines += _table(f"[{table}]", keys)
        for column, keys in inputs.items():
            lines += _table("[[input]]", {"name": column, **keys})
        path = self.folder / f"{name}.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def lockstep(self, name: str, streams: Sequence[int], **options: Any) -> Path:
        """The join that the README shows: row n holds frame n of all."""
        return self.config(
            name, "sequence", {f"s{k}": {"stream": stream} for k, stream in enumerate(streams)}, **options
        )

    def journal(self, name: str) -> Path:
        return self.folder / name

    def sent(self, *streams: int | str) -> list[Path]:
        """The files in which producers wrote down what they published; one that never was ready wrote none."""
        return [path for stream in streams for path in self._sent.get(stream, []) if path.exists()]

    def sent_frames(self, stream: int | str) -> int:
        """How many frames were published."""
        return sum(len(path.read_text().splitlines()) - 1 for path in self.sent(stream) if path.exists())

    def audit(self, name: str, *streams: int | str) -> Object:
        """The books of a journal, against what was published on these streams: nothing may be unexplained."""
        sent = [word for path in self.sent(*streams) for word in ("--sent", path)]
        auditor = self.run("audit", self.journal(name), *sent, "--json")
        code = auditor.ended()
        found = auditor.says(event="summary")
        assert (code, found["unexplained"]) == (0, 0), auditor
        return found


def _table(head: str, keys: Mapping[str, object]) -> list[str]:
    return [head, *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]


def until(condition: Callable[[], object], what: str, within_s: float = WATCHDOG_S) -> None:
    """Wait for a condition, under a watchdog."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(LOOK_AGAIN_S)


def apart(seconds: float) -> None:
    """Let some time pass between two steps of a person: how far apart they are is what the test is about."""
    time.sleep(seconds)
