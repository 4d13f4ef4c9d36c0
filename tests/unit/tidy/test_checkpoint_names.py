# SPDX-License-Identifier: Apache-2.0
"""What the source texts on checkpoints ask to be tested and measured is there, under the names they give."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TABLE = tomllib.loads((ROOT / "tests/checkpoint_names.toml").read_text())
SHORT = TABLE.pop("short")
RULES = tomllib.loads((ROOT / "tests/checkpoint_rules.toml").read_text())
RULED = [(rule, path, name) for rule, tests in RULES.items() for path, names in tests.items() for name in names]
NAMED = [(name, path) for text in TABLE.values() for name, paths in text.items() for path in paths]


def test_the_table_is_whole() -> None:
    counts = {text: len(names) for text, names in TABLE.items()}
    assert counts == {"barrier_protocol": 30, "barrier_alignment": 29, "unaligned_checkpoints": 23}
    assert all(paths for names in TABLE.values() for paths in names.values())


def test_short_names_are_of_benchmarks_that_there_are() -> None:
    assert len(SHORT) == 4
    benches = {name for name, path in NAMED if "benches" in path}
    assert {short: name for short, name in SHORT.items() if name not in benches or not name.startswith(short)} == {}


@pytest.mark.parametrize(("name", "path"), NAMED, ids=lambda part: str(part))
def test_it_is_where_the_table_says(name: str, path: str) -> None:
    text = (ROOT / path).read_text()
    definition = rf"^( *)def {name}\(" if path.endswith(".py") else rf"^ *fn {name}\("
    assert len(re.findall(definition, text, re.MULTILINE)) == 1
    if path.endswith(".rs") and name.startswith("bench_"):
        assert re.search(rf"^    {name}\(\);", text, re.MULTILINE), f"{name} is not called"
    if path.endswith(".rs") and name.startswith("test_"):
        assert re.search(rf"#\[test\]\n *fn {name}\(", text), f"{name} is not run"


def test_every_rule_has_its_tests() -> None:
    wanted = {*(f"B{number}" for number in range(1, 25)), *(f"P{number}" for number in range(1, 16))}
    assert set(RULES) == wanted
    assert all(names for tests in RULES.values() for names in tests.values())


@pytest.mark.parametrize(("rule", "path", "name"), RULED, ids=lambda part: str(part))
def test_it_is_where_the_rules_say(rule: str, path: str, name: str) -> None:
    text = (ROOT / path).read_text()
    assert len(re.findall(rf"^ *(?:def|fn) {name}\(", text, re.MULTILINE)) == 1
    if path.endswith(".rs"):
        assert re.search(rf"#\[test\]\n( *#\[should_panic.*\n)? *fn {name}\(", text), f"{name} is not run"
    # A check of a table is run by it, for the rule that it is of.
    assert name.startswith("test_") or path.endswith(".rs") or f'"{rule}": {name},' in text
