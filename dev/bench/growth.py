# SPDX-License-Identifier: Apache-2.0
"""How do the costs grow: with inputs, payload, ring depth, and rows of history?

Each is a series, with the power that fits it: 0 is a cost that stays, 1 one that grows with the size. Inputs are those
of the native stage alone; a payload goes from a producer's call into its slot; a ring is written and read round and
round; history is a journal whose last row is read by a program that opens it.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.journal import Journal
from framegate.shmpool.clock import monotonic_ns

from dev.bench.bed import transport
from dev.bench.cargo import cargo_bench
from dev.bench.fed_join import LEFT, RIGHT, config_of, engine_of, feed
from dev.bench.pool_bed import DESCRIPTORS, Partner, producer_on, publication, publish_ns, regions
from dev.bench.report import exponent_of
from dev.bench.result import Result

_ROUNDS: Final = 7
_INPUTS: Final = (2, 4, 8, 16, 32, 64, 128)
_PAYLOADS: Final = (64, 1 << 10, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20)
_PAYLOAD_SLOTS: Final = 8
_DEPTHS: Final = (8, 32, 128, 512, 2048, 8192)
_DEPTH_BYTES: Final = 16 << 10
_ROWS: Final = (1_000, 10_000, 100_000, 1_000_000)
_AT_ONCE: Final = 1_000
_ROW_BYTES: Final = 64
_COPIED_BYTES: Final = 256 << 20
_Series = tuple[tuple[float, float], ...]


def run() -> Iterator[Result]:
    """About three minutes."""
    stage = {found["what"]: found["ns"] for found in cargo_bench("framegate-join", "stage")}
    for policy in ("sequence", "timestamp", "latest"):
        series = tuple((float(inputs), stage[f"a row by {policy}, {inputs} inputs"]) for inputs in _INPUTS)
        yield _grown(f"a row by {policy}", "ns", "inputs", series)
    yield _grown("publish, copy included", "ns", "bytes of payload", tuple(_of_payload()))
    yield _grown("publish 16 KiB, copy included", "ns", "slots of the ring", tuple(_of_depth()))
    yield _grown("open a journal and read its last row", "us", "rows", tuple(_of_history()))


def _grown(what: str, unit: str, axis: str, series: _Series) -> Result:
    exponent = exponent_of(series)
    (least, first), (most, last) = series[0], series[-1]
    return Result(
        question=f"{what}, by {axis}",
        measured=exponent,
        how=f"power of growth; {first:,.0f} {unit} at {least:,.0f}, {last:,.0f} {unit} at {most:,.0f}",
        series=series,
        axis=axis,
        series_unit=unit,
    )


def _of_payload() -> Iterator[tuple[float, float]]:
    for frame_bytes in _PAYLOADS:
        yield frame_bytes, _publish_ns(frame_bytes, _PAYLOAD_SLOTS)


def _of_depth() -> Iterator[tuple[float, float]]:
    for slots in _DEPTHS:
        yield slots, _publish_ns(_DEPTH_BYTES, slots)


def _publish_ns(frame_bytes: int, slots: int) -> float:
    frames = max(_PAYLOAD_SLOTS, min(50_000, _COPIED_BYTES // frame_bytes))
    with (
        transport() as client,
        Partner(client.aeron_dir, "drain", str(DESCRIPTORS)),
        regions(frame_bytes, slots) as made,
        publication(client) as said,
    ):
        producer = producer_on(made, said)
        return _median(lambda: publish_ns(producer, frame_bytes, frames, copied=True))


def _of_history() -> Iterator[tuple[float, float]]:
    with tempfile.TemporaryDirectory(prefix="framegate-bench-", dir="/dev/shm") as folder:
        config = config_of(Path(folder))
        path, fed = Path(config.join.journal), 1
        with engine_of(config) as (engine, _, _):
            for rows in _ROWS:
                for first in range(fed, rows, _AT_ONCE):
                    seqs = range(first, min(first + _AT_ONCE, rows))
                    feed(engine, LEFT, seqs, 1, _ROW_BYTES)
                    feed(engine, RIGHT, seqs, 1, _ROW_BYTES)
                fed = rows
                assert Journal(path).next_row > rows // 2  # noqa: S101  (what was measured was done)
                yield rows, _median(lambda: _last_row_us(path))


def _last_row_us(path: Path) -> float:
    began_ns = monotonic_ns()
    journal = Journal(path)
    last = journal.next_row - 1
    table = journal.to_arrow(last, last + 1)
    spent_ns = monotonic_ns() - began_ns
    assert table.num_rows == 1  # noqa: S101  (what was measured was done)
    return spent_ns / 1e3


def _median(measure: Callable[[], float]) -> float:
    measure()
    return statistics.median(measure() for _ in range(_ROUNDS))
