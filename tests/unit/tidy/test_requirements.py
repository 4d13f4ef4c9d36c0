# SPDX-License-Identifier: Apache-2.0
"""Every requirement of the protocol names the tests that show it, or says why there is none, and those tests exist.

``tests/requirements.toml`` says so. An entry is a list of tests, or ``{ reason = "..." }`` for what does not apply
here; ``{ todo = "..." }`` is a debt and fails.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

ROOT: Final = Path(__file__).resolve().parents[3]
WHOLE: Final = ROOT / "tests/requirements.toml"
SERIES: Final = {"W": 193, "D": 112, "J": 77}
"""Each series of the protocol's numbers, and its last."""
RUST_TEST: Final = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn\s+(\w+)")


@cache
def entries() -> dict[str, list[Any]]:
    """What is said of each requirement, in whichever table it stands."""
    found = dict[str, list[Any]]()
    for name, entry in _flattened(tomllib.loads(WHOLE.read_text())):
        found.setdefault(name, []).append(entry)
    return found


def _flattened(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if re.fullmatch(r"[A-Z]-\d{3}", key):
            yield key, value
        else:
            yield from _flattened(value)


@cache
def found_in(path: str) -> frozenset[str]:
    """The tests that a file has, as they are named behind its path."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    text = file.read_text()
    return frozenset(RUST_TEST.findall(text) if file.suffix == ".rs" else _python_tests(ast.parse(text).body))


def _python_tests(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield name
            case ast.ClassDef(name=name) if name.startswith("Test"):
                yield from (f"{name}::{test}" for test in _python_tests(node.body))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr="TestCase")):
                # How a Hypothesis state machine becomes a test.
                yield f"{name}::runTest"


def _tests_named_in(entry: Any) -> list[Any]:
    """One test may stand without its brackets."""
    return [entry] if isinstance(entry, str) else entry if isinstance(entry, list) else []


def named_tests() -> Iterator[tuple[str, str]]:
    for requirement, alternatives in entries().items():
        for entry in alternatives:
            yield from ((requirement, test) for test in _tests_named_in(entry))


@pytest.mark.parametrize("series", SERIES)
def test_every_requirement_is_answered_for(series: str) -> None:
    wanted = {f"{series}-{number:03}" for number in range(1, SERIES[series] + 1)}
    answered = {name for name in entries() if name.startswith(series)}
    assert (sorted(wanted - answered), sorted(answered - wanted)) == ([], [])


def test_the_protocol_has_no_requirement_beyond_these() -> None:
    tags = re.findall(r"\[([A-Z])-(\d{3})\]", (ROOT / "docs/wire.md").read_text())
    highest = {series: max(int(number) for found, number in tags if found == series) for series in SERIES}
    assert highest == SERIES


def test_every_entry_is_a_list_of_tests_or_a_reason() -> None:
    for requirement, alternatives in entries().items():
        for entry in alternatives:
            tests = _tests_named_in(entry)
            is_list = tests and all(isinstance(test, str) and "::" in test for test in tests)
            is_table = isinstance(entry, dict) and len(entry) == 1 and {"reason", "todo"} & set(entry)
            assert is_list or (is_table and all(entry.values())), f"{requirement} = {entry}"


def test_every_named_test_exists() -> None:
    missing = [
        f"{requirement}: {test}"
        for requirement, test in named_tests()
        if test.partition("::")[2] not in found_in(test.partition("::")[0])
    ]
    assert missing == []


def test_a_test_that_is_named_is_known_to_exist_or_not() -> None:
    """The test above must be able to fail."""
    known = "tests/unit/tidy/test_requirements.py", "test_every_named_test_exists"
    assert known[1] in found_in(known[0])
    assert "test_no_such_thing" not in found_in(known[0])
    assert "named_tests" not in found_in(known[0])
    assert found_in("tests/no_such_file.py") == frozenset()
    assert "a_zeroed_slot_is_frame_zero_being_written" in found_in("native/core/src/pool/commit.rs")
    assert "is_committed" not in found_in("native/core/src/pool/commit.rs")


def test_no_requirement_waits_for_its_tests() -> None:
    waiting = [
        requirement
        for requirement, alternatives in entries().items()
        if all(isinstance(entry, dict) and "todo" in entry for entry in alternatives)
    ]
    assert waiting == []


def test_a_requirement_that_does_not_apply_has_no_tests_beside_its_reason() -> None:
    both = [
        requirement
        for requirement, alternatives in entries().items()
        if any(isinstance(entry, dict) and "reason" in entry for entry in alternatives) and len(alternatives) > 1
    ]
    assert both == []


def test_variable_data_is_never_optional_in_a_schema() -> None:
    """W-015: its absent form is length 0, and a schema that said otherwise would name a second one."""
    declared = [
        (schema.name, field.attrib)
        for schema in sorted((ROOT / "schema/xml").glob("*.xml"))
        for field in ET.parse(schema).iter()  # noqa: S314 - our own files
        if field.tag.rpartition("}")[2] == "data"
    ]
    assert len(declared) > 10
    assert [(schema, data) for schema, data in declared if data.get("presence", "required") != "required"] == []
