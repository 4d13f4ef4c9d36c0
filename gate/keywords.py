# SPDX-License-Identifier: Apache-2.0
"""The arguments of ``gate.join``: some are inputs with their rules, the others are options of a join.toml."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.config.drive import HZ_MAX
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
from framegate.schema.console.quantities import duration
from framegate.schema.errors import WrongUsage

_SECTIONS: Final[dict[str, type[Section]]] = {
    "join": JoinSection,
    "journal": JournalSection,
    "mergemap": MergeMapSection,
    "checkpoint": CheckpointSection,
}


def _options() -> dict[str, tuple[str, str]]:
    """The table and key of each option. If two tables share a key, the second one's option begins with its table."""
    found: dict[str, tuple[str, str]] = {}
    for table, section in _SECTIONS.items():
        for key in section.model_fields:
            found[key if key not in found else f"{table}_{key}"] = (table, key)
    return found


OPTIONS: Final = _options()
_PERIOD_NS_MIN: Final = round(1e9 / HZ_MAX)


def toml_of(streams: tuple[Any, ...]) -> Path | None:
    """The file that a call names instead of streams; None if it names streams."""
    if len(streams) == 1 and isinstance(streams[0], str | os.PathLike) and str(streams[0]).endswith(".toml"):
        return Path(streams[0])
    return None


def file_options(
    path: Path, inputs: Mapping[str, Any] | None, keywords: Mapping[str, Any], *, every: str | float | None
) -> dict[str, Any]:
    """The options given beside a join.toml, by their keys. Raises WrongUsage for an option that belongs in the file."""
    if inputs or every is not None:
        raise WrongUsage(
            "a join.toml says itself which inputs it has and what drives them",
            file=path,
            hint="Write inputs and drive into the file; the other keys of it can stand beside it, as in seal_ms=5.",
        )
    for name, value in keywords.items():
        if name not in OPTIONS:
            raise _unknown_option(name, value, "Inputs and their rules are written into the file.")
    given = _given_options(keywords)
    return {".".join(OPTIONS[name]): value for name, value in given.items()}


def join_tables(
    positional: tuple[str | os.PathLike[str], ...],
    inputs: Mapping[str, Any] | None,
    keywords: Mapping[str, Any],
    *,
    journal: str,
    every: str | float | None,
) -> dict[str, Any]:
    """The tables of a join.toml that a call describes. Raises WrongUsage."""
    rules = dict[str, Rule]()
    written = dict[str, Mapping[str, Any]]()
    options = _given_options(keywords)
    given: list[tuple[Any, Any]] = [(name, "") for name in positional]
    given += [each for each in keywords.items() if each[0] not in OPTIONS]
    for name, value in given:
        _add(rules, written, name, value, is_plain=True)
    if not isinstance(inputs, Mapping | None):
        raise WrongUsage(
            "inputs are rules by name", found=repr(inputs), hint='Write inputs={"left": "", "imu": "nearest 10ms"}.'
        )
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
    rules: dict[str, Rule], written: dict[str, Mapping[str, Any]], name: Any, value: Any, *, is_plain: bool
) -> None:
    if not isinstance(name, str) or name.isdecimal():
        raise WrongUsage(
            "an input is a column of every row, so it has a name",
            found=name,
            hint=f'Give the column of a stream with a number a name: inputs={{"left": {{"stream": {name}}}}}.',
        )
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
        raise WrongUsage("an input is named once", input=name, hint="Two columns of one stream: inputs={...}.")
    if isinstance(value, Mapping):
        if value.get("name", name) != name:
            raise WrongUsage("an input has one name", input=name, found=value["name"])
        rules[name], written[name] = Rule(), value
    elif isinstance(value, str):
        rules[name] = parse_rule(value, name)
    elif is_plain:
        raise _unknown_option(name, value)
    else:
        raise WrongUsage(
            "the rule of an input is a text, or a table with the keys of [[input]]", input=name, found=repr(value)
        )


def _given_options(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given; None counts as not given. Raises WrongUsage if one has the rule of an input."""
    given = {name: value for name, value in keywords.items() if name in OPTIONS and value is not None}
    for name, value in given.items():
        if isinstance(value, str) and _is_rule(value):
            raise WrongUsage(
                "this name is an option of a join, and its value is the rule of an input",
                input=name,
                hint=f'Name the input in inputs={{"{name}": "{value}"}}.',
            )
    return given


def _is_rule(text: str) -> bool:
    try:
        return parse_rule(text).kind not in ("", "latest")
    except WrongUsage:
        return False


def _unknown_option(name: str, value: object, hint: str = "") -> WrongUsage:
    near = difflib.get_close_matches(name, OPTIONS, 1)
    return WrongUsage(
        f"a join has no option {name!r}" + (f": did you mean {near[0]}?" if near else ""),
        found=repr(value),
        hint=hint or 'An input\'s rule is a text, as in imu="nearest 10ms"; options are the keys of a join.toml.',
    )


def _period(every: str | float | None) -> int | None:
    if every is None:
        return None
    try:
        period_ns = parse_duration(every) if isinstance(every, str) else round(every * 1e9)
    except (ValueError, TypeError, OverflowError):
        period_ns = 0
    if period_ns < _PERIOD_NS_MIN or isinstance(every, bool):
        raise WrongUsage(
            f"every is a duration from {duration(_PERIOD_NS_MIN)} on",
            found=repr(every),
            hint='Write every="100ms", or a number of seconds.',
        )
    return period_ns
