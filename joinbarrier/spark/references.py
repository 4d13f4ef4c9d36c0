# SPDX-License-Identifier: Apache-2.0
"""References: where a payload lies, as a text that a row carries instead of it.

::

    framegate:1:EPOCH:ORDINAL:GENERATION:OFFSET:BYTES:PATH

EPOCH is the journal's, ORDINAL and GENERATION the segment's, OFFSET counts from the beginning of its file. Segments are
used again, so the generation says which use is meant; who has the segment mapped keeps it from being used again.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.journal.layout import segment_names
from framegate.joinbarrier.journal.payload import payload_array
from framegate.joinbarrier.journal.segments import Segment
from framegate.schema.errors import JournalDamaged, ReferenceOutlived, ReferenceRefused

_PREFIX: Final = "framegate:1"
_TEXT: Final = re.compile(r"framegate:1:(\d{1,20}):(\d{1,20}):(\d{1,20}):(\d{1,20}):(\d{1,20}):(/.*)", re.DOTALL)
SEGMENTS_MAX: Final = 4
"""So many segments stay mapped in a process between two batches: what is mapped cannot be used again by the writer."""
_LOOKS: Final = 16


def references(payload: pa.BinaryArray, memory: memoryview, segment: Segment) -> pa.StringArray:
    """One text for each payload of a column that lies in ``memory``, the segment; null for null."""
    facts = segment.facts
    prefix = f"{_PREFIX}:{facts.journal_epoch}:{facts.ordinal}:{facts.generation}"
    directory = str(segment.path.parent.parent.resolve())
    _, offsets_buffer, data = payload.buffers()
    if len(payload) == 0 or data is None or data.size == 0:
        starts = lengths = np.zeros(len(payload), np.int64)
    else:
        offsets = np.frombuffer(offsets_buffer, np.int32, len(payload) + 1, payload.offset * 4).astype(np.int64)
        starts = offsets[:-1] + (data.address - pa.py_buffer(memory).address)
        lengths = np.diff(offsets)
    texts = [pa.array(numbers).cast(pa.utf8()) for numbers in (starts, lengths)]
    joined = pc.binary_join_element_wise(pa.scalar(prefix), *texts, pa.scalar(directory), ":")
    return pc.if_else(payload.is_valid(), joined, pa.scalar(None, pa.utf8()))


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference, read; its segment is not looked for yet."""

    epoch: int
    ordinal: int
    generation: int
    offset: int
    length: int
    directory: str

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raises ReferenceRefused."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ReferenceRefused("not a reference", have=text[:200])
        epoch, ordinal, generation, offset, length = (int(number) for number in found.groups()[:-1])
        return cls(epoch, ordinal, generation, offset, length, found[6])

    @property
    def segment_key(self) -> tuple[str, int, int, int]:
        """The segment it lies in."""
        return self.directory, self.epoch, self.ordinal, self.generation


class MappedSegments:
    """The segments that a process has mapped to resolve references, a few of them kept for the next batch."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, int, int], tuple[Segment, memoryview]] = OrderedDict()

    def array(self, text: str, dtype: str | None, shape: list[int] | None) -> npt.NDArray[Any]:
        """A read-only view of the payload. Raises ReferenceRefused, ReferenceOutlived or JournalDamaged."""
        reference = Reference.parse(text)
        segment, memory = self._mapped(reference)
        end = reference.offset + reference.length
        if end > segment.file_bytes:
            raise ReferenceRefused(
                "it points outside its segment", path=segment.path, end=end, segment_bytes=segment.file_bytes
            )
        try:
            return payload_array(memory[reference.offset : end], dtype, shape)
        except JournalDamaged as broken:
            refused = ReferenceRefused(broken.message, path=segment.path)
            refused.facts |= broken.facts
            raise refused from None

    def let_go(self) -> None:
        """Unmap what lies beyond ``SEGMENTS_MAX`` and what retention has dropped."""
        for key, (segment, _) in list(self._kept.items()):
            if len(self._kept) > SEGMENTS_MAX or not _is_named(segment):
                del self._kept[key]

    def _mapped(self, reference: Reference) -> tuple[Segment, memoryview]:
        key = reference.segment_key
        found = self._kept.get(key)
        if found is None:
            segment = _opened(reference)
            found = self._kept[key] = (segment, segment.memory)
        self._kept.move_to_end(key)
        return found


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
