# SPDX-License-Identifier: Apache-2.0
"""Tables as TOML. The standard library reads TOML and does not write it; this writes what a join.toml holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(tables: Mapping[str, Any]) -> str:
    """The text of a file: each table, and a list of tables once for each of them.

    >>> tables = {"join": {"policy": "sequence"}, "input": [{"name": "a"}, {"name": "b", "offset": -2}]}
    >>> print(toml_text(tables), end="")
    [join]
    policy = "sequence"
    <BLANKLINE>
    [[input]]
    name = "a"
    <BLANKLINE>
    [[input]]
    name = "b"
    offset = -2
    """
    parts = []
    for name, table in tables.items():
        heading, each = (f"[[{name}]]", table) if isinstance(table, list) else (f"[{name}]", [table])
        parts += [_table(heading, values) for values in each]
    return "\n".join(parts)


def _table(heading: str, values: Mapping[str, Any]) -> str:
    return "\n".join([heading, *(f"{key} = {_value(value)}" for key, value in values.items()), ""])


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + " }"
    # JSON's texts, numbers, truth values and arrays of them are TOML's, as long as no text is written in escaped pairs.
    return json.dumps(value, ensure_ascii=False)
