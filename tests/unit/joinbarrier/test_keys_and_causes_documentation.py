# SPDX-License-Identifier: Apache-2.0
"""Every key of a join.toml has its sentence and its default in docs/join.md, and every cause its words on two pages."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any, get_args

import framegate.joinbarrier
import pytest
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.sections import InputSection
from framegate.joinbarrier.journal import causes as missing
from framegate.joinbarrier.journal.causes import EXPLAINED, Absence, Cause
from framegate.schema.config.keys import section
from framegate.schema.config.types import Section

PACKAGE = Path(framegate.joinbarrier.__file__).parent
DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "join.md").read_text()
JOURNAL_PAGE = (PACKAGE / "journal" / "README.md").read_text()
MIB = 1 << 20
IN_WORDS = {
    "drive",
    "name",
    "stream",
    "aeron_dir",
    "freshness_ms",
    "silence_ms",
    "descriptor_stream",
    "descriptor_streams",
    "base_dir",
}
"""Keys without a default of their own that could be printed."""


def tables() -> dict[str, type[Section]]:
    found: dict[str, type[Section]] = {}
    for name, field in JoinConfig.model_fields.items():
        if name == "input":
            found["[[input]]"] = InputSection
        else:
            inner = section(field.annotation)
            assert inner is not None, name
            found[f"[{name}]"] = inner
    return found


def rows(page: str, head: str) -> dict[str, list[str]]:
    """The lines of the table whose head begins so, by their first cell."""
    _, _, table = page.partition(f"| {head} |")
    assert table, f"there is no table {head}"
    lines = table.partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {line[0].strip("`"): line[1:] for line in cells}


@pytest.mark.parametrize("name", tables())
def test_every_key_has_its_sentence_and_its_default(name: str) -> None:
    model = tables()[name]
    found = rows(PAGE, f"`{name}`")
    assert list(found) == list(model.model_fields)
    for key, (default, sentence, when) in found.items():
        assert len(sentence.split()) >= 3, key
        assert when, key
        if key in IN_WORDS:
            assert "`" not in default, key
        else:
            assert default.strip("`") == printed(model.model_fields[key].get_default(call_default_factory=False)), key


def printed(value: Any) -> str:
    """A default as the page prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value >= MIB and value % MIB == 0:
        return f'"{value >> 30}GiB"' if value % (1 << 30) == 0 else f'"{value // MIB}MiB"'
    if isinstance(value, str):
        return f'"{value}"'
    return "none" if value is None else str(value)


def test_every_cause_has_its_sentence_in_the_words_of_the_code() -> None:
    found = rows(JOURNAL_PAGE, "cause")
    assert set(found) == set(Cause) == set(EXPLAINED)
    for cause, (happened, look) in found.items():
        assert happened == EXPLAINED[Cause(cause)]
        assert look


def test_every_cause_has_its_origin_on_the_page_of_rules() -> None:
    found = rows((DOCS / "choosing-rules.md").read_text(), "cause")
    assert set(found) == set(Cause)
    assert all(origin for origin, _ in found.values())


def test_every_status_of_an_absent_input_is_explained_with_the_keys_that_make_it() -> None:
    sentences = " ".join(cell for name in tables() for row in rows(PAGE, f"`{name}`").values() for cell in row)
    assert set(get_args(Absence)) <= set(re.findall(r"`(\w+)`", sentences))


def test_examples_of_the_docstrings_run() -> None:
    result = doctest.testmod(missing)
    assert result.attempted > 0
    assert result.failed == 0
