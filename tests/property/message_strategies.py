# SPDX-License-Identifier: Apache-2.0
"""Random valid messages of any generated class, drawn from its layout table."""

from __future__ import annotations

from functools import cache
from typing import Any

from framegate.schema.layout import Block, Data, Field, Group, limits
from hypothesis import strategies as st

TEXT = st.text(st.characters(max_codepoint=127), max_size=40)


@cache
def blocks(kind: type[Block]) -> st.SearchStrategy[Any]:
    """Messages, or group entries, of the class. Kept: building a strategy costs ten times a draw from it."""
    return st.builds(kind, **{part.name: _values(part) for part in kind.LAYOUT})


def _values(part: Field | Group | Data) -> st.SearchStrategy[Any]:
    if isinstance(part, Group):
        return st.lists(blocks(part.entry), max_size=4).map(tuple)
    if isinstance(part, Data):
        return TEXT if part.is_text else st.binary(max_size=64)
    if part.count > 1:
        size = part.count
        if part.primitive == "uint8":
            return st.binary(min_size=size, max_size=size)
        return st.lists(_numbers(part), min_size=size, max_size=size).map(tuple)
    return st.none() | _numbers(part) if part.is_optional else _numbers(part)


def _numbers(field: Field) -> st.SearchStrategy[int]:
    if field.enum is not None:
        return st.sampled_from(field.enum)
    low, high = limits(field.primitive)
    # Values near the ends are where codecs and JSON go wrong; Hypothesis prefers small numbers.
    numbers = st.integers(low, high) | st.sampled_from([low, high, high - 1, min(high, 2**53 + 1), 0])
    # The null value cannot be given: it reads back as None (a trace id of 0 does, too).
    return numbers.filter(lambda number: number != field.null)
