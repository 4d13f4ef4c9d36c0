# SPDX-License-Identifier: Apache-2.0
"""How old is a pair when ``framegate join`` has written its row, and when it has sealed it?

The row itself says when it was made; when it is sealed, a reader sees that polls the journal's head from another
process. The age counts from the later of the two times in the slots, which are taken when the frames are published,
1000 pairs a second. Beside it stands what a native loop that only waits for one stream sees in the same minute: its
slowest hundredth says more of the machine than of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from framegate.joinbarrier.journal.journal import Journal
from framegate.shmpool.clock import monotonic_ns, realtime_ns

from dev.bench.ages import bare_ages_us
from dev.bench.join_bed import FAULTED, STREAMS, Case, Join, joining
from dev.bench.pool_bed import sized
from dev.bench.result import Result, percentile

KIB: Final = 1 << 10
AGES: Final = ((Case(4 * KIB, 1024), 40, 150), (Case(64 * KIB, 1024), 60, 300), (Case(640 * KIB, 64), 240, 1_000))
"""With the microseconds that were asked for, p50 and p99."""
_SEALED_P50_US: Final = 15_000
_SEALED_OVER_WRITTEN: Final = 1.5
_PACE_HZ: Final = 1_000
_SINGLES: Final = 3_000
_CLOCK_READS: Final = 100
_BARE_ROUNDS: Final = 3
"""Of a second each."""


@dataclass(slots=True)
class Ages:
    """Of the rows of one run, in microseconds."""

    written: list[float] = field(default_factory=list)
    sealed: list[float] = field(default_factory=list)
    """From then on a reader can have the row."""


def run(*, quick: bool = False) -> Iterator[Result]:
    """Three sizes; ``quick``: one of them, and few pairs."""
    for case, p50_us, p99_us in AGES[:1] if quick else AGES:
        bare_us = [] if quick else bare_ages_us(_BARE_ROUNDS)
        yield from _sized(case, p50_us, p99_us, bare_us, singles=100 if quick else _SINGLES)


def _sized(case: Case, p50_us: float, p99_us: float, bare_us: Sequence[float], *, singles: int) -> Iterator[Result]:
    often, each_row = (ages(case, _PACE_HZ, singles, **keys) for keys in ({}, {"seal_rows": 1}))
    size = sized(case.frame_bytes)
    yield _age(f"age of a pair of {size} when its row is written, p50", often.written, 0.5, p50_us, bare_us)
    yield _age(f"age of a pair of {size} when its row is written, p99", often.written, 0.99, p99_us, bare_us)
    yield _age(f"age of a pair of {size} when its row is sealed, p50", often.sealed, 0.5, _SEALED_P50_US)
    written, sealed = percentile(each_row.written, 0.5), percentile(each_row.sealed, 0.5)
    yield Result(
        question=f"pairs of {size}: sealed over written, p50, seal_rows = 1",
        measured=sealed / written,
        unit="x",
        target=_SEALED_OVER_WRITTEN,
        how=f"{sealed:.0f} us over {written:.0f} us; p99 of the seal {percentile(each_row.sealed, 0.99):.0f} us",
    )


def ages(case: Case, rate_hz: float, singles: int, **journal: object) -> Ages:
    """Of so many pairs that come at a rate."""
    with joining(case, **FAULTED, **journal) as join:
        join.paced(rate_hz, singles // 10)
        first = join.next_row
        seals = join.watched(rate_hz, singles)
        return _since(join, first, seals)


def _since(join: Join, first: int, seals: Sequence[tuple[int, int]]) -> Ages:
    found, ahead_ns = Ages(), _realtime_ahead_ns()
    sealed_at = np.array([at_ns for at_ns, _ in seals])
    ends = np.array([end for _, end in seals])
    # Of large frames the journal keeps the newest rows only.
    for batch in Journal(join.journal).batches(start=first, stop=int(ends[-1]), on_loss="skip"):
        rows = batch.record_batch
        numbers = rows.column("row").to_numpy()
        is_new = (numbers >= first) & (numbers < ends[-1])
        times = np.maximum.reduce([_times(rows, name) for name in STREAMS])[is_new]
        written_ns = rows.column("joined_at").cast("int64").to_numpy()[is_new] * 1000 - ahead_ns
        # The first look at the head by which a row is below it.
        sealed_ns = sealed_at[np.searchsorted(ends, numbers[is_new], side="right")]
        found.written += ((written_ns - times) / 1e3).tolist()
        found.sealed += ((sealed_ns - times) / 1e3).tolist()
    return found


def _times(rows: Any, name: str) -> Any:
    return rows.column(name).field("timestamp_ns").to_numpy()


def _realtime_ahead_ns() -> int:
    """How far the one clock is ahead of the other: an interruption between the two reads only makes it less."""
    return max(realtime_ns() - monotonic_ns() for _ in range(_CLOCK_READS))


def _age(
    question: str, ages_us: Sequence[float], fraction: float, asked_us: float, bare_us: Sequence[float] = ()
) -> Result:
    floor = f"; a bare reader of one 4 KiB stream: {percentile(bare_us, fraction):.0f} us" if bare_us else ""
    return Result(
        question=question,
        measured=percentile(ages_us, fraction),
        unit="us",
        target=asked_us,
        spread=(min(ages_us), max(ages_us)),
        how=f"{len(ages_us)} pairs at {_PACE_HZ}/s; the least and the most of them beside it{floor}",
    )
