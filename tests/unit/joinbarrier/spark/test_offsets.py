# SPDX-License-Identifier: Apache-2.0
"""Offsets are canonical, and only what they were made as is read back."""

from __future__ import annotations

import json

import pytest
from framegate.joinbarrier.tables.offsets import EARLIEST, LATEST, Position, Wish, from_spark, to_spark, wishes
from framegate.schema.errors import WrongOffset, WrongOption

ONE, TWO = Position(7, 12), Position(8, 0)


def test_one_journal_has_a_flat_offset() -> None:
    assert json.dumps(to_spark({"a": ONE})) == '{"epoch": 7, "row": 12}'


def test_several_are_sorted_whatever_order_they_come_in() -> None:
    text = '{"a": {"epoch": 7, "row": 12}, "b": {"epoch": 8, "row": 0}}'
    assert json.dumps(to_spark({"b": TWO, "a": ONE})) == json.dumps(to_spark({"a": ONE, "b": TWO})) == text


@pytest.mark.parametrize("positions", [{"a": ONE}, {"a": ONE, "b": TWO}])
def test_what_was_written_is_read_back(positions: dict[str, Position]) -> None:
    assert from_spark(json.loads(json.dumps(to_spark(positions))), list(positions)) == positions


@pytest.mark.parametrize(
    "offset",
    [None, 3, [], {}, {"row": 1}, {"epoch": 1, "row": -1}, {"epoch": 1, "row": 1.0}, {"epoch": True, "row": 1},
     {"epoch": 1, "row": 1, "x": 1}, {"a": {"epoch": 1, "row": 1}}],
)  # fmt: skip
def test_anything_else_is_no_offset(offset: object) -> None:
    with pytest.raises(WrongOffset):
        from_spark(offset, ["a"])


def test_an_offset_of_other_journals_is_refused() -> None:
    with pytest.raises(WrongOffset, match=r"want=a,c have=a,b"):
        from_spark(to_spark({"a": ONE, "b": TWO}), ["a", "c"])
    with pytest.raises(WrongOffset, match=r"want=a,b have=a,b,c"):
        from_spark(to_spark({"a": ONE, "b": TWO, "c": TWO}), ["a", "b"])


@pytest.mark.parametrize(
    ("text", "wish"),
    [("earliest", EARLIEST), ("LATEST", LATEST), ("12", Wish(row=12)), ('{"epoch":7,"row":12}', Wish(row=12, epoch=7)),
     ('{"a":5}', Wish(row=5)), ('{"a":"latest"}', LATEST), ('{"a":{"epoch":7,"row":12}}', Wish(row=12, epoch=7))],
)  # fmt: skip
def test_a_start_is_a_word_a_row_or_json(text: str, wish: Wish) -> None:
    assert wishes("startingOffsets", text, ["a"]) == {"a": wish}


def test_several_journals_have_a_start_each() -> None:
    found = wishes("startingOffsets", '{"a": 3, "b": "earliest"}', ["a", "b"])
    assert found == {"a": Wish(row=3), "b": EARLIEST}
    with pytest.raises(WrongOption, match="a row each"):
        wishes("startingOffsets", "3", ["a", "b"])


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", "true", "{", "[1]", '{"row":1}', '{"a":-1}', '{"b":1}'])
def test_anything_else_is_no_start(text: str) -> None:
    with pytest.raises(WrongOption, match="option=endingOffsets"):
        wishes("endingOffsets", text, ["a"])
