# SPDX-License-Identifier: Apache-2.0
"""Messages of numbers as arrays: all numbers of a message in the order of its schema, and the columns' names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.recording.message_fields import Fields, Kind, Messages, Unreadable, leaves

_COLUMNS_NAMED: Final = 1_000


def dtype_of(fields: Fields) -> np.dtype[Any] | None:
    """The type that holds the numbers of all fields; None if there are no numbers, or bytes besides them.

    >>> from framegate.recording.message_fields import Field
    >>> dtype_of((Field("x", Kind.NUMBER, dtype=np.dtype("f4")), Field("id", Kind.NUMBER, dtype=np.dtype("u2"))))
    dtype('float32')
    >>> from framegate.recording.message_fields import Field
    >>> dtype_of((Field("name", Kind.TEXT),)) is None
    True
    """
    found = [field for field in leaves(fields) if field.kind is not Kind.TEXT]
    dtypes = [field.dtype for field in found if field.dtype is not None]
    return np.result_type(*dtypes) if dtypes and len(dtypes) == len(found) else None


def array_of(messages: Messages, message: Any, fields: Fields, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The numbers of a message as an array. Raises ``Unreadable``."""
    parts: list[npt.NDArray[Any]] = []
    scalars: list[Any] = []
    try:
        for value in _values(messages, message, fields):
            if isinstance(value, int | float):
                scalars.append(value)
            else:
                parts += [np.array(scalars, dtype), np.asarray(value).astype(dtype)]
                scalars = []
        return np.concatenate([*parts, np.array(scalars, dtype)])
    except (ValueError, TypeError, OverflowError) as failure:
        raise Unreadable(f"its numbers make no array: {failure}") from failure


def _values(messages: Messages, message: Any, fields: Fields) -> Iterator[Any]:
    for field in fields:
        value = messages.value(message, field.name)
        if field.kind is Kind.MESSAGE:
            for inner in _each(value) if field.is_many else (value,):
                yield from _values(messages, inner, field.fields)
        elif field.kind is Kind.NUMBER:
            if field.is_many:
                yield [] if value is None else value
            else:
                # A JSON message may leave a number out.
                yield value if isinstance(value, int | float) else float("nan")


def _each(value: Any) -> Iterable[Any]:
    return value if value is not None and not isinstance(value, str) else ()


def columns_of(messages: Messages, message: Any, fields: Fields) -> list[str]:
    """The names of a message's columns. All numbers of one field share a name, as in ``ranges[0:360]``."""
    found: list[str] = []
    for name in _names(messages, message, fields, ""):
        if len(found) == _COLUMNS_NAMED:
            return [*found, "..."]
        found.append(name)
    return found


def _names(messages: Messages, message: Any, fields: Fields, before: str) -> Iterator[str]:
    for field in fields:
        name = f"{before}{field.name}"
        value = messages.value(message, field.name)
        if field.kind is Kind.MESSAGE:
            if not field.is_many:
                yield from _names(messages, value, field.fields, f"{name}.")
                continue
            for index, inner in enumerate(_each(value)):
                yield from _names(messages, inner, field.fields, f"{name}[{index}].")
        elif field.kind is Kind.NUMBER:
            yield f"{name}[0:{0 if value is None else len(value)}]" if field.is_many else name
