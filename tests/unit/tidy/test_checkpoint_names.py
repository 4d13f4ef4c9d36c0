# SPDX-License-Identifier: Apache-2.0
"""What the source texts on checkpoints ask to be tested and measured is there, under the names they give."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TABLE = tomllib.loads((ROOT / "tests/checkpoint_names.toml").read_text())
CORRECTIONS, RULES = TABLE.pop("corrections"), TABLE.pop("pipeline_rules")
RESTORING = {"P1", "P2", "P7", "P8"}
"""Rules of an agent that goes on from a checkpoint."""
NAMED = [(name, path) for text in TABLE.values() for name, paths in text.items() for path in paths]
NUMBERED = [(number, place) for text in (CORRECTIONS, RULES) for number, places in text.items() for place in places]


def test_the_table_is_whole() -> None:
    counts = {text: len(names) for text, names in TABLE.items()}
    assert counts == {"barrier_protocol": 30, "barrier_alignment": 29, "unaligned_checkpoints": 23}
    assert all(paths for names in TABLE.values() for paths in names.values())


@pytest.mark.parametrize(("name", "path"), NAMED, ids=lambda part: str(part))
def test_it_is_where_the_table_says(name: str, path: str) -> None:
    text = (ROOT / path).read_text()
    definition = rf"^( *)def {name}\(" if path.endswith(".py") else rf"^ *fn {name}\("
    assert len(re.findall(definition, text, re.MULTILINE)) == 1
    if path.endswith(".rs") and name.startswith("bench_"):
        assert re.search(rf"^    {name}\(\);", text, re.MULTILINE), f"{name} is not called"
    if path.endswith(".rs") and name.startswith("test_"):
        assert re.search(rf"#\[test\]\n *fn {name}\(", text), f"{name} is not run"


def test_every_correction_and_every_rule_of_the_pipeline_has_a_test() -> None:
    assert list(CORRECTIONS) == [f"B{number}" for number in range(1, 25)]
    wanted = {f"P{number}" for number in range(1, 16)}
    assert wanted - RESTORING <= set(RULES) <= wanted
    assert all(places for text in (CORRECTIONS, RULES) for places in text.values())


@pytest.mark.parametrize(("number", "place"), NUMBERED, ids=lambda part: str(part).rpartition("::")[2])
def test_a_numbered_rule_is_tested_where_the_table_says(number: str, place: str) -> None:
    path, _, name = place.partition("::")
    keyword = "def" if path.endswith(".py") else "fn"
    assert len(re.findall(rf"^ *{keyword} {name}\(", (ROOT / path).read_text(), re.MULTILINE)) == 1, number
