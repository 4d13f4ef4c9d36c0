# SPDX-License-Identifier: Apache-2.0
"""Does a join cost anything for running in a Python program? And how long does `gate.observe` take to answer?

Rows a second of a join on a thread of a program, beside those of `framegate join`, with the same two native producers,
which go as fast as rows are sealed. Both run in turns. The observer is asked a hundred times a second by a program that
publishes three cameras itself, each on a thread.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
from collections.abc import Iterator

import numpy as np
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

import framegate as fg
from dev.bench.join_bed import FAULTED, Case, Join, joining, joining_within
from dev.bench.others_cpu import Watched
from dev.bench.result import Result

_CASES = (("4 KiB", Case(4096, 4096), 400_000), ("640 KiB", Case(640 << 10, 128), 20_000))
_ROUNDS = 5
_ASKED = 1_000
_PAUSE_NS = 10_000_000


def run(*, quick: bool = False) -> Iterator[Result]:
    """A ratio for each size, and the answers' times."""
    for name, case, count in _CASES:
        yield _beside(name, case, count // (20 if quick else 1), 1 if quick else _ROUNDS)
    yield from _observed(100 if quick else _ASKED)


def _beside(name: str, case: Case, count: int, rounds: int) -> Result:
    ratios, remarks = [], set[str]()
    for _ in range(rounds):
        with joining(case, **FAULTED) as agent:
            alone = _rate(agent, count, remarks)
        with joining_within("dev.bench.gate_join", case, **FAULTED) as within:
            ratios.append(_rate(within, count, remarks) / alone)
    return Result(
        question=f"rows/s of a join in a program over `framegate join`, {name}",
        measured=statistics.median(ratios),
        target=0.9,
        is_floor=True,
        spread=(min(ratios), max(ratios)),
        how=f"{rounds} rounds in turns; {'; '.join(sorted(remarks))}",
    )


def _rate(join: Join, count: int, remarks: set[str]) -> float:
    join.held(count // 10)
    watched = Watched(join.pids)
    found = watched.run(lambda: join.held(count))
    remarks.add(watched.remark())
    return found.joined / found.slowest_ns * 1e9


def _observed(asked: int) -> Iterator[Result]:
    picture, over = np.zeros((480, 640, 3), np.uint8), threading.Event()
    names = ("a", "b", "c")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as home, fg.local(f"{home}/aeron", f"{home}/pool") as gate:
        cameras = [gate.producer(name, shape=picture.shape, dtype="uint8") for name in names]
        captured = dict.fromkeys(names, 0)

        def publish() -> None:
            while not over.wait(1 / 30):
                for name, camera in zip(names, cameras, strict=True):
                    captured[name] = monotonic_ns()
                    camera.publish(picture, timestamp_ns=captured[name])

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            answers, ages = _asked(gate, names, captured, asked)
        finally:
            over.set()
            thread.join()
    how = f"{asked} questions at about 100/s"
    for question, values, target in (
        ("answer of gate.observe, 3 x 640x480x3 at 30 Hz, p99", answers, 1.0),
        ("age beyond the newest capture, p99", ages, 2.0),
    ):
        spread = (float(np.median(values)), float(np.max(values)))
        yield Result(
            question=question,
            measured=float(np.percentile(values, 99)),
            unit="ms",
            target=target,
            spread=spread,
            how=f"{how}; median .. most",
        )


def _asked(
    gate: fg.Gate, names: tuple[str, ...], captured: dict[str, int], asked: int
) -> tuple[list[float], list[float]]:
    answers, ages = list[float](), list[float]()
    for number in range(asked + 20):
        newest = dict(captured)
        began_ns = monotonic_ns()
        found = gate.observe(*names, max_age_ms=10_000)
        if number >= 20:
            answers.append((monotonic_ns() - began_ns) / 1e6)
            # What was captured before the question and is not in the answer is so much older than it could be.
            ages.append(max(0, *(newest[name] - found[name].timestamp_ns for name in names)) / 1e6)
        sleep_ns(_PAUSE_NS)
    return answers, ages
