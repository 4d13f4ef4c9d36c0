# SPDX-License-Identifier: Apache-2.0
"""The page of arithmetic for a rig of a hundred hosts, against a simulation of its offsets and partitions."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import Any, ClassVar

import framegate.joinbarrier.spark.options
import pytest
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan import micro_batches
from framegate.joinbarrier.spark.plan.micro_batches import MicroBatches
from framegate.joinbarrier.tables.extents import Limit

from tests.unit.joinbarrier.spark.rig_world import GrowingTable, Passed, Rig, Simulation
from tests.unit.watchdog import until

PAGE = (Path(framegate.joinbarrier.spark.options.__file__).parent / "HUNDRED_HOSTS.md").read_text()
HOSTS = [f"grpc://rig-{number}:7443" for number in range(100)]
SETTLED = 25
"""Of so many micro-batches; the first ones take in what came before them."""


def settled(rig: Rig, monkeypatch: Any, batches: int = 2 * SETTLED) -> list[Passed]:
    return Simulation(rig).run(monkeypatch, batches)[-SETTLED:]


def rows_of_the_page() -> list[list[str]]:
    """Its table: cores, load, micro-batch, bytes of one, partitions, age."""
    _, _, table = PAGE.partition("| cores | load")
    _, _, *lines = table.partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def number(cell: str) -> float:
    found = re.search(r"[\d,.]+", cell)
    assert found is not None, cell
    return float(found[0].replace(",", ""))


@pytest.mark.parametrize("line", [0, 1, 2])
def test_the_figures_of_the_page_are_those_of_the_simulation(line: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cores, load, batch_s, batch_mb, partitions, age_s = map(number, rows_of_the_page()[line])
    rig = Rig(cores=int(cores))
    found = settled(rig, monkeypatch, 60)
    assert rig.load == pytest.approx(load, abs=0.005)
    assert rig.batch_s == pytest.approx(batch_s, abs=0.006)
    seconds = statistics.mean(each.seconds for each in found)
    assert seconds == pytest.approx(batch_s, rel=0.12)
    assert statistics.mean(each.batch_bytes for each in found) / 1e6 == pytest.approx(batch_mb, rel=0.12)
    assert statistics.median(each.partitions for each in found) == partitions
    assert 1.5 * rig.batch_s == pytest.approx(age_s, abs=0.01)


def test_a_cluster_that_is_too_small_falls_behind_and_the_page_says_from_when(monkeypatch: pytest.MonkeyPatch) -> None:
    enough, few = (int(number(cell)) for cell in re.findall(r"[Ww]ith \*\*(\d+)\*\* cores", PAGE))
    assert Rig(cores=enough).load < 1 < Rig(cores=few).load
    behind = [each.behind_rows for each in settled(Rig(cores=few, batch_bytes_max=1 << 30), monkeypatch)]
    assert behind == sorted(behind)
    assert behind[-1] > behind[0]


def test_the_default_limit_is_too_low_for_the_rig_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(batch_bytes_max=256 << 20)
    told = re.search(r"`256m` takes in \*\*([\d.]+) GB/s\*\*", PAGE)
    assert told is not None
    assert rig.most_bytes_per_s / 1e9 == pytest.approx(float(told[1]), abs=0.01)
    found = settled(rig, monkeypatch)
    taken = sum(each.batch_bytes for each in found) / sum(each.seconds for each in found)
    assert taken == pytest.approx(rig.most_bytes_per_s, rel=0.1)
    assert found[-1].behind_rows > found[0].behind_rows


def test_every_journal_gets_its_share_of_a_limit_that_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(hosts=10, cores=10, batch_bytes_max=64 << 20)
    found = settled(rig, monkeypatch)
    assert all(each.partitions == rig.hosts for each in found)


def test_an_offset_of_a_hundred_journals_is_as_long_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    told = re.search(r"offset is \*\*([\d.]+) kB\*\*", PAGE)
    assert told is not None
    longest = max(each.offset_bytes for each in settled(Rig(), monkeypatch))
    assert longest / 1e3 == pytest.approx(float(told[1]), rel=0.1)


class Slow(GrowingTable):
    """Answers only when every other host has."""

    answered: ClassVar[set[str]] = set()

    def latest_row(self) -> int:
        if self.path == HOSTS[0]:
            until(lambda: self.answered == set(HOSTS[1:]))
        self.answered.add(self.path)
        return self.sealed_row()


def test_a_host_that_is_slow_keeps_no_other_from_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1.0]
    tables = {path: Slow(path, Rig(), now) for path in HOSTS}
    monkeypatch.setattr(micro_batches, "open_tables", lambda _options: tables)
    source = MicroBatches(SourceOptions.parse({"endpoint": ",".join(HOSTS)}), cores=100)
    start = source.initial()
    assert source.ranges(start, start) == []
    now[0] += 1
    end = source.latest(start, Limit())
    assert [end[path].row - start[path].row for path in HOSTS] == [Rig().rows_hz] * len(HOSTS)
