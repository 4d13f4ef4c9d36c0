# SPDX-License-Identifier: Apache-2.0
"""Configuration keys from environment variables: which variable is which key, and what its text means."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_origin

from framegate.schema.config.keys import named_section, plain, section
from framegate.schema.config.layers import Variable
from framegate.schema.config.problems import Problem
from framegate.schema.config.toml_file import KeyPath
from framegate.schema.config.types import EnvironmentName, Section
from framegate.schema.errors import InvalidToml, UnknownKey
from pydantic.fields import FieldInfo


@dataclass(frozen=True, slots=True)
class SetVariable:
    """A variable that is set and names a key."""

    name: str
    key: KeyPath
    value: Any


def variables(
    model: type[Section], prefix: str, environment: Mapping[str, str], values: Mapping[str, Any], above: KeyPath = ()
) -> Iterator[SetVariable]:
    """Those of ``environment`` that are keys of ``model``. ``values`` is the file's table, for its names."""
    for name, field in model.model_fields.items():
        below = values.get(name)
        table = below if isinstance(below, dict) else {}
        long_name, key = prefix + name.upper(), (*above, name)
        if inner := section(field.annotation):
            yield from variables(inner, f"{long_name}_", environment, table, key)
        elif inner := named_section(field.annotation):
            yield from _of_named_tables(inner, f"{long_name}_", environment, table, key)
        elif chosen := _chosen(field, long_name, prefix, above, environment):
            yield SetVariable(chosen, key, _meaning(field, environment[chosen]))


def _chosen(
    field: FieldInfo, long_name: str, prefix: str, above: KeyPath, environment: Mapping[str, str]
) -> str | None:
    root = prefix.removesuffix("".join(f"{step}_".upper() for step in above))
    short = [root + other.name for other in field.metadata if isinstance(other, EnvironmentName)]
    # An empty variable is how a shell says "not set".
    return next((name for name in [long_name, *short] if environment.get(name)), None)


def _of_named_tables(
    model: type[Section], prefix: str, environment: Mapping[str, str], tables: Mapping[str, Any], above: KeyPath
) -> Iterator[SetVariable]:
    """``PROFILES_CAMERA_HEADER_NSLOTS``: the table that the file calls ``camera``, in any case, or a new one."""
    known = {_as_variable(name): name for name in tables}
    for name in sorted(_table_names(model, prefix, environment)):
        table = known.get(name, name.lower())
        values = tables.get(table)
        below = values if isinstance(values, dict) else {}
        yield from variables(model, f"{prefix}{name}_", environment, below, (*above, table))


def _table_names(model: type[Section], prefix: str, environment: Mapping[str, str]) -> set[str]:
    # The longest key that fits wins: "a_stream_id" is table "a" with "stream_id", not table "a_stream" with "id".
    endings = sorted((f"_{name.upper()}" for name in model.model_fields), key=len, reverse=True)
    rests = [name.removeprefix(prefix) for name in environment if name.startswith(prefix)]
    cut = (rest.removesuffix(next(filter(rest.endswith, endings), rest)) for rest in rests)
    return {name for name in cut if name}


def _as_variable(name: str) -> str:
    return name.upper().replace("-", "_").replace(".", "_")


def _meaning(field: FieldInfo, text: str) -> Any:
    """Text keys take the text as it is; all others take what TOML would, and lists also commas."""
    kind = plain(field.annotation)
    if kind is str or get_origin(kind) is Literal:
        return text
    # Imported here for the same reason as in toml_file.
    from framegate._native import parse_toml

    try:
        values, _ = parse_toml(f"value = {text}")
    except InvalidToml:
        return [part.strip() for part in text.split(",")] if get_origin(kind) is list else text
    return values["value"]


def unknown_variables(
    model: type[Section], prefix: str, environment: Mapping[str, str], used: set[str]
) -> Iterator[Problem]:
    """Variables that begin like one of the model's tables and are no key of it: a mistyped name must not pass."""
    starts = tuple(
        f"{prefix}{name.upper()}_"
        for name, field in model.model_fields.items()
        if section(field.annotation) or named_section(field.annotation)
    )
    known = sorted(known_names(model, prefix))
    for name in sorted(environment):
        if name.startswith(starts) and name not in used and environment[name] and name not in known:
            yield _unknown(name, known)


def known_names(model: type[Section], prefix: str) -> Iterator[str]:
    """The variable of each key; NAME stands in it for the name of a table that the user gives."""
    for name, field in model.model_fields.items():
        if inner := section(field.annotation):
            yield from known_names(inner, f"{prefix}{name.upper()}_")
        elif inner := named_section(field.annotation):
            yield from (f"{prefix}{name.upper()}_NAME_{key.upper()}" for key in inner.model_fields)
        else:
            yield prefix + name.upper()


def _unknown(name: str, known: list[str]) -> Problem:
    nearest = next(iter(difflib.get_close_matches(name, known, 1, 0.0)), "")
    origin = Variable(name)
    return Problem(origin, UnknownKey(f"no such key; the nearest is {nearest}", **origin.facts(), nearest=nearest))
