# SPDX-License-Identifier: Apache-2.0
"""How journals share the limit of a micro-batch, against one that knows all of them from the beginning."""

from __future__ import annotations

import itertools

from framegate.joinbarrier.spark.plan.shares import Waiting, shared, shares_to_know
from framegate.joinbarrier.tables.extents import Extent, Limit, admit
from hypothesis import given
from hypothesis import strategies as st

KIB = 1 << 10
Sizes = list[tuple[int, int]]
# No row is without bytes: its own number alone has some.
batches_of_rows = st.tuples(st.integers(1, 40), st.integers(0, 64 * KIB)).map(lambda each: (each[0], each[0] + each[1]))
sizes = st.lists(batches_of_rows, min_size=1, max_size=12)
rigs = st.dictionaries(st.sampled_from("abcdefghij"), sizes, min_size=1)
limits = st.builds(Limit, st.none() | st.integers(1, 300), st.none() | st.integers(1, 512 * KIB))


def journal(batches: Sizes) -> Waiting:
    ends = list(itertools.accumulate((rows for rows, _ in batches), initial=0))
    extents = [Extent(begin, begin + rows, size) for begin, (rows, size) in zip(ends, batches, strict=False)]
    return Waiting(0, ends[-1], extents)


def known(whole: Waiting, share: Limit) -> Waiting:
    """As a table answers: no further than the share needs, and one batch at least."""
    found, left = list[Extent](), share
    for extent in whole.extents:
        found.append(extent)
        left = left.less(extent)
        if left.is_used_up:
            break
    return Waiting(whole.first_row, whole.end_row, found)


def one_after_another(rig: dict[str, Waiting], limit: Limit) -> dict[str, int]:
    """By who needs least, each with an equal part of what the ones before it have left."""
    ends, left = dict[str, int](), limit
    order = sorted(rig, key=lambda path: rig[path].end_row)
    for index, path in enumerate(order):
        taken = admit(rig[path].extents, left.share(len(order) - index))
        ends[path], left = taken.end_row, left.less(taken)
    return ends


@given(rigs, limits)
def test_asking_in_rounds_shares_as_if_all_were_known(batches: dict[str, Sizes], limit: Limit) -> None:
    rig = {path: journal(each) for path, each in batches.items()}
    found, short, rounds = dict[str, Waiting](), list(rig), 0
    for share in shares_to_know(limit, len(rig)):
        found |= {path: known(rig[path], share) for path in short}
        taken, short = shared(found, limit)
        rounds += 1
        if not short:
            break
    assert not short
    assert rounds <= len(rig).bit_length()
    assert {path: taken[path].end_row for path in rig} == one_after_another(rig, limit)


@given(rigs, limits)
def test_no_more_is_shared_than_there_is(batches: dict[str, Sizes], limit: Limit) -> None:
    taken, short = shared({path: journal(each) for path, each in batches.items()}, limit)
    assert not short
    assert limit.rows_max is None or sum(each.rows for each in taken.values()) <= limit.rows_max
    assert limit.bytes_max is None or sum(each.column_bytes for each in taken.values()) <= limit.bytes_max


def test_journals_that_are_all_behind_are_asked_once() -> None:
    """The usual case: equal hosts, none of which leaves anything to the others."""
    rig = {str(number): journal([(2, 2 * KIB)] * 100) for number in range(100)}
    limit = Limit(bytes_max=1000 * KIB)
    first = next(iter(shares_to_know(limit, len(rig))))
    taken, short = shared({path: known(each, first) for path, each in rig.items()}, limit)
    assert not short
    assert {each.rows for each in taken.values()} == {10}


def test_rows_that_are_gone_are_passed_over_whole() -> None:
    taken, short = shared({"gone": Waiting(3, 9, [])}, Limit(rows_max=1))
    assert taken == {"gone": Extent(3, 9, 0)}
    assert not short
