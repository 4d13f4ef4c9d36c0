# SPDX-License-Identifier: Apache-2.0
"""One sealed batch: its columns without a copy, its numbers, and the join's state after it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from framegate.joinbarrier.journal.checksum import batch_checksum
from framegate.joinbarrier.journal.layout import BATCH_KEY, STATE_KEY
from framegate.joinbarrier.journal.message import Message
from framegate.schema.errors import JournalDamaged

_NUMBER_MAX: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class BatchNumbers:
    """The numbers of a batch, from its ``framegate.batch`` metadata."""

    first_row: int
    rows: int
    generation: int
    seal: int
    """The journal's seal that made the batch, counted from 1."""
    sealed_at_ns: int
    """When the batch was sealed, in realtime."""
    crc32c: int

    @classmethod
    def parse(cls, text: bytes) -> BatchNumbers:
        """Read the padded JSON. Raises JournalDamaged."""
        try:
            found = json.loads(text)
            numbers = [found[name] for name in cls.__slots__]
        except (ValueError, KeyError, TypeError) as broken:
            raise JournalDamaged(f"the batch's numbers cannot be read: {broken!r}") from None
        if not all(type(number) is int and 0 <= number <= _NUMBER_MAX for number in numbers):
            raise JournalDamaged("the batch's numbers are none", have=numbers)
        return cls(*numbers)


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """Where a sealed batch lies, and its numbers. Its columns were not read."""

    numbers: BatchNumbers
    raw_state: bytes
    message: Message
    memory: memoryview
    """The memory of the whole segment."""

    @property
    def first_row(self) -> int:
        """The number of the batch's first row."""
        return self.numbers.first_row

    @property
    def end_row(self) -> int:
        """The number after the batch's final row."""
        return self.numbers.first_row + self.numbers.rows

    @property
    def state(self) -> Mapping[str, Any]:
        """The join's state after this batch."""
        try:
            found = json.loads(self.raw_state)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise JournalDamaged("the state is no JSON object", offset=self.message.offset, seal=self.numbers.seal)
        return found

    @property
    def column_bytes(self) -> int:
        """The size of the columns without the gaps between them. Raises JournalDamaged."""
        return sum(length for _, length in self.message.buffers())

    def check(self) -> None:
        """Compute the checksum again. Raises JournalDamaged if it differs."""
        numbers = self.numbers
        have = batch_checksum(self._buffers(), self.raw_state, numbers.first_row, numbers.rows, numbers.generation)
        if have != numbers.crc32c:
            raise JournalDamaged(
                "the check sum is wrong",
                first_row=self.first_row,
                rows=numbers.rows,
                offset=self.message.offset,
                want=f"{numbers.crc32c:08x}",
                have=f"{have:08x}",
            )

    def _buffers(self) -> Iterator[memoryview]:
        for offset, length in self.message.buffers():
            yield self.memory[offset : offset + length]


@dataclass(frozen=True, slots=True)
class Batch(BatchPlace):
    """A sealed batch with its columns. Any column that is held keeps its segment mapped, and locked against reuse."""

    record_batch: pa.RecordBatch

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Export the columns, so that ``pyarrow.record_batch(batch)`` and other Arrow libraries accept the batch."""
        found: tuple[object, object] = self.record_batch.__arrow_c_array__(requested_schema)
        return found


def place(message: Message, memory: memoryview) -> BatchPlace:
    """Read the batch in a message without its columns; ``memory`` is its segment. Raises JournalDamaged."""
    missing = {BATCH_KEY, STATE_KEY} - set(message.custom)
    if missing:
        raise JournalDamaged("the batch lacks its own metadata", missing=", ".join(sorted(missing)))
    numbers = BatchNumbers.parse(message.custom[BATCH_KEY])
    if numbers.rows != message.rows:
        raise JournalDamaged("two counts of the batch's rows differ", want=numbers.rows, have=message.rows)
    return BatchPlace(numbers, message.custom[STATE_KEY], message, memory)


def decode(found: BatchPlace, buffer: pa.Buffer, schema: pa.Schema) -> Batch:
    """Read the columns of a batch; ``buffer`` is its segment. Raises JournalDamaged."""
    message = found.message
    try:
        whole = buffer.slice(message.offset, message.end - message.offset)
        columns = pa.ipc.read_record_batch(whole, schema)
        # Validate fully: another process wrote the offsets inside the columns, and false ones would lead outside the
        # mapping.
        columns.validate(full=True)
    except (pa.ArrowException, OSError) as broken:
        raise JournalDamaged(f"the columns cannot be read: {broken}", offset=message.offset) from None
    return Batch(found.numbers, found.raw_state, message, found.memory, columns)
