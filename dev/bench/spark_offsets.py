# SPDX-License-Identifier: Apache-2.0
"""What does it cost the driver's side of a query to say where the next micro-batch ends? Without Spark.

Spark asks this before every micro-batch, and ten times a second or more while nothing is there. Asked of a journal that
is idle, of one that has sealed a batch since the last time, and of one with a backlog that the limits cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.micro_batches import MicroBatches
from framegate.joinbarrier.tables.extents import Limit
from framegate.joinbarrier.tables.offsets import Position

from dev.bench.result import Result, percentile
from dev.bench.spark_bed import KIB, MIB, home, journal_of
from framegate._native import JournalWriter

TARGET_MS: Final = 1.0
_FRAME_BYTES: Final = 4 * KIB
_ROWS: Final = 20_000
_QUESTIONS: Final = 1_000
_QUICK: Final = 50
_LIMIT: Final = Limit(None, 8 * MIB)


def run(*, quick: bool = False) -> Iterator[Result]:
    """Three results; ``quick``: few questions."""
    questions = _QUICK if quick else _QUESTIONS
    with home() as folder:
        backlog = _opened(journal_of(folder / "backlog", _FRAME_BYTES, _ROWS // 10 if quick else _ROWS))
        yield _asked("nothing new", lambda: _idle(backlog, questions))
        yield _asked("a backlog, cut by the limits", lambda: _behind(backlog, questions))
        backlog.stop()
        yield _asked("a batch sealed since", lambda: _growing(folder / "growing", questions))


def _opened(journal: Path) -> MicroBatches:
    options = {"path": str(journal), "readerName": "bench", "startingOffsets": "earliest"}
    return MicroBatches(SourceOptions.parse(options), cores=2)


def _asked(of: str, ask: Callable[[], list[float]]) -> Result:
    took_ms = ask()
    return Result(
        question=f"where the next micro-batch ends: {of}, p50",
        measured=percentile(took_ms, 0.5),
        unit="ms",
        target=TARGET_MS,
        spread=(min(took_ms), max(took_ms)),
        how=f"{len(took_ms)} questions, p99 {percentile(took_ms, 0.99):.3f} ms",
    )


def _idle(batches: MicroBatches, questions: int) -> list[float]:
    end = batches.newest()
    return [_took_ms(lambda: batches.latest(end, _LIMIT)) for _ in range(questions)]


def _behind(batches: MicroBatches, questions: int) -> list[float]:
    """Micro-batch after micro-batch, from the beginning again when the end is reached."""
    first = start = _begun(batches)
    found = list[float]()
    for _ in range(questions):
        found.append(_took_ms(lambda: batches.latest(start, _LIMIT)))  # noqa: B023 - called at once
        start = batches.latest(start, _LIMIT)
        start = first if start == batches.newest() else start
    return found


def _growing(folder: Path, questions: int) -> list[float]:
    folder.mkdir()
    inputs = (JournalInput(name="left", stream=1),)
    write_description(folder, JournalDescription(out_stream=1, journal_epoch=1, inputs=inputs))
    writer = JournalWriter(folder, ["left"], segment_bytes=16 * MIB, max_bytes=64 * MIB)
    batches = _opened(folder)
    start = _begun(batches)
    found = list[float]()
    for row in range(questions):
        assert writer.append({"left": {"payload": bytes(_FRAME_BYTES), "seq": row}}, out_seq=row) == "ready"  # noqa: S101
        writer.seal()
        found.append(_took_ms(lambda: batches.latest(start, _LIMIT)))  # noqa: B023 - called at once
        start = batches.latest(start, _LIMIT)
        batches.commit(start)
    batches.stop()
    writer.close()
    return found


def _begun(batches: MicroBatches) -> dict[str, Position]:
    """Behind the first micro-batch, which only says where the query begins."""
    start = batches.initial()
    batches.latest(start, _LIMIT)
    batches.ranges(start, start)
    return start


def _took_ms(ask: Callable[[], object]) -> float:
    began_ns = time.perf_counter_ns()
    ask()
    return (time.perf_counter_ns() - began_ns) / 1e6
