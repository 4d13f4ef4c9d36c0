# SPDX-License-Identifier: Apache-2.0
"""How long does `framegate --version` take, and how long is it from `framegate join` to its first row?

The two streams of the join run already, 100 frames a second each. Its first row is there when the journal says so.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from framegate.joinbarrier.journal.head import Head
from framegate.schema.errors import AddTimedOut
from framegate.shmpool.idle import sleep_ns

from dev.bench.join_bed import INPUT, Process
from dev.bench.pool_bed import driver
from dev.bench.result import Result, rounds

_STREAMS: Final = (10_001, 10_002)
_RATE_HZ: Final = 100
_FRAME_BYTES: Final = 4096
_ROUNDS: Final = 7
_STUCK_S: Final = 20
_LOOK_NS: Final = 2_000_000


def run() -> Iterator[Result]:
    """Two results."""

    def version() -> float:
        began_ns = time.perf_counter_ns()
        subprocess.run([sys.executable, "-m", "framegate", "--version"], check=True, stdout=subprocess.DEVNULL)
        return (time.perf_counter_ns() - began_ns) / 1e6

    cost, spread = rounds(version, 9)
    yield Result(question="framegate --version", measured=cost, unit="ms", target=50, spread=spread)
    taken = _first_rows()
    yield Result.of_rounds(
        "first row after `framegate join` of two streams that run",
        taken,
        unit="s",
        target=1,
        how=f"{_ROUNDS} joins, {_RATE_HZ} frames/s",
    )


def _first_rows() -> list[float]:
    with TemporaryDirectory(prefix="framegate-bench-start-", dir="/dev/shm") as folder, ExitStack() as stack:
        home = Path(folder)
        stack.enter_context(driver(folder, 256, _FRAME_BYTES))
        for stream in _STREAMS:
            words = (f"{home}/aeron", f"{home}/pool", str(stream), str(_FRAME_BYTES))
            load = Process("dev.bench.join_load", *words)
            stack.callback(load.close, signal.SIGINT)
            load.answer()
            load.tell({"rate_hz": _RATE_HZ, "count": _RATE_HZ * _STUCK_S * _ROUNDS})
        return [_first_row_s(home, home / f"rows{number}") for number in range(_ROUNDS)]


def _first_row_s(home: Path, journal: Path) -> float:
    config = journal.with_suffix(".toml")
    inputs = "".join(INPUT.format(name=f"s{stream}", stream=stream, offset=0) for stream in _STREAMS)
    config.write_text(f'[join]\nout_stream = 20001\npolicy = "sequence"\njournal = "{journal}"\n{inputs}')
    where = ["--aeron-dir", f"{home}/aeron", "--base-dir", f"{home}/pool"]
    began_ns = time.perf_counter_ns()
    agent = Process("framegate", "join", "--config", str(config), *where, "--json")
    try:
        deadline_ns = began_ns + _STUCK_S * 1_000_000_000
        while time.perf_counter_ns() < deadline_ns:
            head = Head.open(journal)
            if head is not None and head.next_row > 0:
                return (time.perf_counter_ns() - began_ns) / 1e9
            sleep_ns(_LOOK_NS)
        raise AddTimedOut("the join made no row", journal=journal)
    finally:
        agent.close(signal.SIGINT)
