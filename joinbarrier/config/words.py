# SPDX-License-Identifier: Apache-2.0
"""The rule of an input in words, as programs write it, and by a sign, as the command line has it.

| words | sign | which frame of the input a row takes |
|---|---|---|
| `offset N` | `:N` | the one whose number is the first input's plus N |
| `window N` | `/N` | the newest of the last N |
| `nearest D` | `~D` | the nearest in time, at most D away; by its sign each frame once |
| `newest D` | `<D` | the newest that is not later, at most D old |
| `latest` | `^` | the newest that is there, of any age; no row waits for another |

`, once` joins each frame once at most; `, optional` makes rows without the input too.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Final, Literal, NoReturn, TypeAlias

from framegate.schema.config.types import STREAM_NAME
from framegate.schema.errors import WrongUsage

Kind: TypeAlias = Literal["", "offset", "window", "nearest", "newest", "latest"]
_KINDS: Final[tuple[Kind, ...]] = ("offset", "window", "nearest", "newest", "latest")
_SIGNS: Final[dict[str, Kind]] = {":": "offset", "/": "window", "~": "nearest", "<": "newest", "^": "latest"}
_FRAMES: Final = ("offset", "window")
_TIMES: Final = ("nearest", "newest")
_UNITS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000}
_WORDS: Final = (
    "offset N, window N, nearest D, newest D, latest; then ', once' and ', optional' (N frames; D as in 10ms)"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What one input was given. Without a kind it goes in step with the first one."""

    kind: Kind = ""
    amount: int = 0
    """Frames, or nanoseconds."""
    is_once: bool = False
    is_optional: bool = False

    @property
    def is_by_time(self) -> bool:
        """Whether times of frames decide."""
        return self.kind in (*_TIMES, "latest")


def parse_rule(text: str, name: str = "") -> Rule:
    """The rule of an input from its words. Raises WrongUsage, with the words that there are.

    >>> parse_rule("nearest 10ms, once")
    Rule(kind='nearest', amount=10000000, is_once=True, is_optional=False)
    >>> parse_rule("offset -2, optional").amount
    -2
    """
    first, *rest = [word.strip() for word in text.split(",")]
    if unknown := [word for word in rest if word not in ("once", "optional")]:
        _refuse(name, text, unknown[0], ("once", "optional"))
    if first in ("once", "optional"):
        first, rest = "", [first, *rest]
    kind, _, amount = first.partition(" ")
    found = next((each for each in _KINDS if each == kind), None)
    if found is None and first:
        _refuse(name, text, kind, _KINDS)
    return Rule(found or "", _amount(found or "", amount.strip(), name, text), "once" in rest, "optional" in rest)


def parse_sign(word: str) -> tuple[str, Rule]:
    """An input of the command line: its name and its rule.

    >>> parse_sign("right:-2"), parse_sign("imu~10ms")[1].is_once
    (('right', Rule(kind='offset', amount=-2, is_once=False, is_optional=False)), True)
    """
    found = re.fullmatch(rf"({STREAM_NAME})(?:([:/~<^])(.*?))?(\?)?", word)
    if found is None:
        raise WrongUsage(
            "an input is a name, with a sign and a number where it has a rule",
            found=word,
            hint="Write left, right:-2 (offset), left/5 (window), imu~10ms (nearest), 'imu<10ms' (newest) or map^ "
            "(latest); a ? behind it makes the input optional.",
        )
    name, sign, amount, optional = found.groups()
    kind = _SIGNS[sign] if sign else ""
    return name, Rule(kind, _amount(kind, amount or "", name, word), kind == "nearest", optional is not None)


def parse_duration(text: str) -> int:
    """Nanoseconds of a number with its unit. Raises ValueError.

    >>> parse_duration("10ms"), parse_duration("1.5 s")
    (10000000, 1500000000)
    """
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,9})?)\s*(ns|us|µs|ms|s|min)", text.strip())
    if found is None:
        raise ValueError(text)
    return round(float(found[1]) * _UNITS[found[2]])


def _amount(kind: Kind, text: str, name: str, words: str) -> int:
    if kind in _FRAMES and re.fullmatch(r"[+-]?\d{1,9}", text):
        return int(text)
    if kind in _TIMES:
        try:
            return parse_duration(text)
        except ValueError:
            _refuse(name, words, text or kind, ())
    if kind in _FRAMES or text:
        _refuse(name, words, text or kind, ())
    return 0


def _refuse(name: str, words: str, wrong: str, known: tuple[str, ...]) -> NoReturn:
    near = difflib.get_close_matches(wrong, known, 1)
    raise WrongUsage(
        f"{wrong!r} is no part of a rule" + (f": did you mean {near[0]}?" if near else ""),
        **({"input": name} if name else {}),
        found=words,
        hint=f"A rule is one of: {_WORDS}. N counts frames; D is a duration, as in 10ms.",
    )
