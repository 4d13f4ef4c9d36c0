# SPDX-License-Identifier: Apache-2.0
"""Which arguments of ``gate.join`` are inputs, and which are options."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.gate.keywords import OPTIONS, join_tables
from framegate.joinbarrier.config.sections import CheckpointSection, JoinSection, JournalSection, MergeMapSection
from framegate.schema.config.types import Section
from framegate.schema.errors import WrongUsage


def tables(*streams: str, inputs: dict[str, Any] | None = None, **keywords: Any) -> dict[str, Any]:
    every = keywords.pop("every", None)
    return join_tables(streams, inputs, keywords, journal="/shm/1", every=every)


def test_every_key_of_a_join_toml_has_a_keyword() -> None:
    sections: dict[str, type[Section]] = {
        "join": JoinSection,
        "journal": JournalSection,
        "mergemap": MergeMapSection,
        "checkpoint": CheckpointSection,
    }
    keys = {(table, key) for table, section in sections.items() for key in section.model_fields}
    assert set(OPTIONS.values()) == keys
    assert (OPTIONS["prefault"], OPTIONS["checkpoint_prefault"]) == (
        ("journal", "prefault"),
        ("checkpoint", "prefault"),
    )


def test_streams_rules_and_options_find_their_tables() -> None:
    found = tables("left", right="offset -2", journal="out/a", seal_ms=1, lateness_ns=5, max_skew_ns=7)
    assert found["join"] == {
        "journal": "out/a",
        "out_stream": "a_joined",
        "policy": "sequence",
        "max_skew_ns": 7,
    }
    assert (found["journal"], found["mergemap"]) == ({"seal_ms": 1}, {"lateness_ns": 5})
    assert found["input"] == [{"name": "left"}, {"name": "right", "offset": -2}]


def test_inputs_take_any_name_and_every_key() -> None:
    found = tables(inputs={"pipeline": "", "left": {"stream": "cam", "deadline_ms": 5}, "publish": "offset 1"})
    assert found["input"] == [
        {"name": "pipeline"},
        {"name": "left", "stream": "cam", "deadline_ms": 5},
        {"name": "publish", "offset": 1},
    ]


@pytest.mark.parametrize("name", ["row", "skew_ns", "joined_at"])
def test_an_input_with_the_name_of_a_column_is_refused_with_what_to_write(name: str) -> None:
    with pytest.raises(WrongUsage, match="column") as refused:
        tables("left", name)
    assert f'"stream": "{name}"' in refused.value.hint


def test_an_input_with_the_name_of_an_option_is_refused_with_what_to_write() -> None:
    with pytest.raises(WrongUsage, match="option") as refused:
        tables("left", "pipeline")
    assert 'inputs={"pipeline": "..."}' in refused.value.hint


@pytest.mark.parametrize("given", [{"seal_mz": 5}, {"right": 5}, {"right": None}])
def test_an_option_that_there_is_not_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(WrongUsage, match="no option"):
        tables("left", **given)


def test_a_misspelt_option_is_answered_with_the_one_that_is_like_it() -> None:
    with pytest.raises(WrongUsage, match="did you mean seal_ms"):
        tables("left", seal_mz=5)


def test_a_join_of_nothing_and_an_input_twice_are_refused() -> None:
    with pytest.raises(WrongUsage, match="needs inputs"):
        tables(seal_ms=5)
    with pytest.raises(WrongUsage, match="once"):
        tables("left", "left")
    with pytest.raises(WrongUsage, match="once"):
        tables("left", inputs={"left": ""})


@pytest.mark.parametrize("every", ["100ms", 0.1])
def test_a_clock(every: str | float) -> None:
    assert tables("left", "right", every=every)["join"]["drive"] == "clock:10"


@pytest.mark.parametrize("every", ["soon", 0, -1.0, "0ms"])
def test_what_is_no_period_is_refused(every: str | float) -> None:
    with pytest.raises(WrongUsage, match="duration"):
        tables("left", every=every)
