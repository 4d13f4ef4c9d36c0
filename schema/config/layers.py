# SPDX-License-Identifier: Apache-2.0
"""Values from several sources laid over each other, remembering for each key where it came from."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from framegate.schema.config.toml_file import KeyPath, TomlFile


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A line and column of a file, from 1."""

    file: str
    line: int
    column: int

    def facts(self) -> dict[str, Any]:
        """What an error says about this origin."""
        return {"file": self.file, "line": self.line, "column": self.column}

    def order(self) -> tuple[int, int, int]:
        """Mistakes are reported in this order."""
        return 0, self.line, self.column


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable."""

    name: str

    def facts(self) -> dict[str, Any]:
        """What an error says about this origin."""
        return {"variable": self.name}

    def order(self) -> tuple[int, int, int]:
        """After everything in the file."""
        return 1, 0, 0


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the command line."""

    name: str

    def facts(self) -> dict[str, Any]:
        """What an error says about this origin."""
        return {"option": self.name}

    def order(self) -> tuple[int, int, int]:
        """After the environment."""
        return 2, 0, 0


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Nobody gave it: the default."""

    def facts(self) -> dict[str, Any]:
        """Nothing to point at."""
        return {}

    def order(self) -> tuple[int, int, int]:
        """After all that was given."""
        return 3, 0, 0


Origin = FilePlace | Variable | Option | BuiltIn


class Layers:
    """The values of a file, overlaid key by key by later sources."""

    def __init__(self, file: TomlFile | None) -> None:
        self.values: dict[str, Any] = copy.deepcopy(file.values) if file else {}
        self._file = file.file if file else ""
        self._places = dict(file.places) if file else {}
        self._given: dict[KeyPath, Origin] = {}

    def put(self, key: KeyPath, value: Any, origin: Origin) -> None:
        """Set one key, making the tables above it.

        Where the file has something else in place of such a table, the file's mistake stays to be reported.
        """
        table = self.values
        for step in key[:-1]:
            table = table.setdefault(str(step), {})
            if not isinstance(table, dict):
                return
        table[str(key[-1])] = value
        self._forget_below(key)
        self._given[key] = origin

    def _forget_below(self, key: KeyPath) -> None:
        # A whole value replaced the file's: the file's lines no longer tell where its parts stand.
        self._places = {known: place for known, place in self._places.items() if known[: len(key)] != key}
        self._given = {known: origin for known, origin in self._given.items() if known[: len(key)] != key}

    def is_given(self, key: KeyPath) -> bool:
        """Whether anybody wrote this key, or it is the default."""
        return key in self._given or key in self._places

    def origin(self, key: KeyPath, *, of_key: bool = False) -> Origin:
        """Where the value stands (or the key itself); for what nobody wrote, the table it would be in."""
        for length in range(len(key), 0, -1):
            known = key[:length]
            if known in self._given:
                return self._given[known]
            if place := self._places.get(known):
                if of_key or length < len(key):
                    return FilePlace(self._file, place.key_line, place.key_column)
                return FilePlace(self._file, place.value_line, place.value_column)
        return FilePlace(self._file, 1, 1) if self._file else BuiltIn()
