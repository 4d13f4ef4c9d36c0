# SPDX-License-Identifier: Apache-2.0
"""What the frames cost that a late stream brings while a checkpoint waits for its barrier: real ones, with payload.

First what the engine pays for each, over the same frames without a checkpoint. Then what it takes to store them, with
their check sum and the fsync, in memory and on the disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from framegate.joinbarrier.checkpoint.inflight import inflight_file
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.shmpool.clock import monotonic_ns

from dev.bench.fed_join import LEFT, PAYLOAD_BYTES, RIGHT, barrier, config_of, engine_of, feed, overtake
from dev.bench.result import Result, in_turn
from framegate._native import JoinEngine, StoredRecords

_EVENTS: Final = 10_000
_ROUNDS: Final = 9
_OPERATOR: Final = "join"


def run() -> Iterator[Result]:
    """Three figures."""
    with tempfile.TemporaryDirectory(prefix="framegate-bench-", dir="/dev/shm") as folder:
        config = config_of(Path(folder))
        with engine_of(config) as (engine, _, _):
            rounds = _Rounds(engine)
            bare, captured = in_turn([rounds.bare, rounds.captured], _ROUNDS)
        more = [after - before for before, after in zip(bare, captured, strict=True)]
        yield Result.of_rounds(
            f"product: capture of {_EVENTS:,} frames of 1 KiB with their payload",
            more,
            unit="ms",
            how=f"{_ROUNDS} pairs: fed while a barrier is late, less the same without a checkpoint",
        )
        records = rounds.records
        assert records is not None  # noqa: S101  (what was measured was done)
        yield from _stored("in /dev/shm", Path(folder), records)
        with tempfile.TemporaryDirectory(prefix="framegate-bench-") as disk:
            yield from _stored("on the disk", Path(disk), records)


class _Rounds:
    """Rounds of the same frames, with a checkpoint under way and without."""

    def __init__(self, engine: JoinEngine) -> None:
        self._engine = engine
        self._ids = count(1)
        self._next, self._second = 1, 1
        self.records: StoredRecords | None = None
        """What the last round captured."""

    def bare(self) -> float:
        """Milliseconds for a round without a checkpoint."""
        return self._fed()

    def captured(self) -> float:
        """Milliseconds for a round whose frames are captured."""
        checkpoint_id = next(self._ids)
        overtake(self._engine, checkpoint_id, self._second)
        self._second += 3
        spent_ms = self._fed()
        barrier(self._engine, RIGHT, checkpoint_id, self._second)
        news = {each["kind"]: each for each in self._engine.take_news()}
        [(_, self.records, lost)] = news["complete"]["inflight"]
        assert (len(self.records), lost) == (_EVENTS, [])  # noqa: S101  (what was measured was done)
        return spent_ms

    def _fed(self) -> float:
        seqs = range(self._next, self._next + _EVENTS)
        self._next += _EVENTS
        self._second += 1
        began_ns = monotonic_ns()
        feed(self._engine, RIGHT, seqs, self._second)
        spent_ns = monotonic_ns() - began_ns
        feed(self._engine, LEFT, seqs, self._second)
        return spent_ns / 1e6


def _stored(where: str, folder: Path, records: StoredRecords) -> Iterator[Result]:
    store = CheckpointStore(folder / "checkpoints")
    found = []
    for checkpoint_id in range(1, _ROUNDS + 1):
        began_ns = monotonic_ns()
        entry = store.write_inflight_file(checkpoint_id, _OPERATOR, 1, inflight_file(1, records), len(records))
        found.append(entry.bytes / (monotonic_ns() - began_ns))
    yield Result.of_rounds(
        f"product: storing them {where}, with check sum and fsync",
        found,
        unit="GB/s",
        how=f"{_ROUNDS} files of {_EVENTS:,} frames of {PAYLOAD_BYTES} bytes",
    )
