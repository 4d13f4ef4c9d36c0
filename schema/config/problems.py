# SPDX-License-Identifier: Apache-2.0
"""Turns what a model refuses into numbered errors that say where the value stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from framegate.schema.config.keys import dotted, nearest_key
from framegate.schema.config.layers import Layers, Origin
from framegate.schema.config.toml_file import KeyPath
from framegate.schema.config.types import Conflict, Section
from framegate.schema.errors import ConfigurationError, ConflictingKeys, MissingKey, UnknownKey, WrongType
from pydantic import ValidationError
from pydantic_core import ErrorDetails

_FOUND_CHARACTERS_MAX: Final = 80

# What TOML calls the things that the models name in Python's words; the rest of them read well as they are.
_WANTED: Final = {
    "model_type": "a table",
    "dict_type": "a table",
    "list_type": "an array",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
    "wanted": "{wanted}",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake and where it was made."""

    origin: Origin
    error: ConfigurationError


def raise_first(problems: list[Problem]) -> NoReturn:
    """Raise the first mistake, in the order of the file, and say how many there are besides."""
    first, *others = sorted(problems, key=_order)
    if others:
        first.error.facts["further"] = len(others)
    raise first.error


def _order(problem: Problem) -> tuple[bool, tuple[int, int, int]]:
    # Missing keys come last: often one is missing because it was mistyped, and then that is what to say.
    return isinstance(problem.error, MissingKey), problem.origin.order()


def translate(model: type[Section], error: ValidationError, layers: Layers) -> Iterator[Problem]:
    """Every mistake of a validation, in no particular order."""
    for details in error.errors(include_url=False):
        match details["type"]:
            case "default_factory_not_called":
                # A default that derives from a value which is itself refused: one mistake, not two.
                continue
            case "conflicts":
                yield from (_conflict(details["loc"], conflict, layers) for conflict in details["ctx"]["conflicts"])
            case "extra_forbidden":
                yield _unknown(model, details, layers)
            case "missing":
                yield _missing(details, layers)
            case _:
                yield _wrong(details, layers)


def _unknown(model: type[Section], details: ErrorDetails, layers: Layers) -> Problem:
    path = details["loc"]
    origin, nearest = layers.origin(path, of_key=True), nearest_key(model, path)
    message = f"no such key; the nearest is {nearest}"
    return Problem(origin, UnknownKey(message, **origin.facts(), key=dotted(path), nearest=nearest))


def _missing(details: ErrorDetails, layers: Layers) -> Problem:
    path = details["loc"]
    origin = layers.origin(path)
    return Problem(origin, MissingKey("this key has no default", **origin.facts(), key=dotted(path)))


def _wrong(details: ErrorDetails, layers: Layers) -> Problem:
    path = details["loc"]
    origin, wanted, found = layers.origin(path), _wanted(details), _found(path, details["input"])
    message = f"wanted {wanted}, found {found}"
    return Problem(origin, WrongType(message, **origin.facts(), key=dotted(path), wanted=wanted, found=found))


def _conflict(table: KeyPath, conflict: Conflict, layers: Layers) -> Problem:
    # A model names its own keys; the table that it is of stands above them.
    key, other = (*table, *conflict.key), (*table, *conflict.other)
    if not layers.is_given(key) and layers.is_given(other):
        # Point at what somebody wrote, not at a default.
        key, other = other, key
    origin = layers.origin(key)
    return Problem(origin, ConflictingKeys(conflict.message, **origin.facts(), key=dotted(key), other=dotted(other)))


def _wanted(details: ErrorDetails) -> str:
    if template := _WANTED.get(details["type"]):
        return template.format(**details.get("ctx", {}))
    return details["msg"].removeprefix("Input should be ").removeprefix("Value error, ")


def _found(path: tuple[str | int, ...], value: Any) -> str:
    if dotted(path).endswith("token"):
        return "(a secret)"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _FOUND_CHARACTERS_MAX else f"{text[:_FOUND_CHARACTERS_MAX]}…"
