# SPDX-License-Identifier: Apache-2.0
"""References: the location of a payload, as a text that a row carries instead of the payload.

::

    framegate:1:EPOCH:ORDINAL:GENERATION:OFFSET:BYTES:PATH

EPOCH is the journal's, ORDINAL and GENERATION are the segment's, and OFFSET counts from the beginning of its file.
Segments are reused, so the generation says which use is meant. A segment that is mapped is not reused.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.journal.layout import segment_names
from framegate.joinbarrier.journal.payload import payload_array
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.tables.same_shape import Format, runs, stretches
from framegate.schema.errors import JournalDamaged, ReferenceOutlived, ReferenceRefused

_SCHEME: Final = "framegate"
_VERSION: Final = "1"
_PARTS: Final = 8
_DIGITS_MAX: Final = 20
ROWS_AT_ONCE: Final = 250
"""The number of rows from which on Arrow makes a batch's texts faster than Python."""
Numbers: TypeAlias = npt.NDArray[np.int64]
_Use: TypeAlias = tuple[str, int, int, int]
"""One use of one file: directory, epoch, ordinal and generation."""
SEGMENTS_MAX: Final = 4
"""How many segments stay mapped between two batches. The writer cannot reuse a segment that is mapped."""
_LOOKS: Final = 16


def references(payload: pa.BinaryArray, memory: memoryview, segment: Segment) -> pa.StringArray:
    """The references to the payloads of a column in ``memory``, which is that of the segment; null for null."""
    facts = segment.facts
    prefix = f"{_SCHEME}:{_VERSION}:{facts.journal_epoch}:{facts.ordinal}:{facts.generation}"
    directory = str(segment.journal_path)
    _, offsets_buffer, data = payload.buffers()
    if len(payload) == 0 or data is None or data.size == 0:
        starts = lengths = np.zeros(len(payload), np.int64)
    else:
        offsets = np.frombuffer(offsets_buffer, np.int32, len(payload) + 1, payload.offset * 4).astype(np.int64)
        starts = offsets[:-1] + (data.address - pa.py_buffer(memory).address)
        lengths = np.diff(offsets)
    made = _one_by_one if len(payload) < ROWS_AT_ONCE else _by_column
    return made(prefix, starts, lengths, directory, payload.is_valid())


def _one_by_one(
    prefix: str, starts: Numbers, lengths: Numbers, directory: str, is_valid: pa.BooleanArray
) -> pa.StringArray:
    """Make the texts in Python. A sealed batch often has two or three rows; ten calls of Arrow would cost more."""
    rows = zip(starts.tolist(), lengths.tolist(), is_valid.to_pylist(), strict=True)
    texts = [f"{prefix}:{start}:{length}:{directory}" if is_one else None for start, length, is_one in rows]
    return pa.array(texts, pa.utf8())


def _by_column(
    prefix: str, starts: Numbers, lengths: Numbers, directory: str, is_valid: pa.BooleanArray
) -> pa.StringArray:
    texts = [pa.array(numbers).cast(pa.utf8()) for numbers in (starts, lengths)]
    joined = pc.binary_join_element_wise(pa.scalar(prefix), *texts, pa.scalar(directory), ":")
    return pc.if_else(is_valid, joined, pa.scalar(None, pa.utf8()))


class Reference(NamedTuple):
    """A parsed reference. Its segment was not looked for yet."""

    epoch: int
    ordinal: int
    generation: int
    offset: int
    length: int
    directory: str

    @property
    def use(self) -> _Use:
        """The use of a segment that it refers to."""
        return self.directory, self.epoch, self.ordinal, self.generation

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raises ReferenceRefused."""
        parts = text.split(":", _PARTS - 1)
        if len(parts) != _PARTS or parts[0] != _SCHEME or parts[1] != _VERSION or parts[-1][:1] != "/":
            raise ReferenceRefused("not a reference", have=text[:200])
        numbers = parts[2:-1]
        for number in numbers:
            # A reference has digits only; `int` would also accept a sign or spaces.
            if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS_MAX):
                raise ReferenceRefused("not a reference", have=text[:200])
        epoch, ordinal, generation, offset, length = map(int, numbers)
        return cls(epoch, ordinal, generation, offset, length, parts[-1])


class MappedSegments:
    """The segments that a process has mapped to resolve references. Some stay mapped for the next batch."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Use, Segment] = OrderedDict()
        self._sizes: dict[_Use, int] = {}
        """The size of each mapped segment, asked for once between two calls of ``let_go``, because that is a system
        call."""

    def array(self, text: str, dtype: str | None, shape: list[int] | None) -> npt.NDArray[Any]:
        """A read-only view of the payload. Raises ReferenceRefused, ReferenceOutlived or JournalDamaged."""
        reference = Reference.parse(text)
        segment, segment_bytes = self._mapped(reference), self._sizes[reference.use]
        end = reference.offset + reference.length
        if end > segment_bytes:
            raise ReferenceRefused(
                "it points outside its segment", path=segment.path, end=end, segment_bytes=segment_bytes
            )
        try:
            return payload_array(segment.memory, dtype, shape, start=reference.offset, end=end)
        except JournalDamaged as broken:
            refused = ReferenceRefused(broken.message, path=segment.path)
            refused.facts |= broken.facts
            raise refused from None

    def stretches(self, texts: pa.StringArray, form: Format) -> list[npt.NDArray[Any]] | None:
        """Views of many payloads of one format. None if that is not possible; then call ``array`` for each."""
        found, count = list[npt.NDArray[Any]](), 0
        for run in runs(texts, form.frame_bytes) or ():
            reference = Reference.parse(run.first_text)
            segment = self._mapped(reference)
            if int(run.offsets.max()) + form.frame_bytes > self._sizes[reference.use]:
                return None
            found += stretches(segment.memory, run.offsets, form)
            count += len(run.offsets)
        return found if count == len(texts) else None

    def let_go(self) -> None:
        """Unmap the segments beyond ``SEGMENTS_MAX``, and those that retention has dropped."""
        self._sizes.clear()
        for use, segment in list(self._kept.items()):
            if len(self._kept) > SEGMENTS_MAX or not _is_named(segment):
                del self._kept[use]

    def _mapped(self, reference: Reference) -> Segment:
        use = reference.use
        segment = self._kept.get(use)
        if segment is None or use not in self._sizes:
            segment = segment or _opened(reference)
            self._kept[use] = segment
            self._kept.move_to_end(use)
            self._sizes[use] = segment.file_bytes
        return segment


def _opened(reference: Reference) -> Segment:
    directory = Path(reference.directory)
    for _ in range(_LOOKS):
        name = next((each for each in segment_names(directory, "rows") if each.ordinal == reference.ordinal), None)
        if name is None:
            break
        segment = Segment.open(directory, name, "rows")
        if segment is not None:
            facts = segment.facts
            if (facts.journal_epoch, facts.generation) == (reference.epoch, reference.generation):
                return segment
            break
    raise ReferenceOutlived(
        "its segment is gone",
        path=directory,
        epoch=reference.epoch,
        segment=reference.ordinal,
        generation=reference.generation,
    )


def _is_named(segment: Segment) -> bool:
    finished = segment.path.with_name(str(segment.name.finished()))
    return segment.path.exists() or finished.exists()
