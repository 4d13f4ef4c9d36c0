# SPDX-License-Identifier: Apache-2.0
"""Quantities and tables as people read them."""

from __future__ import annotations

import doctest
import io
from datetime import UTC, datetime

import pytest
from framegate.schema.console import quantities, terminal
from framegate.schema.console.quantities import byte_size, count, duration, local_time, rounded, stamp
from framegate.schema.console.terminal import GrowingTable


@pytest.mark.parametrize("module", [quantities, terminal], ids=lambda module: str(module.__name__))
def test_examples_of_the_docstrings_run(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0


def test_a_duration_has_the_unit_that_suits_it() -> None:
    assert [duration(ns) for ns in (0, 7, 1_500, 2_000_000, 90_000_000_000, 33_333_333, -5_000)] == [
        "0 ns",
        "7 ns",
        "1.5 µs",
        "2 ms",
        "90 s",
        "33.333333 ms",
        "-5 µs",
    ]
    assert (rounded(33_333_333), rounded(12_345_600_000_000)) == ("33.33 ms", "12,346 s")


def test_a_size_has_the_unit_that_suits_it() -> None:
    sizes = (0, 1, 1023, 1024, 1 << 20, 991 << 20, 5 << 40)
    assert [byte_size(size) for size in sizes] == ["0 B", "1 B", "1023 B", "1 KiB", "1 MiB", "991 MiB", "5 TiB"]


def test_what_there_is_none_of_is_a_dash() -> None:
    assert {duration(None), rounded(None), byte_size(None), count(None), local_time(None), stamp(None)} == {"-"}


def test_a_time_is_that_of_this_machines_zone() -> None:
    ns = 1_790_000_000_123_456_789
    day, time, zone = local_time(ns).split()
    here = datetime.fromtimestamp(ns / 1e9).astimezone()
    assert (datetime.fromisoformat(f"{day} {time}").timestamp() * 1000) // 1 == ns // 1_000_000
    assert zone == here.tzname()
    assert local_time(1 << 80) == f"{1 << 80} ns"


def test_a_stamp_is_a_local_time_where_it_is_one_by_its_clock() -> None:
    realtime_ns, booted_ns = 1_790_000_000_000_000_000, 1_789_000_000_000_000_000
    assert stamp(realtime_ns, UTC) == local_time(realtime_ns, UTC)
    monotonic_ns = realtime_ns - booted_ns
    assert stamp(monotonic_ns, UTC, near_ns=realtime_ns, behind_ns=booted_ns) == local_time(realtime_ns, UTC)
    # A made-up time is none of any clock.
    assert stamp(2_000_000, UTC, near_ns=realtime_ns, behind_ns=booted_ns) == "0.002000000 s"


def test_a_table_that_grows_keeps_its_columns_below_each_other() -> None:
    out = io.StringIO()
    table = GrowingTable(["row", "seen"], out)
    table.print([["9", "#1"], ["10", "#200"]])
    table.print([["11", "#3"]])
    table.print([])
    assert out.getvalue().splitlines() == ["row  seen", "  9  #1", " 10  #200", " 11  #3"]
