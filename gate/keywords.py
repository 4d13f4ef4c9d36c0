# SPDX-License-Identifier: Apache-2.0
"""The arguments of ``gate.join``: which of them are inputs with their rules, and which are options of a join.toml."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from framegate.joinbarrier.config.sections import (
    JOURNAL_COLUMNS,
    CheckpointSection,
    JoinSection,
    JournalSection,
    MergeMapSection,
)
from framegate.joinbarrier.config.worded import tables_of
from framegate.joinbarrier.config.words import Rule, parse_duration, parse_rule
from framegate.schema.config.types import Section
from framegate.schema.errors import WrongUsage

_SECTIONS: Final[dict[str, type[Section]]] = {
    "join": JoinSection,
    "journal": JournalSection,
    "mergemap": MergeMapSection,
    "checkpoint": CheckpointSection,
}


def _options() -> dict[str, tuple[str, str]]:
    """Each option's table and key. A key that two tables have is the first one's, and the other's with its table."""
    found: dict[str, tuple[str, str]] = {}
    for table, section in _SECTIONS.items():
        for key in section.model_fields:
            found[key if key not in found else f"{table}_{key}"] = (table, key)
    return found


OPTIONS: Final = _options()


def join_tables(
    positional: tuple[str, ...],
    inputs: Mapping[str, Any] | None,
    keywords: Mapping[str, Any],
    *,
    journal: str,
    every: str | float | None,
) -> dict[str, Any]:
    """The tables of a join.toml that a call describes. Raises WrongUsage."""
    rules = dict[str, Rule]()
    written = dict[str, Mapping[str, Any]]()
    options = {name: value for name, value in keywords.items() if name in OPTIONS}
    given = [(name, "") for name in positional] + [each for each in keywords.items() if each[0] not in OPTIONS]
    for name, value in given:
        _add(rules, written, name, value, is_plain=True)
    for name, value in (inputs or {}).items():
        _add(rules, written, name, value, is_plain=False)
    if not rules:
        raise WrongUsage(
            "a join needs inputs",
            hint='Name streams, and rules: join("left", imu="nearest 5ms").',
        )
    tables = tables_of(rules, str(options.pop("journal", journal)), _period(every))
    tables["input"] = [{**each, **written.get(each["name"], {})} for each in tables["input"]]
    for name, value in options.items():
        table, key = OPTIONS[name]
        tables.setdefault(table, {})[key] = value
    return tables


def _add(
    rules: dict[str, Rule], written: dict[str, Mapping[str, Any]], name: str, value: Any, *, is_plain: bool
) -> None:
    if name in JOURNAL_COLUMNS:
        raise WrongUsage(
            "every row has a column of this name, so no input can have it",
            input=name,
            hint=f'Give the column another name: inputs={{"my_{name}": {{"stream": "{name}"}}}}.',
        )
    if is_plain and name in OPTIONS:
        raise WrongUsage(
            "this name is an option of a join, so it is not clear which one is meant",
            input=name,
            hint=f'Name the input in inputs={{"{name}": "..."}}.',
        )
    if name in rules:
        raise WrongUsage("an input is named once", input=name)
    if isinstance(value, Mapping):
        rules[name], written[name] = Rule(), value
    elif isinstance(value, str):
        rules[name] = parse_rule(value, name)
    else:
        near = difflib.get_close_matches(name, OPTIONS, 1)
        raise WrongUsage(
            f"a join has no option {name!r}" + (f": did you mean {near[0]}?" if near else ""),
            found=repr(value),
            hint='An input\'s rule is a text, as in imu="nearest 10ms"; options are the keys of a join.toml.',
        )


def _period(every: str | float | None) -> int | None:
    if every is None:
        return None
    try:
        period_ns = parse_duration(every) if isinstance(every, str) else round(every * 1e9)
    except ValueError:
        period_ns = 0
    if period_ns <= 0:
        raise WrongUsage('every is a duration, as in every="100ms", or seconds', found=repr(every))
    return period_ns
