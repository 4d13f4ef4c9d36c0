# SPDX-License-Identifier: Apache-2.0
"""The kinds of value that configuration keys have, each with its range and the words that describe it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from framegate.schema.config.toml_file import KeyPath
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

U32_MAX: Final = 2**32 - 1


class Section(BaseModel):
    """A table of a configuration file. Strict: TOML has types, so text is never taken for a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True, slots=True)
class EnvironmentName:
    """A second, shorter variable for a key: ``Annotated[str, EnvironmentName("AERON_DIR")]``.

    The prefix goes in front. Where both are set, the variable with the full name of the key wins.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two keys, of the model that finds it, whose values are each allowed and cannot stand together."""

    key: KeyPath
    other: KeyPath
    message: str


STREAM_NAME: Final = r"[a-z][a-z0-9_]{0,63}"


@dataclass(frozen=True, slots=True)
class Context:
    """What a model's values are read by, beside the file: how a stream's name becomes its number."""

    stream_of: Callable[[str], int]


def refuse(conflicts: list[Conflict]) -> None:
    """Called by a model's own validator: hand all conflicts to the loader, which knows their places."""
    if conflicts:
        raise PydanticCustomError("conflicts", "{message}", {"message": conflicts[0].message, "conflicts": conflicts})


def wanted(what: str) -> PydanticCustomError:
    """The error of a value that is not ``what``; the loader adds where it stands and what was found."""
    return PydanticCustomError("wanted", "{wanted}", {"wanted": what})


@dataclass(frozen=True, slots=True)
class IdRange:
    """Stream ids from ``first`` to ``last``, both included."""

    first: int
    last: int

    def __contains__(self, stream_id: object) -> bool:
        return isinstance(stream_id, int) and self.first <= stream_id <= self.last

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def instead_of(self, stream_id: int) -> int:
        """An id of the range to take for one that is not in it, the same one each time.

        >>> [IdRange(10_000, 29_999).instead_of(stream) for stream in (1, 42, 30_001)]
        [10001, 10042, 10001]
        """
        return self.first + stream_id % 10_000 % len(self)

    def overlaps(self, other: IdRange) -> bool:
        """Whether an id lies in both.

        >>> IdRange(1, 5).overlaps(IdRange(5, 9)), IdRange(1, 4).overlaps(IdRange(5, 9))
        (True, False)
        """
        return self.first <= other.last and other.first <= self.last


BUILT_IN_STREAMS: Final = IdRange(10_000, 29_999)
"""The streams that a driver serves whose file names none."""


def _id_range(value: Any) -> IdRange | None:
    match value:
        case None | "" | []:
            return None
        case IdRange():
            return value
        case str() if found := re.fullmatch(r"\s*(\d{1,10})\s*-\s*(\d{1,10})\s*", value):
            return _ordered(int(found[1]), int(found[2]))
        case [first, last] if type(first) is int and type(last) is int:
            return _ordered(first, last)
    raise wanted('a range "first-last" or [first, last] of stream ids')


def _ordered(first: int, last: int) -> IdRange:
    if not 0 <= first <= last <= U32_MAX:
        raise wanted(f"a range whose first id is not above its last, within 0-{U32_MAX}")
    return IdRange(first, last)


_UNITS: Final = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def _size(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*(\d{1,15})\s*(B|KiB|MiB|GiB|TiB)?\s*", value)
    if found is None:
        raise wanted('a number of bytes, or text such as "64KiB" or "1GiB"')
    return int(found[1]) * _UNITS[found[2] or ""]


def _power_of_two(value: int) -> int:
    if value.bit_count() != 1:
        raise wanted("a power of two")
    return value


def _mode(value: str) -> str:
    if not re.fullmatch(r"0?[0-7]{3}", value) or int(value, 8) & 0o607 != 0o600:
        raise wanted('an octal file mode such as "600" or "660" that lets the owner read and write, and others nothing')
    return value


def _directory(value: str) -> str:
    # It becomes part of shm: URIs, whose paths end at a space, a question mark or a bar (PROTOCOL: URIs).
    if not re.fullmatch(r"/[!->@-{}~]*", value):
        raise wanted("an absolute path of visible ASCII without space, ? and |")
    return value


def _name(value: str) -> str:
    # It becomes a directory name: nothing that could climb out of the base directory.
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", value):
        raise wanted("1 to 64 letters, digits, - and _")
    return value


def _descriptor_streams(value: Any) -> Any:
    # Keys of a TOML table are text; a variable may also hold "10001=1101,10002=1102".
    if isinstance(value, str):
        value = {key: number for key, _, number in (pair.partition("=") for pair in value.split(","))}
    if not isinstance(value, dict):
        raise wanted(_PAIRS)
    return {_number(stream): _number(descriptors) for stream, descriptors in value.items()}


def _number(value: Any) -> int:
    number = int(value) if isinstance(value, str) and re.fullmatch(r"\s*\d{1,10}\s*", value) else value
    if type(number) is not int or not 0 <= number <= U32_MAX:
        raise wanted(_PAIRS)
    return number


_PAIRS: Final = "stream ids with the Aeron streams of their descriptors, such as { 10001 = 1101 }"


def _stream(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    if not re.fullmatch(STREAM_NAME, value):
        raise wanted("a stream's number, or its name: small letters, digits and _, 64 at most")
    if not isinstance(info.context, Context):
        raise wanted("a stream's number: nobody is there to look up a name")
    return info.context.stream_of(value)


U16 = Annotated[int, Field(ge=0, le=2**16 - 1)]
U32 = Annotated[int, Field(ge=0, le=U32_MAX)]
U64 = Annotated[int, Field(ge=0, le=2**64 - 1)]
PositiveU32 = Annotated[int, Field(ge=1, le=U32_MAX)]
AeronStream = Annotated[int, Field(ge=1, le=2**31 - 1)]
PowerOfTwo = Annotated[int, Field(ge=1, le=2**31), AfterValidator(_power_of_two)]
Size = Annotated[int, BeforeValidator(_size), Field(ge=0, le=2**63 - 1)]
PowerOfTwoSize = Annotated[Size, AfterValidator(_power_of_two)]
FileMode = Annotated[str, AfterValidator(_mode)]
Directory = Annotated[str, AfterValidator(_directory)]
Name = Annotated[str, AfterValidator(_name)]
StreamId = Annotated[int, BeforeValidator(_stream), Field(ge=1, le=U32_MAX - 1)]
"""A stream's number, or its name where a `Context` is given."""
DescriptorStreams = Annotated[dict[int, AeronStream], BeforeValidator(_descriptor_streams)]
OptionalIdRange = Annotated[IdRange | None, BeforeValidator(_id_range)]
