# SPDX-License-Identifier: Apache-2.0
"""What do one and ten checkpoints a second cost a join, in the agent's CPU time for each row?

Two native producers at a rate that both keep, one agent, each a process. The same agent is measured with barriers and
without, in turn (with, without, without, with), and the ratio of each pair is taken. Its checkpoints are aligned,
stored in shared memory, and acknowledged to a coordinator that says where and asks for nothing. A run with barriers is
over when all that it cut is stored, so that what a checkpoint costs is never counted for the run behind it.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from framegate.joinbarrier.checkpoint.operator.part import OPERATOR_PART
from framegate.schema.control import PipelineAnnounce
from framegate.schema.errors import AddTimedOut
from framegate.shmpool.client.client import connect
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from dev.bench.join_bed import FAULTED, Case, Join, joining
from dev.bench.result import Result

_PAIRS: Final = 15
_CUTS_HZ: Final = (1, 10)
_SECONDS: Final = 2
_RATE_HZ: Final = 20_000
_CASE: Final = Case(4096, 16_384)
_T_95: Final = 2.145
"""Student's t for 14 degrees of freedom, both sides, 95 %."""
_HEARD_NS: Final = 500_000_000
_LOOK_NS: Final = 2_000_000
_STORED_NS: Final = 10_000_000_000


def run() -> Iterator[Result]:
    """About four minutes."""
    for cuts_hz in _CUTS_HZ:
        with joining(_CASE, **FAULTED) as join:
            store = join.home / "checkpoints"
            with coordinated(join, store):
                join.cut(_RATE_HZ, _SECONDS, 0)
                ratios: list[float] = []
                first = 1
                for pair in range(_PAIRS):
                    with_cuts, without = _pair(join, store, first, cuts_hz, is_first=pair % 2 == 0)
                    ratios.append(with_cuts / without)
                    first += _SECONDS * cuts_hz
        yield _result(cuts_hz, ratios)


def _result(cuts_hz: int, ratios: list[float]) -> Result:
    mean = statistics.mean(ratios)
    half = _T_95 * statistics.stdev(ratios) / len(ratios) ** 0.5
    return Result(
        question=f"agent CPU time per row, checkpoints a second: {cuts_hz}; against none",
        measured=100 * (mean - 1),
        unit="%",
        target=5,
        spread=(100 * (mean - half - 1), 100 * (mean + half - 1)),
        how=f"mean of {_PAIRS} pairs in ABBA order with its 95 % interval, {_RATE_HZ} pairs/s of 4 KiB",
    )


def _pair(join: Join, store: Path, first: int, cuts_hz: int, *, is_first: bool) -> tuple[float, float]:
    """CPU time of a row with barriers and without, in this order or the other."""
    if is_first:
        with_cuts = _cpu_of_row(join, store, first, cuts_hz)
        return with_cuts, _cpu_of_row(join, store, 0, cuts_hz)
    without = _cpu_of_row(join, store, 0, cuts_hz)
    return _cpu_of_row(join, store, first, cuts_hz), without


def _cpu_of_row(join: Join, store: Path, first_cut: int, cuts_hz: int) -> float:
    before = join.agent_cpu_ns()
    done = join.cut(_RATE_HZ, _SECONDS, first_cut, cuts_hz)
    if first_cut:
        for checkpoint_id in range(first_cut, first_cut + _SECONDS * cuts_hz):
            _require_aligned(store, checkpoint_id)
    return (join.agent_cpu_ns() - before) / done.joined


def _require_aligned(store: Path, checkpoint_id: int) -> None:
    """It is stored, and nothing overtook; waits for it."""
    if json.loads(stored_part(store, checkpoint_id).read_bytes())["is_unaligned"]:
        raise AddTimedOut("a checkpoint was not aligned", checkpoint_id=checkpoint_id)


def stored_part(store: Path, checkpoint_id: int) -> Path:
    """What an agent writes when everything of a checkpoint is stored; waits for it."""
    deadline_ns = monotonic_ns() + _STORED_NS
    while not (found := list(store.glob(f"{checkpoint_id}/operators/*/{OPERATOR_PART}"))):
        if monotonic_ns() > deadline_ns:
            raise AddTimedOut("a checkpoint was not stored", checkpoint_id=checkpoint_id)
        sleep_ns(_LOOK_NS)
    return found[0]


@contextmanager
def coordinated(join: Join, store: Path) -> Iterator[None]:
    """A coordinator that says where to store, and asks for nothing."""
    with connect(f"{join.home}/aeron", f"{join.home}/pool") as client:
        client.send(announce(store, alignment_timeout_ms=1000, late_barrier_timeout_ms=10_000))
        sleep_ns(_HEARD_NS)
        yield


def announce(store: Path, *, alignment_timeout_ms: int, late_barrier_timeout_ms: int) -> PipelineAnnounce:
    """A coordinator's word to the agent: where it stores, and which times hold."""
    return PipelineAnnounce(
        last_checkpoint_id=0,
        current_checkpoint_id=0,
        epoch=1,
        flags=1,
        alignment_timeout_ms=alignment_timeout_ms,
        late_barrier_timeout_ms=late_barrier_timeout_ms,
        operator_timeout_ms=3000,
        pipeline="default",
        store=str(store),
    )
