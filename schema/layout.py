# SPDX-License-Identifier: Apache-2.0
"""Where each field of a message lies and what it may hold: the table behind every generated codec class.

The codecs do not look at it while all goes well. It explains a refused value, builds numpy dtypes, and lets tools
print any message.
"""

from __future__ import annotations

import operator
import reprlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from framegate.schema.errors import InvalidValue

if TYPE_CHECKING:
    import numpy as np

# numInGroup is a u16 whose all-ones value is SBE's null.
GROUP_ENTRIES_MAX: Final = 65534
LETTERS: Final = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a fixed block. ``count`` above 1: an array; uint8 arrays are ``bytes``."""

    name: str
    primitive: str
    offset: int
    count: int = 1
    null: int | None = None
    is_optional: bool = False
    enum: type[IntEnum] | None = None
    since: int = 0

    @property
    def size(self) -> int:
        return struct.calcsize("<" + LETTERS[self.primitive]) * self.count

    def problem(self, value: object) -> str | None:
        """What the field wants instead of this value; None when it can hold it."""
        if value is None:
            return None if self.is_optional else "a value: only optional fields may be None"
        if self.count == 1:
            return self._number_problem(value)
        if self.primitive == "uint8":
            return _bytes_problem(value, self.count)
        return self._array_problem(value)

    def _array_problem(self, value: Any) -> str | None:
        wanted = f"{self.count} numbers"
        try:
            items = list(value)
        except TypeError:
            return wanted
        if len(items) != self.count:
            return wanted
        return next((problem for problem in map(self._number_problem, items) if problem), None)

    def _number_problem(self, value: Any) -> str | None:
        low, high = limits(self.primitive)
        try:
            number = operator.index(value)
        except TypeError:
            return "an integer"
        if self.enum is not None:
            known = {int(member) for member in self.enum}
            return None if number in known else f"a {self.enum.__name__}: {', '.join(self.enum.__members__)}"
        if not low <= number <= high:
            return f"{low}..{high}"
        if self.is_optional and number == self.null != 0:
            return f"anything but {number}, which means null: leave the field out, or give None"
        return None


@dataclass(frozen=True, slots=True)
class Data:
    """Variable data: ASCII text or bytes."""

    name: str
    is_text: bool
    limit: int

    def problem(self, value: object) -> str | None:
        """What the field wants instead of this value; None when it can hold it."""
        if not self.is_text:
            problem = _bytes_problem(value, None)
            length = 0 if problem else memoryview(value).nbytes  # type: ignore[arg-type]
        else:
            problem = None if isinstance(value, str) and value.isascii() else "ASCII text"
            length = len(value) if isinstance(value, str) else 0
        return problem or (f"at most {self.limit} bytes" if length > self.limit else None)


@dataclass(frozen=True, slots=True)
class Group:
    """A repeating group and the class of its entries."""

    name: str
    entry: type[Block]

    def problem(self, value: Any) -> str | None:
        """What the field wants instead of this value; an entry's own trouble is raised at once."""
        if not isinstance(value, (tuple, list)):
            return f"a tuple of {self.entry.__qualname__}"
        if len(value) > GROUP_ENTRIES_MAX:
            return f"at most {GROUP_ENTRIES_MAX} entries"
        for entry in value:
            if not isinstance(entry, self.entry):
                return f"a tuple of {self.entry.__qualname__}"
            check_values(entry)
        return None


class Block(Protocol):
    """A message or a group entry."""

    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]]
    BLOCK_LENGTH: ClassVar[int]


def check_values(block: Block) -> None:
    """Raises InvalidValue for the first field whose value cannot be written."""
    for field in type(block).LAYOUT:
        value = getattr(block, field.name)
        wanted = field.problem(value)
        if wanted is not None:
            raise invalid(type(block).__qualname__, field.name, value, wanted)


def invalid(message: str, field: str, value: object, wanted: str) -> InvalidValue:
    """The error that names message and field; a long value is shortened."""
    return InvalidValue(f"wanted {wanted}", message=message, field=field, found=reprlib.repr(value))


def fixed_fields(kind: type[Block]) -> Iterator[Field]:
    """The fields of the fixed block, in the order of their offsets."""
    return (field for field in kind.LAYOUT if isinstance(field, Field))


def structured_dtype(kind: type[Block]) -> np.dtype[np.void]:
    """A packed numpy dtype of the fixed block; enums are plain integers, nulls are their sentinels."""
    import numpy as np  # light imports: only those who ask for arrays pay for numpy

    fields = list(fixed_fields(kind))
    formats = [np.dtype("<" + _NUMPY[field.primitive]) for field in fields]
    shaped = [
        np.dtype((one, (field.count,))) if field.count > 1 else one for one, field in zip(formats, fields, strict=True)
    ]
    return np.dtype(
        {
            "names": [field.name for field in fields],
            "formats": shaped,
            "offsets": [field.offset for field in fields],
            "itemsize": kind.BLOCK_LENGTH,
        }
    )


_NUMPY: Final = {
    "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8",
    "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
}  # fmt: skip


def limits(primitive: str) -> tuple[int, int]:
    """Smallest and largest value of a primitive type."""
    bits = int(primitive.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if primitive.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _bytes_problem(value: Any, length: int | None) -> str | None:
    wanted = "bytes" if length is None else f"{length} bytes"
    try:
        with memoryview(value) as view:
            have = view.nbytes
    except TypeError:
        return wanted
    return None if length is None or have == length else wanted
