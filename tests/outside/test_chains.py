# SPDX-License-Identifier: Apache-2.0
"""Joins that read what joins publish, and joins side by side under one driver."""

from __future__ import annotations

import pytest

from tests.outside.bed import Bed, apart, until
from tests.outside.rows import newest_row, read_rows, seqs


def test_two_joins_of_the_same_inputs_hold_the_same_rows(bed: Bed) -> None:
    left, right = bed.streams()
    joins = [bed.join(bed.lockstep(name, [left, right])) for name in ("one", "two")]
    for stream in (left, right):
        bed.rate(stream, 500, 300, consumers=2)
        apart(0.4)
    for each in joins:
        assert each.summary()["rows"] == 300
    assert seqs(bed.journal("one"), "s0", "s1") == seqs(bed.journal("two"), "s0", "s1")
    bed.audit("one", left, right)
    bed.audit("two", left, right)


def test_a_chain_of_two_joins_hands_every_row_on(bed: Bed) -> None:
    left, right, other = bed.streams(3)
    [out] = bed.streams(1)
    first = bed.lockstep("first", [left, right], out=out, join={"publish": "s0"})
    second = bed.config("second", "sequence", {"pair": {"stream": out}, "other": {"stream": other}})
    upper = bed.join(first)
    lower = bed.join(second)
    for stream in (left, right, other):
        bed.rate(stream, 500, 300)
        apart(0.4)
    assert upper.summary()["rows"] == 300
    assert lower.summary()["rows"] == 300
    bed.audit("first", left, right)
    bed.audit("second", other)


def test_a_chain_whose_lower_join_starts_first_hands_every_row_on(bed: Bed) -> None:
    left, right, other = bed.streams(3)
    [out] = bed.streams(1)
    first = bed.lockstep("upper", [left, right], out=out, join={"publish": "s0"})
    second = bed.config("lower", "sequence", {"pair": {"stream": out}, "other": {"stream": other}})
    lower = bed.join(second, is_ready=False)
    apart(1)
    upper = bed.join(first)
    for stream in (left, right, other):
        bed.rate(stream, 500, 300)
        apart(0.4)
    assert upper.summary()["rows"] == 300
    assert lower.summary()["rows"] == 300
    bed.audit("lower", other)


def test_a_chain_whose_last_input_starts_late_and_ends_late_loses_no_row(bed: Bed) -> None:
    left, right, other = bed.streams(3)
    [out] = bed.streams(1)
    upper = bed.join(bed.lockstep("chain-up", [left, right], out=out, join={"publish": "s0"}))
    lower = bed.join(bed.config("chain-down", "sequence", {"pair": {"stream": out}, "other": {"stream": other}}))
    for stream in (left, right):
        bed.rate(stream, 500, 200)
        apart(0.4)
    upper.summary()
    apart(1)
    bed.rate(other, 500, 200)
    assert lower.summary()["rows"] == 200
    bed.audit("chain-down", other)


def test_a_join_that_starts_later_than_another_has_a_fate_for_all_that_it_hears(bed: Bed) -> None:
    left, right = bed.streams()
    early = bed.join(bed.lockstep("early", [left, right]))
    for stream in (left, right):
        bed.rate(stream, 500, 1000)
    apart(0.7)
    late = bed.join(bed.lockstep("late", [left, right]))
    early.summary()
    late.summary()
    bed.audit("early", left, right)
    bed.audit("late", left, right)
    assert read_rows(bed.journal("late"))


def test_a_join_is_killed_beside_another_which_goes_on(bed: Bed) -> None:
    left, right = bed.streams()
    whole = bed.join(bed.lockstep("whole", [left, right]))
    config = bed.lockstep("broken", [left, right])
    broken = bed.join(config)
    for stream in (left, right):
        bed.rate(stream, 500, 1000, consumers=2)
        apart(0.5)
    # Before its first row a journal knows nothing of the streams, and ends of before are history to it.
    until(lambda: newest_row(bed.journal("broken")) > 50, "rows")
    broken.kill()
    bed.join(config, is_ready=False).summary()
    assert whole.summary()["rows"] == 1000
    bed.audit("whole", left, right)
    bed.audit("broken", left, right)


@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.long)])
def test_many_joins_under_one_driver_lose_no_frame(bed: Bed, count: int) -> None:
    streams = [bed.streams() for _ in range(count)]
    joins = [bed.join(bed.lockstep(f"many-{k}", pair)) for k, pair in enumerate(streams)]
    for number in (0, 1):
        for pair in streams:
            bed.rate(pair[number], 100, 100)
        apart(1.5)
    for k, join in enumerate(joins):
        assert join.summary()["rows"] == 100
        bed.audit(f"many-{k}", *streams[k])
