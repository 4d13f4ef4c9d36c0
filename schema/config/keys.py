# SPDX-License-Identifier: Apache-2.0
"""The keys that a configuration model knows: walking its tables, and finding the nearest to a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from framegate.schema.config.toml_file import KeyPath
from framegate.schema.config.types import Section


def plain(annotation: Any) -> Any:
    """The type without ``Annotated`` and without ``| None``.

    >>> plain(Annotated[int | None, "unit"])
    <class 'int'>
    """
    if get_origin(annotation) is Annotated:
        return plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        members = [member for member in get_args(annotation) if member is not NoneType]
        return plain(members[0]) if len(members) == 1 else annotation
    return annotation


def section(annotation: Any) -> type[Section] | None:
    """The model of a table, or None where the annotation is something else."""
    kind = plain(annotation)
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def named_section(annotation: Any) -> type[Section] | None:
    """The model of each table in a table of named ones (``profiles.NAME``), or None."""
    kind = plain(annotation)
    return section(get_args(kind)[1]) if get_origin(kind) is dict else None


def table_at(model: type[Section], path: KeyPath) -> type[Section] | None:
    """The model of the table at ``path``, or None where there is none."""
    annotation: Any = model
    for step in path:
        annotation = _below(annotation, step)
    return section(annotation)


def _below(annotation: Any, step: str | int) -> Any:
    if model := section(annotation):
        field = model.model_fields.get(str(step))
        return field.annotation if field else None
    kind = plain(annotation)
    if get_origin(kind) is dict:
        return get_args(kind)[1]
    return get_args(kind)[0] if get_origin(kind) in (list, tuple) else None


def dotted_keys(model: type[Section], above: str = "") -> Iterator[str]:
    """Every key of every table, dotted; the names of named tables stand as ``NAME``."""
    for name, field in model.model_fields.items():
        yield above + name
        if inner := section(field.annotation):
            yield from dotted_keys(inner, f"{above}{name}.")
        elif inner := named_section(field.annotation):
            yield from dotted_keys(inner, f"{above}{name}.NAME.")


def nearest_key(model: type[Section], path: KeyPath) -> str:
    """The known key that was probably meant: of that name in another table, else the most similar in this one."""
    table, key = table_at(model, path[:-1]) or model, str(path[-1])
    siblings = list(table.model_fields)
    elsewhere = [known for known in dotted_keys(model) if known.rpartition(".")[2] == key]
    return next(iter([*elsewhere, *difflib.get_close_matches(key, siblings, 1, 0.0)]), "")


def dotted(path: KeyPath) -> str:
    """A path as it is written, array indices in brackets from 0.

    >>> dotted(("input", 1, "stream"))
    'input[1].stream'
    """
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")
