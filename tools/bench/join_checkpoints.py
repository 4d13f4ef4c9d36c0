# SPDX-License-Identifier: Apache-2.0
"""What does a checkpoint every second cost a join, in the agent's CPU time for each row?

Two native producers at a rate that both keep, one agent, each a process. The same agent is measured with barriers and
without, in turn (with, without, without, with), and the ratio of each pair is taken. Its checkpoints are stored, in
shared memory, and acknowledged to a coordinator that says where and asks for nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from framegate.joinbarrier.checkpoint.operator_part import OPERATOR_PART
from framegate.schema.control import PipelineAnnounce
from framegate.schema.errors import AddTimedOut
from framegate.shmpool.client import connect
from framegate.shmpool.idle import sleep_ns
from framegate.tools.bench.join_bed import FAULTED, Case, Join, joining
from framegate.tools.bench.result import Result

_PAIRS: Final = 15
_SECONDS: Final = 2
_RATE_HZ: Final = 20_000
_CASE: Final = Case(4096, 16_384)
_T_95: Final = 2.145
"""Student's t for 14 degrees of freedom, both sides, 95 %."""
_HEARD_NS: Final = 500_000_000


def run() -> Iterator[Result]:
    """About two minutes."""
    with joining(_CASE, **FAULTED) as join:
        store = join.home / "checkpoints"
        with _coordinated(join, store):
            join.cut(_RATE_HZ, _SECONDS, 0)
            ratios: list[float] = []
            first = 1
            for pair in range(_PAIRS):
                with_cuts, without = _pair(join, first, is_first=pair % 2 == 0)
                ratios.append(with_cuts / without)
                first += _SECONDS
        taken = len(list(store.glob(f"*/operators/*/{OPERATOR_PART}")))
    if taken < first - 1:
        raise AddTimedOut("not every checkpoint was stored", wanted=first - 1, stored=taken)
    mean = statistics.mean(ratios)
    half = _T_95 * statistics.stdev(ratios) / len(ratios) ** 0.5
    yield Result(
        question="agent CPU time per row with a checkpoint every second, against without",
        measured=100 * (mean - 1),
        unit="%",
        target=5,
        spread=(100 * (mean - half - 1), 100 * (mean + half - 1)),
        how=f"mean of {_PAIRS} pairs in ABBA order with its 95 % interval, {_RATE_HZ} pairs/s of 4 KiB",
    )


def _pair(join: Join, first: int, *, is_first: bool) -> tuple[float, float]:
    """CPU time of a row with barriers and without, in this order or the other."""
    if is_first:
        with_cuts = _cpu_of_row(join, first)
        return with_cuts, _cpu_of_row(join, 0)
    without = _cpu_of_row(join, 0)
    return _cpu_of_row(join, first), without


def _cpu_of_row(join: Join, first_cut: int) -> float:
    before = join.agent_cpu_ns()
    done = join.cut(_RATE_HZ, _SECONDS, first_cut)
    return (join.agent_cpu_ns() - before) / done.joined


@contextmanager
def _coordinated(join: Join, store: Path) -> Iterator[None]:
    with connect(f"{join.home}/aeron", f"{join.home}/pool") as client:
        announce = PipelineAnnounce(
            last_checkpoint_id=0,
            current_checkpoint_id=0,
            epoch=1,
            flags=1,
            alignment_timeout_ms=1000,
            late_barrier_timeout_ms=10_000,
            operator_timeout_ms=3000,
            pipeline="default",
            store=str(store),
        )
        client.send(announce)
        sleep_ns(_HEARD_NS)
        yield
