# SPDX-License-Identifier: Apache-2.0
"""The join.toml of a join whose tables stand in the rig file: what was written there, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from framegate.tools.rig.sections import JoinPart

_TABLES: Final = {"join", "journal", "mergemap", "checkpoint", "input", "client"}


def join_toml(join: JoinPart) -> str:
    """Its text.

    >>> print(join_toml(JoinPart.model_validate({"input": [{"name": "left", "stream": 10001}]})), end="")
    [[input]]
    name = "left"
    stream = 10001
    """
    given = join.model_dump(mode="json", include=_TABLES, exclude_unset=True)
    return "\n".join(line for name, table in given.items() for line in _table(name, table)) + "\n"


def _table(name: str, value: Any) -> Iterator[str]:
    heads = [(f"[[{name}]]", each) for each in value] if isinstance(value, list) else [(f"[{name}]", value)]
    for head, keys in heads:
        yield head
        yield from (f"{key} = {_value(each)}" for key, each in keys.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + " }"
    # JSON's texts, numbers, booleans and arrays of them are TOML too, as long as no text is written in escaped pairs.
    return json.dumps(value, ensure_ascii=False)
