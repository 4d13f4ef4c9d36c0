# SPDX-License-Identifier: Apache-2.0
"""Journals one behind another, as if they were one: so the tasks over all of them are cut where bytes say it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from framegate.joinbarrier.tables.extents import Extent, partition


class Part(NamedTuple):
    """Rows of one journal that a task reads, perhaps beside others."""

    path: str
    first_row: int
    end_row: int


class _Stretch(NamedTuple):
    """Where a journal lies in the line."""

    path: str
    begin: int
    end: int
    shift: int
    """What its rows are behind their places in the line."""


def cut_together(journals: Mapping[str, Sequence[Extent]], *, cores: int) -> list[list[Part]]:
    """The parts of each task, in the order of the journals; as many tasks as one journal of the same bytes would have.

    >>> four = {name: [Extent(100, 110, 20 << 20)] for name in "abcd"}
    >>> [[part.path for part in task] for task in cut_together(four, cores=2)]
    [['a', 'b'], ['c', 'd']]
    """
    stretches, line = list[_Stretch](), list[Extent]()
    end = 0
    for path, extents in journals.items():
        if not extents:
            continue
        shift = extents[0].first_row - end
        line += [Extent(each.first_row - shift, each.end_row - shift, each.column_bytes) for each in extents]
        stretches.append(_Stretch(path, end, line[-1].end_row, shift))
        end = line[-1].end_row
    return [list(_parts(stretches, *task)) for task in partition(line, cores=cores)]


def _parts(stretches: Sequence[_Stretch], begin: int, end: int) -> Iterator[Part]:
    for each in stretches:
        first, last = max(begin, each.begin), min(end, each.end)
        if first < last:
            yield Part(each.path, first + each.shift, last + each.shift)
