# SPDX-License-Identifier: Apache-2.0
"""The order in which parts start: each after those that it waits for. A circle is refused, and named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from framegate.schema.errors import RigCycle
from framegate.tools.rig.part import Part


def in_order(parts: Iterable[Part]) -> list[Part]:
    """The parts, each after those that it waits for; otherwise in the given order.

    >>> [each.name for each in in_order([Part(name="b", kind="", after=frozenset("a")), Part(name="a", kind="")])]
    ['a', 'b']
    """
    known = {each.name: each for each in parts}
    return [known[name] for name in ordered({name: sorted(part.waits_for) for name, part in known.items()})]


def ordered(waits_for: Mapping[str, Iterable[str]]) -> list[str]:
    """The names, each after those that it waits for. Raises RigCycle."""
    try:
        return list(TopologicalSorter(waits_for).static_order())
    except CycleError as found:
        # The library lists a circle against its arrows, and its first part twice.
        circle = " waits for ".join(reversed(found.args[1]))
        raise RigCycle(f"no part can start first: {circle}", parts=len(found.args[1]) - 1) from None


def phases(after: Mapping[str, Iterable[str]], after_end: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """How many ends each part waits for, one after the other. Parts of one phase run at the same time.

    Raises RigCycle.

    >>> phases({"again": []}, {"again": ["live"], "live": []})
    {'live': 0, 'again': 1}
    """
    names = {*after, *after_end}
    waits_for = {name: [*after.get(name, ()), *after_end.get(name, ())] for name in sorted(names)}
    found: dict[str, int] = {}
    for name in ordered(waits_for):
        ends = [found[other] + 1 for other in after_end.get(name, ())]
        found[name] = max([0, *ends, *(found[other] for other in after.get(name, ()))])
    return found
