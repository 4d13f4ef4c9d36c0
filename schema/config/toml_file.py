# SPDX-License-Identifier: Apache-2.0
"""A TOML file as read: its values, and where each of them stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from framegate.schema.errors import FileMissing, InvalidToml

KeyPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Line and column, from 1, of a key and of its value."""

    key_line: int
    key_column: int
    value_line: int
    value_column: int


@dataclass(frozen=True, slots=True)
class TomlFile:
    """The values of a file and the place of every key path; ``file`` is the path as it was given."""

    file: str
    values: dict[str, Any]
    places: Mapping[KeyPath, Place]


def read_toml(path: Path) -> TomlFile:
    """Read a file. Raises FileMissing, or InvalidToml with file, line and column."""
    # Imported here: most commands never read a file, and the doctor must start where the extension does not load.
    from framegate._native import parse_toml

    text = _text(path)
    try:
        values, places = parse_toml(text)
    except InvalidToml as error:
        facts: dict[str, Any] = error.facts
        raise InvalidToml(error.message, file=str(path), **facts) from None
    return TomlFile(str(path), values, {key: Place(*place) for key, place in places.items()})


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileMissing("cannot be read", file=str(path), reason=error.strerror or str(error)) from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        before = content[content.rfind(b"\n", 0, error.start) + 1 : error.start]
        column = len(before.decode("utf-8")) + 1
        raise InvalidToml("this byte is not UTF-8", file=str(path), line=line, column=column) from None
