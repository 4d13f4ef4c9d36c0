# SPDX-License-Identifier: Apache-2.0
"""A driver, producers and verifying consumers, any of which may be killed at any moment.

What must hold: whoever is alive goes on by itself, no payload is ever wrong, and when the driver has been stopped in
good order nothing of it is left in shared memory.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

STREAMS: Final = (10_001, 10_002, 10_003)
KILL_EVERY_S: Final = 5.0
_WATCHDOG_S: Final = 60.0
_STEP_NS: Final = 50_000_000


class Broken(AssertionError):
    """Something that must hold does not."""


@dataclass(eq=False)
class Program:
    """One ``framegate`` command, its output read as it comes."""

    name: str
    arguments: list[str]
    environment: dict[str, str]
    process: subprocess.Popen[str] = field(init=False)
    frames: int = 0
    said: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Start it, or start it again."""
        self.frames = 0
        self.said = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "framegate", *self.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        threading.Thread(target=self._read_output, args=(self.process, self.said), daemon=True).start()
        threading.Thread(target=self._read_errors, args=(self.process,), daemon=True).start()

    def _read_output(self, process: subprocess.Popen[str], said: list[dict[str, Any]]) -> None:
        # Its own list: what a killed life said last may come when the next one has begun.
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if line.startswith('{"stream"'):
                    self.frames += 1
                elif line.startswith("{"):
                    said.append(json.loads(line))

    def _read_errors(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            self.errors.extend(line.rstrip() for line in lines)

    def await_frame(self, when: str) -> None:
        """Wait for a frame more than it has."""
        before = self.frames
        until(lambda: self.frames > before, f"frames for {self.name} {when}: {self.errors[-5:]}")

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def stop(self) -> dict[str, Any]:
        """End it in good order; its summary."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(_WATCHDOG_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Broken(f"{self.name} did not end within {_WATCHDOG_S:g} s of SIGINT: {self.errors[-5:]}") from None
        if self.process.returncode != 0:
            raise Broken(f"{self.name} ended with {self.process.returncode}: {self.errors[-5:]}")
        until(lambda: any(each.get("event") == "summary" for each in self.said), f"a summary of {self.name}")
        return next(each for each in self.said if each.get("event") == "summary")


def until(condition: Any, what: str) -> None:
    """Wait for a condition under a watchdog."""
    deadline_ns = monotonic_ns() + int(_WATCHDOG_S * 1e9)
    while not condition():
        if monotonic_ns() > deadline_ns:
            raise Broken(f"not within {_WATCHDOG_S:g} s: {what}")
        sleep_ns(_STEP_NS)


class World:
    """All processes, and who is killed when."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.home = Path(tempfile.mkdtemp(prefix="framegate-chaos-", dir="/dev/shm"))
        environment = {
            **os.environ,
            "FRAMEGATE_AERON_DIR": f"{self.home}/aeron",
            "FRAMEGATE_BASE_DIR": f"{self.home}/pool",
            "FRAMEGATE_LOG": "info",
        }
        self.driver = Program("driver", ["driver", "--json"], environment)
        self.producers = [
            Program(
                f"producer {stream}",
                ["produce", "--stream", str(stream), "--max-rate", "--shape", "4096", "--json", "--wait-driver", "30"],
                environment,
            )
            for stream in STREAMS
        ]
        self.consumers = [
            Program(
                f"consumer {stream}",
                ["consume", "--stream", str(stream), "--verify", "--json", "--wait-driver", "30"],
                environment,
            )
            for stream in STREAMS
        ]
        self.kills: dict[str, int] = {}

    @property
    def programs(self) -> Iterator[Program]:
        """All of them, the driver first."""
        yield self.driver
        yield from self.producers
        yield from self.consumers

    def run(self, seconds: float, kill_every_s: float = KILL_EVERY_S) -> dict[str, Any]:
        """Start, kill, check, stop; what was seen."""
        try:
            for program in self.programs:
                program.start()
            self._await_frames("at the start")
            shm_bytes = _bytes_under(self.home / "pool")
            deadline_ns = monotonic_ns() + int(seconds * 1e9)
            while monotonic_ns() < deadline_ns:
                self._kill_one()
                sleep_ns(int(kill_every_s * 1e9))
                self._check_alive()
            self._await_frames("after the last kill")
            return {"kills": self.kills, "shm_bytes": shm_bytes, **self._stop()}
        except Broken as broken:
            raise Broken(f"{broken}\n{self.story()}") from None
        finally:
            self._clean_up()

    def _kill_one(self) -> None:
        # A kind first: there is one driver among many.
        victim = self.chance.choice(self.chance.choice(([self.driver], self.producers, self.consumers)))
        victim.process.kill()
        victim.process.wait()
        kind = victim.name.partition(" ")[0]
        self.kills[kind] = self.kills.get(kind, 0) + 1
        victim.start()

    def _check_alive(self) -> None:
        for program in self.programs:
            if not program.is_alive:
                sleep_ns(_STEP_NS)  # what it said last is on its way
                raise Broken(f"{program.name} ended by itself with {program.process.returncode}")

    def _await_frames(self, when: str) -> None:
        """Every consumer gets frames: nothing hangs."""
        for consumer in self.consumers:
            before = consumer.frames
            until(
                lambda consumer=consumer, before=before: consumer.frames > before, f"frames for {consumer.name} {when}"
            )

    def _stop(self) -> dict[str, Any]:
        for producer in self.producers:
            producer.stop()
        summaries = [consumer.stop() for consumer in self.consumers]
        self.driver.stop()
        wrong = sum(summary["verify_errors"] for summary in summaries)
        if wrong:
            raise Broken(f"{wrong} payloads were wrong")
        left = [str(path) for path in self.home.rglob("*") if path.is_file()]
        if left:
            raise Broken(f"left in shared memory after a clean stop: {left}")
        return {"frames": sum(summary["frames"] for summary in summaries), "verify_errors": wrong, "left": left}

    def story(self) -> str:
        """What everybody said last, for a failure."""
        return "\n".join(
            f"--- {program.name}: {program.process.poll()} {program.said[-2:]}\n" + "\n".join(program.errors[-12:])
            for program in self.programs
        )

    def _clean_up(self) -> None:
        for program in self.programs:
            if hasattr(program, "process") and program.is_alive:
                program.process.kill()
                program.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def _bytes_under(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
