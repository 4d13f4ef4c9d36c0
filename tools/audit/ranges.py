# SPDX-License-Identifier: Apache-2.0
"""Sets of sequences stored as ranges, so that a million successive frames cost as much as one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Range: TypeAlias = tuple[int, int]
"""The first and the last sequence, both included."""


class Ranges:
    """A set of sequences. It is immutable.

    >>> (Ranges([(0, 9)]) - Ranges([(3, 4)])).pairs
    [(0, 2), (5, 9)]
    >>> (Ranges([(0, 4), (3, 7)]) & Ranges([(6, 20)])).pairs
    [(6, 7)]
    """

    __slots__ = ("_firsts", "pairs")

    def __init__(self, pairs: Iterable[Range] = ()) -> None:
        self.pairs: list[Range] = []
        for first, last in sorted(pair for pair in pairs if pair[0] <= pair[1]):
            if self.pairs and first <= self.pairs[-1][1] + 1:
                self.pairs[-1] = (self.pairs[-1][0], max(last, self.pairs[-1][1]))
            else:
                self.pairs.append((first, last))
        self._firsts = [first for first, _ in self.pairs]

    @classmethod
    def of(cls, seqs: Iterable[int]) -> Ranges:
        """The set of single sequences."""
        return cls((seq, seq) for seq in seqs)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and self.pairs == other.pairs

    __hash__ = None  # type: ignore[assignment]  # a set that is compared by value

    def __contains__(self, seq: int) -> bool:
        at = bisect_right(self._firsts, seq) - 1
        return at >= 0 and seq <= self.pairs[at][1]

    def __iter__(self) -> Iterator[int]:
        for first, last in self.pairs:
            yield from range(first, last + 1)

    def __or__(self, other: Ranges) -> Ranges:
        return Ranges([*self.pairs, *other.pairs])

    def __and__(self, other: Ranges) -> Ranges:
        found: list[Range] = []
        mine, theirs = 0, 0
        while mine < len(self.pairs) and theirs < len(other.pairs):
            first = max(self.pairs[mine][0], other.pairs[theirs][0])
            last = min(self.pairs[mine][1], other.pairs[theirs][1])
            if first <= last:
                found.append((first, last))
            if self.pairs[mine][1] < other.pairs[theirs][1]:
                mine += 1
            else:
                theirs += 1
        return Ranges(found)

    def __sub__(self, other: Ranges) -> Ranges:
        found: list[Range] = []
        at = 0
        for first, last in self.pairs:
            while at < len(other.pairs) and other.pairs[at][1] < first:
                at += 1
            behind = at
            while behind < len(other.pairs) and other.pairs[behind][0] <= last:
                found.append((first, other.pairs[behind][0] - 1))
                first = other.pairs[behind][1] + 1
                behind += 1
            found.append((first, last))
        return Ranges(found)

    def below(self, seq: int) -> Ranges:
        """The part below a sequence."""
        return self & Ranges([(0, seq - 1)])

    def above(self, seq: int) -> Ranges:
        """The part above a sequence."""
        return self - Ranges([(0, seq)])

    @property
    def first(self) -> int:
        return self.pairs[0][0]

    @property
    def last(self) -> int:
        return self.pairs[-1][1]

    def __repr__(self) -> str:
        return f"Ranges({self.pairs})"
