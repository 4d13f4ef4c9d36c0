# SPDX-License-Identifier: Apache-2.0
"""The time in a message of another program, found by the message's schema.

A time is two numbers, seconds and nanoseconds, whatever a schema calls them. The own time of a message is the one that
it begins with, or that is called ``timestamp`` or ``stamp``, at its head or in its ``header``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from framegate.recording.message_fields import Field, Fields, Kind, Messages, named
from framegate.schema.errors import WrongUsage

LOG, HEADER = "log", "header"
_SECOND_NS: Final = 1_000_000_000
_TIME_MAX: Final = (1 << 63) - 1
_SECONDS: Final = {"sec", "secs", "seconds"}
_NANOSECONDS: Final = {"nsec", "nsecs", "nanosec", "nanos", "nanoseconds"}
_NAMES: Final = ("timestamp", "stamp")
_HEADER: Final = "header"


def parse_times(text: str) -> str:
    """Parse ``--time``: the kind of time that messages of other programs get.

    >>> parse_times("header")
    'header'
    """
    if text not in (LOG, HEADER):
        raise WrongUsage("--time is log or header", found=text)
    return text


@dataclass(frozen=True, slots=True)
class Stamp:
    """The place of a message's own time."""

    path: tuple[str, ...]
    seconds: str
    nanoseconds: str

    def __str__(self) -> str:
        return ".".join(self.path)

    def time_ns(self, messages: Messages, message: Any) -> int | None:
        """The time in nanoseconds. None if it is 0, as senders leave it that do not set it, or is invalid."""
        for name in self.path:
            message = messages.value(message, name)
            if message is None:
                return None
        seconds, nanoseconds = messages.value(message, self.seconds), messages.value(message, self.nanoseconds)
        if type(seconds) is not int or type(nanoseconds) is not int or not 0 <= nanoseconds < _SECOND_NS:
            return None
        found = seconds * _SECOND_NS + nanoseconds
        return found if 0 < found <= _TIME_MAX else None

    def left_out_of(self, fields: Fields) -> Fields:
        """The other fields of a message. A header is left out as a whole."""
        return _without(fields, self.path)


def _without(fields: Fields, path: tuple[str, ...]) -> Fields:
    if path[0] == _HEADER or len(path) == 1:
        return tuple(field for field in fields if field.name != path[0])
    return tuple(
        replace(field, fields=_without(field.fields, path[1:])) if field.name == path[0] else field for field in fields
    )


def stamp_of(fields: Fields) -> Stamp | None:
    """The place of the own time in messages with these fields; None if there is none."""
    heads = [*fields[:1], *(field for name in (_HEADER, *_NAMES) if (field := named(fields, name)) is not None)]
    for head in heads:
        if (found := _time(head, (head.name,))) is not None:
            return found
        for name in _NAMES if head.kind is Kind.MESSAGE and not head.is_many else ():
            inner = named(head.fields, name)
            if inner is not None and (found := _time(inner, (head.name, name))) is not None:
                return found
    return None


def _time(field: Field, path: tuple[str, ...]) -> Stamp | None:
    """The field as a time; None if it is something else. A duration looks the same, but is not a time."""
    names = {inner.name for inner in field.fields if inner.kind is Kind.NUMBER and not inner.is_many}
    seconds, nanoseconds = names & _SECONDS, names & _NANOSECONDS
    is_time = field.kind is Kind.MESSAGE and not field.is_many and not field.type.lower().endswith("duration")
    if not is_time or len(names) != 2 or not seconds or not nanoseconds:
        return None
    return Stamp(path, seconds.pop(), nanoseconds.pop())
