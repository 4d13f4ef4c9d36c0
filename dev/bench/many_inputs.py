# SPDX-License-Identifier: Apache-2.0
"""Can one agent join 128 streams of 1,000 small frames a second each, from four processes, and what does it cost it?

The frames are 256 bytes, joined by sequence. Told are the share of the frames that became rows, and how much of a core
the agent took.
"""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from dev.bench.join_bed import INPUT, Process, cpu_ns
from dev.bench.pool_bed import driver
from dev.bench.result import Result

_INPUTS: Final = 128
_PROCESSES: Final = 4
_FIRST: Final = 10_001
_RATE_HZ: Final = 1_000
_SECONDS: Final = 20
_WARM_UP_TICKS: Final = 500
_FRAME_BYTES: Final = 256
_SLOTS: Final = 1024
_SETTLED_NS: Final = 500_000_000
_CONFIG: Final = """
[join]
out_stream = 20001
policy = "sequence"
journal = {journal}

[journal]
max_bytes = "2GiB"
when_full = "drop_oldest"
prefault = "all"
"""


def run() -> Iterator[Result]:
    """About a minute."""
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-join-", dir="/dev/shm"))
    try:
        with driver(str(home), _SLOTS, _FRAME_BYTES), ExitStack() as children:
            summary, cores, seconds = _joined(home, children)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    offered = _INPUTS * (_SECONDS * _RATE_HZ + _WARM_UP_TICKS)
    how = (
        f"{_INPUTS} inputs at {_RATE_HZ}/s each, {_FRAME_BYTES} bytes, from {_PROCESSES} processes, in {seconds:.1f} s"
    )
    yield Result(
        question="128 inputs: frames that became part of a row",
        measured=100 * summary["rows"] * _INPUTS / offered,
        unit="%",
        target=100,
        is_floor=True,
        how=f"{how}; {sum(summary['overwritten'].values())} overwritten",
    )
    yield Result(question="128 inputs: cores that the agent took", measured=cores, unit="", target=1, how=how)


def _joined(home: Path, children: ExitStack) -> tuple[dict[str, Any], float, float]:
    places = (f"{home}/aeron", f"{home}/pool")
    each = _INPUTS // _PROCESSES
    loads = []
    for number in range(_PROCESSES):
        words = (*places, str(_FIRST + number * each), str(each), str(_FRAME_BYTES))
        loads.append(Process("dev.bench.many_inputs_load", *words))
        children.callback(loads[-1].close)
    for load in loads:
        load.answer()
    config = home / "join.toml"
    inputs = "".join(INPUT.format(name=f"s{n}", stream=_FIRST + n, offset=0) for n in range(_INPUTS))
    config.write_text(_CONFIG.format(journal=json.dumps(str(home / "journal"))) + inputs)
    where = ["--aeron-dir", places[0], "--base-dir", places[1], "--json"]
    agent = Process("framegate", "join", "--config", str(config), *where)
    children.callback(agent.close, signal.SIGINT)
    agent.until("ready")
    _all(loads, _WARM_UP_TICKS)
    before_ns, began_ns = cpu_ns(agent.pid), monotonic_ns()
    _all(loads, _SECONDS * _RATE_HZ)
    spent_ns = monotonic_ns() - began_ns
    cores = (cpu_ns(agent.pid) - before_ns) / spent_ns
    sleep_ns(_SETTLED_NS)
    agent.send(signal.SIGINT)
    return agent.until("summary"), cores, spent_ns / 1e9


def _all(loads: list[Process], ticks: int) -> None:
    for load in loads:
        load.tell({"ticks": ticks, "rate_hz": _RATE_HZ})
    for load in loads:
        load.answer()
