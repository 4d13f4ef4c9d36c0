# SPDX-License-Identifier: Apache-2.0
"""How many pairs a second does ``framegate join`` make of two streams without losing one?

Two native producers that wait for nobody, one agent, each a process, and the journal in shared memory. Beside it
stands what the copies alone would allow when the producers are held back to what the agent takes.

Producers whose frames are due every few microseconds sleep for 50 of them and then send a burst: one sleep for each
frame takes more of a core than the frame, and then the load is measured, not the join.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from dev.bench.join_bed import FAULTED, FRESH, Case, Join, Run, joining
from dev.bench.join_floor import pairs_a_second
from dev.bench.join_rate import Effort, lossless_rate
from dev.bench.others_cpu import used
from dev.bench.pool_bed import sized
from dev.bench.result import Result

KIB: Final = 1 << 10
RATES: Final = (
    (Case(4 * KIB, 1024), 180_000),
    (Case(4 * KIB, 16_384), 500_000),
    (Case(64 * KIB, 1024), 70_000),
    (Case(640 * KIB, 64), 7_500),
    (Case(4096 * KIB, 256), 1_600),
)
"""With the pairs a second that were asked for, which are also the first guess."""
SHARES: Final = ((Case(4 * KIB, 16_384), 0.4), (Case(64 * KIB, 1024), 0.65), (Case(640 * KIB, 64), 0.9))
"""Of what the copies alone would allow."""
NEW_BYTES: Final = 6 << 30
"""Of payloads in one journal of new files: less than its ``max_bytes``, or old segments would be used again."""
_ROUNDS: Final = 5
_FLOOR_S: Final = 1.0
_SEALS_A_RING: Final = 16
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


def run(*, quick: bool = False) -> Iterator[Result]:
    """All of it takes a quarter of an hour; ``quick``: one small case of each kind, to see that it works."""
    if quick:
        case = Case(4 * KIB, 1024)
        yield _rate(case, 5_000, Effort(seconds=0.2, runs=1))
        yield next(_shares_of_copies(case, 0.0, rounds=1, seconds=0.1))
        return
    for case, asked in RATES:
        yield _rate(case, asked, Effort())
    for case, share in SHARES:
        yield from _shares_of_copies(case, share, rounds=_ROUNDS, seconds=_FLOOR_S)


def _rate(case: Case, asked: float, effort: Effort) -> Result:
    with joining(case, **FAULTED) as join:
        # Twice round the rings, so that their memory is there too.
        join.paced(asked / 4, 2 * case.slots)
        found = lossless_rate(join, asked, effort)
        shares = _shares(join, found.held_hz, effort.seconds)
    gigabytes = 2 * found.held_hz * case.frame_bytes / 1e9
    above = f"{found.failed_hz:,.0f}/s lost some" if found.failed_hz else "no rate that was tried lost any"
    return Result(
        question=f"pairs of {sized(case.frame_bytes)} without loss, {case.slots} slots",
        measured=found.held_hz,
        unit="pairs/s",
        target=asked,
        is_floor=True,
        spread=(found.held_hz, found.failed_hz or found.held_hz),
        how=f"{gigabytes:.1f} GB/s joined; {above}; {shares}; "
        f"median of {effort.runs} x {effort.seconds:g} s{found.remark}",
    )


def _shares(join: Join, rate_hz: float, seconds: float) -> str:
    """What the rate takes of the cores: which of them is full says what a higher one would need."""
    agent, *producers = join.pids()
    before = [used(pid) for pid in (agent, *producers)]
    run = join.paced(rate_hz, max(1, int(rate_hz * seconds)))
    ticks = [used(pid) - had for pid, had in zip((agent, *producers), before, strict=True)]
    agent_share, *shares = (each / _TICKS_A_SECOND / (run.slowest_ns / 1e9) for each in ticks)
    return f"agent {agent_share:.0%} of a core, producers {' and '.join(f'{each:.0%}' for each in shares)}"


def _shares_of_copies(case: Case, asked: float, *, rounds: int, seconds: float) -> Iterator[Result]:
    """Into files that are used again, and beside it into new ones, whose every page is touched for the first time."""
    floor_hz = statistics.median(pairs_a_second(case, seconds) for _ in range(rounds))
    warm_up, count = 2 * case.slots, max(2 * case.slots, int(floor_hz * seconds))
    used_again = held_back(case, warm_up, [count] * rounds)
    yield _share(case, used_again, floor_hz, asked or None, "")
    few = min(count, NEW_BYTES // (2 * case.frame_bytes) - warm_up)
    new = [run for _ in range(rounds) for run in held_back(case, warm_up, [few], **FRESH)]
    yield _share(case, new, floor_hz, None, ", new files")


def held_back(case: Case, warm_up: int, counts: Sequence[int], **journal: object) -> list[Run]:
    """So many pairs, run after run, as fast as one agent joins them."""
    keys = {**FAULTED, **journal}
    # A batch is sealed often enough that the producers are never held up by rows that are written and not sealed.
    with joining(case, **keys, seal_rows=max(1, case.slots // _SEALS_A_RING)) as join:
        join.held(warm_up)
        return [join.held(count) for count in counts]


def pairs_joined_a_second(run: Run) -> float:
    """Until the slower producer was through."""
    return run.joined / run.slowest_ns * 1e9


def _share(case: Case, runs: Sequence[Run], floor_hz: float, asked: float | None, where: str) -> Result:
    lost = sum(each.offered - each.joined for each in runs)
    rates = [pairs_joined_a_second(each) for each in runs]
    return Result(
        question=f"pairs of {sized(case.frame_bytes)}, producers held back, over the bare copies{where}",
        measured=statistics.median(rates) / floor_hz,
        unit="x",
        target=asked,
        is_floor=True,
        spread=(min(rates) / floor_hz, max(rates) / floor_hz),
        how=f"{statistics.median(rates):,.0f} over {floor_hz:,.0f} pairs/s; {case.slots} slots; {lost} pairs lost",
    )
