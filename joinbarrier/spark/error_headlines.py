# SPDX-License-Identifier: Apache-2.0
"""Errors as Spark shows them: Spark prints a Python traceback, and its first line is to be the number and the facts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final, ParamSpec, TypeVar

from framegate.schema.errors import DataLoss, FramegateError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LOSS_HINT: Final = (
    'Give the query a readerName, and the journal when_full = "block" or more max_bytes; '
    "or set failOnDataLoss to false, and what was lost is counted in the log."
)


class Headline(Exception):
    """What a traceback begins with: the cause of the error, which says the same and has no traceback of its own."""


def with_headline(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """For a method that Spark calls: a numbered error leaves it with its number in the traceback's first line."""

    @functools.wraps(method)
    def calling(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return method(*args, **kwargs)
        except FramegateError as error:
            raise _for_spark(error) from Headline(str(error))

    return calling


def read_with_headline(rows: Iterator[Any]) -> Iterator[Any]:
    """The same for what a task yields."""
    try:
        yield from rows
    except FramegateError as error:
        raise _for_spark(error) from Headline(str(error))


def _for_spark(error: FramegateError) -> FramegateError:
    # Where it was raised matters to nobody who reads a query's log; the lines would stand before what does.
    error.__traceback__ = None
    if isinstance(error, DataLoss):
        error.hint = _LOSS_HINT
    return error
