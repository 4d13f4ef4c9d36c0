# SPDX-License-Identifier: Apache-2.0
"""A rig of many hosts without a network: journals that grow by a clock, the source's own offsets and partitions over
them, and a cluster that takes so long for a task."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.walk import Spot
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan import micro_batches
from framegate.joinbarrier.spark.plan.micro_batches import MicroBatches
from framegate.joinbarrier.tables.extents import Extent, Limit
from framegate.joinbarrier.tables.offsets import Position, to_spark
from framegate.joinbarrier.tables.source_table import Claim, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """What a page of arithmetic begins with."""

    hosts: int = 100
    rows_hz: int = 200
    row_bytes: int = 128 << 10
    cores: int = 100
    """Of the cluster."""
    core_bytes_per_s: float = 150e6
    fixed_s: float = 0.18
    """Of a micro-batch, whatever it holds."""
    question_s: float = 0.001
    """What the driver itself does for one journal's offsets and ranges: only this adds up over the hosts."""
    batch_bytes_max: int = 8 << 30

    @property
    def load(self) -> float:
        """How much of the cluster the rows take: at 1 it is behind."""
        return self.hosts * self.rows_hz * self.row_bytes / (self.cores * self.core_bytes_per_s)

    @property
    def idle_s(self) -> float:
        """A micro-batch without rows."""
        return self.fixed_s + self.hosts * self.question_s

    @property
    def batch_s(self) -> float:
        """A micro-batch that takes in what came during the one before."""
        return self.idle_s / (1 - self.load)

    @property
    def most_bytes_per_s(self) -> float:
        """What full micro-batches take in."""
        return self.batch_bytes_max / (self.idle_s + self.batch_bytes_max / (self.cores * self.core_bytes_per_s))


FAR: Final = Origin("grpc://rig:1", "/data/joined", "another boot")


@dataclass(slots=True)
class GrowingTable:
    """A journal whose join seals every 10 ms."""

    path: str
    rig: Rig
    now: list[float]
    table: Table = "rows"
    epoch: int = 1
    origin: Origin | None = FAR
    inputs: tuple[str, ...] = ("left",)
    reader_lease_s: int = 600
    place: str = ""
    is_far: bool = True

    @property
    def identity(self) -> str:
        return self.path

    @property
    def _sealed(self) -> int:
        return max(self.rig.rows_hz // 100, 1)

    def check_epoch(self, wanted: int) -> None:
        assert wanted == self.epoch

    def first_row(self) -> int:
        return 0

    def sealed_row(self) -> int:
        return int(self.now[0] * self.rig.rows_hz) // self._sealed * self._sealed

    latest_row = sealed_row

    def position(self, row: int) -> Position:
        return Position(self.epoch, row)

    def extents(self, first_row: int, end_row: int, limit: Limit | None = None) -> list[Extent]:
        found, left = list[Extent](), limit or Limit()
        for begin in range(first_row // self._sealed * self._sealed, end_row, self._sealed):
            whole = Extent(begin, begin + self._sealed, self._sealed * self.rig.row_bytes)
            found.append(whole.cut(first_row, end_row))
            left = left.less(found[-1])
            if left.is_used_up:
                break
        return found

    def spot(self, row: int) -> Spot | None:
        return None

    def next_checkpoint(self, first_row: int, end_row: int) -> int:
        return end_row

    def joined_us(self, row: int) -> int:
        raise NotImplementedError

    def claim(self, name: str, first_row: int) -> Claim:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Passed:
    """One micro-batch of the simulation."""

    seconds: float
    batch_bytes: int
    partitions: int
    offset_bytes: int
    behind_rows: int
    """In all journals, when it ended."""


@dataclass(slots=True)
class Simulation:
    """The source's own decisions, on a clock that goes on by what a micro-batch takes."""

    rig: Rig
    now: list[float] = field(default_factory=lambda: [1.0])

    def run(self, monkeypatch: Any, batches: int) -> list[Passed]:
        """So many micro-batches."""
        names = [f"grpc://rig-{number}:7443" for number in range(self.rig.hosts)]
        tables = {name: GrowingTable(name, self.rig, self.now) for name in names}
        monkeypatch.setattr(micro_batches, "open_tables", lambda _options: tables)
        options = SourceOptions.parse({"endpoint": ",".join(names), "startingOffsets": "latest"})
        source = MicroBatches(options, cores=self.rig.cores)
        return list(self._passed(source, tables, batches))

    def _passed(self, source: MicroBatches, tables: dict[str, GrowingTable], batches: int) -> Iterator[Passed]:
        limit = Limit(bytes_max=self.rig.batch_bytes_max)
        start = source.initial()
        assert source.latest(start, limit) == start
        assert source.ranges(start, start) == []
        seen = dict.fromkeys(tables, 0) | {name: start[name].row for name in tables}
        for _ in range(batches):
            end = source.latest(start, limit)
            ranges = source.ranges(start, end)
            sizes = [(each.end_row - each.first_row) * self.rig.row_bytes for each in ranges]
            for each in ranges:
                assert each.first_row == seen[each.path]
                seen[each.path] = each.end_row
            assert seen == {name: end[name].row for name in tables}
            seconds = self.rig.idle_s + makespan_s(sizes, self.rig)
            self.now[0] += seconds
            behind = sum(table.sealed_row() - end[name].row for name, table in tables.items())
            yield Passed(seconds, sum(sizes), len(sizes), len(json.dumps(to_spark(end))), behind)
            start = end


def makespan_s(sizes: list[int], rig: Rig) -> float:
    """How long the cores take for tasks of so many bytes, each task on the core that is free first."""
    free = [0.0] * rig.cores
    for size in sizes:
        heapq.heapreplace(free, free[0] + size / rig.core_bytes_per_s)
    return max(free)
