# SPDX-License-Identifier: Apache-2.0
"""One segment: opened, locked against reuse, mapped, and read message by message.

The lock belongs to the open file, of which the mapping holds a duplicate. So the kernel releases it when the final view
into the segment is gone, and until then the writer does not reuse the file.
"""

from __future__ import annotations

import fcntl
import functools
import json
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from framegate.joinbarrier.journal.batch import Batch, BatchPlace, decode, place
from framegate.joinbarrier.journal.layout import ARROW_MAGIC, FOLDERS, FORMAT, SEGMENT_KEY, SegmentName, Table
from framegate.joinbarrier.journal.message import Ending, Kind, Message, read_message
from framegate.joinbarrier.journal.naming import naming
from framegate.schema.errors import JournalDamaged, JournalNewer

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """The description of a segment, from its ``framegate.segment`` metadata."""

    table: str
    out_stream: int
    journal_epoch: int
    ordinal: int
    generation: int
    """How often the file has been used. Batches of an earlier use carry another number."""


class Segment:
    """A mapped segment. It stays readable after a rename, and even after its file was removed."""

    def __init__(self, path: Path, name: SegmentName, mapped: mmap.mmap) -> None:
        self.path = path
        self.name = name
        self._map = mapped
        self._memory = memoryview(mapped)
        self._buffer = pa.py_buffer(mapped)
        schema_message = self._schema_message()
        self.first_offset = schema_message.end
        self.schema, self.facts = self._described(schema_message)

    @classmethod
    def open(cls, directory: Path, name: SegmentName, table: Table) -> Segment | None:
        """Map a segment. None if it is gone or not ready yet; then list the directory again.

        Raises JournalDamaged for a file that is no segment, and JournalNewer.
        """
        for candidate in {name: None, name.finished(): None}:
            path = directory / FOLDERS[table] / str(candidate)
            try:
                mapped = _mapped(path)
            except FileNotFoundError:
                continue
            except OSError as refused:
                raise JournalDamaged(f"not a file to map: {refused.strerror}", path=path) from None
            if mapped is None:
                return None
            return cls._checked(path, candidate, mapped)
        return None

    @classmethod
    def _checked(cls, path: Path, name: SegmentName, mapped: mmap.mmap) -> Segment | None:
        if name.is_open and _is_blank(mapped):
            return None
        with naming(path):
            segment = cls(path, name, mapped)
        if segment.facts.ordinal != name.ordinal:
            raise JournalDamaged("the name lies", path=path, want=name.ordinal, have=segment.facts.ordinal)
        return segment

    @functools.cached_property
    def journal_path(self) -> Path:
        """The journal's own directory without links, so that other processes can use it."""
        return self.path.parent.parent.resolve()

    @property
    def memory(self) -> memoryview:
        """The mapped file, read-only."""
        return self._memory

    @property
    def file_bytes(self) -> int:
        """The file's present size. A segment may be shortened to its content, but never further."""
        return min(self._map.size(), len(self._memory))

    def read(self, offset: int) -> Batch | Ending:
        """The batch at ``offset``, or why there is none. Raises JournalDamaged."""
        found = self.place(offset)
        if isinstance(found, Ending):
            return found
        with naming(self.path):
            return decode(found, self._buffer, self.schema)

    def place(self, offset: int) -> BatchPlace | Ending:
        """The batch at ``offset`` without its columns, which says only where rows lie. Raises JournalDamaged."""
        with naming(self.path):
            message = read_message(self._memory, offset, self.file_bytes)
            if isinstance(message, Ending):
                return message
            if message.kind is not Kind.RECORD_BATCH:
                raise JournalDamaged("a second schema", offset=offset)
            return self._of_this_use(place(message, self._memory))

    def _of_this_use(self, batch: BatchPlace) -> BatchPlace | Ending:
        want, have = self.facts.generation, batch.numbers.generation
        if want == have:
            return batch
        if self.name.is_open:
            return Ending.NOT_YET
        raise JournalDamaged("a batch of another use of the file", generation=want, have=have)

    def footer_batches(self) -> int:
        """How many batches the footer of a finished segment lists. Raises JournalDamaged."""
        try:
            return int(pa.ipc.open_file(self._buffer).num_record_batches)
        except (pa.ArrowException, OSError) as broken:
            raise JournalDamaged(f"the footer cannot be read: {broken}", path=self.path) from None

    def _schema_message(self) -> Message:
        if bytes(self._memory[: len(ARROW_MAGIC)]) != ARROW_MAGIC:
            raise JournalDamaged("not an Arrow file", have=bytes(self._memory[: len(ARROW_MAGIC)]).hex())
        message = read_message(self._memory, len(ARROW_MAGIC), self.file_bytes)
        if isinstance(message, Ending) or message.kind is not Kind.SCHEMA:
            raise JournalDamaged("the segment does not begin with a schema")
        return message

    def _described(self, message: Message) -> tuple[pa.Schema, SegmentFacts]:
        try:
            schema = pa.ipc.read_schema(self._buffer.slice(message.offset, message.end - message.offset))
        except (pa.ArrowException, OSError) as broken:
            raise JournalDamaged(f"the schema cannot be read: {broken}") from None
        text = (schema.metadata or {}).get(SEGMENT_KEY.encode())
        if text is None:
            raise JournalDamaged("an Arrow file, but no segment of a journal", missing=SEGMENT_KEY)
        return schema.remove_metadata(), _facts(text)


def _mapped(path: Path) -> mmap.mmap | None:
    descriptor = os.open(path, _FLAGS)
    try:
        # Do not wait for the lock: an exclusive one means that the file is about to become another segment.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_size == 0 or not _is_still(path, descriptor):
            return None
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except BlockingIOError:
        return None
    except ValueError:
        return None  # The file was just emptied.
    finally:
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the name still leads to this file, now that it is locked. A name that only lost ``.open`` does too."""
    for name in (path, path.with_suffix(".arrow")):
        try:
            if os.path.samestat(name.stat(follow_symlinks=False), os.fstat(descriptor)):
                return True
        except FileNotFoundError:
            continue
    return False


def _is_blank(mapped: mmap.mmap) -> bool:
    """Whether the writer has not yet written the schema."""
    return len(mapped) < 2 * len(ARROW_MAGIC) or not any(mapped[len(ARROW_MAGIC) : 2 * len(ARROW_MAGIC)])


def _facts(text: bytes) -> SegmentFacts:
    try:
        found: dict[str, Any] = json.loads(text)
        if found["format"] > FORMAT:
            raise JournalNewer("a later format", want=FORMAT, have=found["format"])
        return SegmentFacts(
            table=str(found["table"]),
            out_stream=int(found["out_stream"]),
            journal_epoch=int(found["journal_epoch"]),
            ordinal=int(found["ordinal"]),
            generation=int(found["generation"]),
        )
    except (ValueError, KeyError, TypeError) as broken:
        raise JournalDamaged(f"the segment's description makes no sense: {broken!r}") from None
