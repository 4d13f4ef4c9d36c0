# SPDX-License-Identifier: Apache-2.0
"""How things of the schema are called in the generated Python, and how its lines are broken."""

from __future__ import annotations

from typing import Final

from dev.codegen.model import Group, Message, snake_case

WIDTH: Final = 120


def constant(name: str) -> str:
    return snake_case(name).upper()


def entry_struct(message: Message, group: Group) -> str:
    return f"{constant(message.name)}_{constant(group.entry)}"


def wrapped(before: str, parts: list[str], after: str) -> str:
    """A call in the layout of the formatter: on one line, else with its arguments on the next, else one on each."""
    line = f"{before}{', '.join(parts)}{after}\n"
    if len(line) <= WIDTH + 1:
        return line
    indent = " " * (len(before) - len(before.lstrip()))
    line = f"{indent}    {', '.join(parts)}\n"
    if len(line) > WIDTH + 1:
        line = "".join(f"{indent}    {part},\n" for part in parts)
    return f"{before}\n{line}{indent}{after}\n"
