# SPDX-License-Identifier: Apache-2.0
"""Writes a segment in plain Python: the layout of its bytes, and the order in which they are stored.

Arrow's own file writer makes the bytes of the schema, of every batch and of the footer. They are stored in the mapped
file in the order that readers rely on: first everything behind a message's first eight bytes, then zeroes where the
next message will begin, then those eight bytes. The native writer aligns messages to 64 bytes and pads differently;
readers see no difference.
"""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.checksum import batch_checksum
from framegate.joinbarrier.journal.layout import ARROW_MAGIC, BATCH_KEY, FORMAT, SEGMENT_KEY, STATE_KEY
from framegate.joinbarrier.journal.message import PREFIX_BYTES, Message, read_message

NUMBERS: Final = ("first_row", "rows", "generation", "seal", "sealed_at_ns")
_NO_CHECKSUM: Final = b'"crc32c":         0'
_SEGMENT_TEXT_BYTES: Final = 256
_SPARE_BYTES: Final = 4096
"""An upper bound for what a batch takes beside its body, its state and the segment's footer."""


class _Taken:
    """A file for Arrow to write into; ``take`` returns what was written since the previous call."""

    closed = False

    def __init__(self) -> None:
        self._bytes = bytearray()

    def write(self, data: Any) -> int:
        self._bytes += data
        return len(data)

    def take(self) -> bytearray:
        taken, self._bytes = self._bytes, bytearray()
        return taken

    def flush(self) -> None:
        """Do nothing: no bytes are held back."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class SegmentFile:
    """One open segment. ``facts`` are its ``framegate.segment`` metadata; ``batches`` were sealed in it before."""

    def __init__(
        self, path: Path, schema: pa.Schema, facts: dict[str, Any], file_bytes: int, batches: tuple[Batch, ...] = ()
    ) -> None:
        self.path = path
        self.facts = {"format": FORMAT, **facts}
        text = json.dumps(self.facts).ljust(_SEGMENT_TEXT_BYTES)
        self._schema = schema.with_metadata({SEGMENT_KEY: text})
        self._sink = _Taken()
        self._writer = pa.ipc.new_file(pa.PythonFile(self._sink, mode="w"), self._schema)
        self._head = ARROW_MAGIC + self._schema.serialize().to_pybytes()
        self._map = _mapped(path, file_bytes)
        self.sealed_bytes = len(self._head)
        if not batches:
            self._store(0, self._head)
        for batch in batches:
            self._resume(batch)

    @property
    def is_empty(self) -> bool:
        """Whether no batch was sealed in this segment."""
        return self.sealed_bytes == len(self._head)

    def has_space(self, batch: pa.RecordBatch, state: bytes) -> bool:
        """Whether a batch fits, with the end mark and the footer behind it."""
        wanted = pa.ipc.get_record_batch_size(batch) + 2 * len(state) + _SPARE_BYTES
        return bool(self.sealed_bytes + wanted <= len(self._map))

    def seal(self, columns: pa.RecordBatch, state: bytes, numbers: dict[str, int]) -> None:
        """Append a batch. ``state`` is already padded; ``numbers`` has the keys of NUMBERS."""
        said = ",".join(f'"{name}":{numbers[name]:20}' for name in NUMBERS)
        padded = b"{" + said.encode() + b"," + _NO_CHECKSUM.ljust(len(_NO_CHECKSUM) + 1) + b"}"
        message = self._encoded(columns, {BATCH_KEY: padded, STATE_KEY: state})
        parsed = read_message(memoryview(message), 0, len(message))
        assert isinstance(parsed, Message)  # noqa: S101 - Arrow has just made it
        buffers = [message[offset : offset + length] for offset, length in parsed.buffers()]
        checksum = batch_checksum(buffers, state, numbers["first_row"], numbers["rows"], numbers["generation"])
        at = message.index(_NO_CHECKSUM)
        message[at : at + len(_NO_CHECKSUM) + 1] = f'"crc32c":{checksum:11}'.encode()
        self._store(self.sealed_bytes, message)
        self.sealed_bytes += len(message)

    def finish(self, *, is_cut: bool = True) -> None:
        """End the stream, write the footer, and give the file its final name. ``is_cut``: shorten the file to its
        content.
        """
        self._writer.close()
        end = self._sink.take()
        if self.is_empty:
            end = end.removeprefix(self._head)
        footer = end[PREFIX_BYTES:]
        footer_at = self.sealed_bytes + PREFIX_BYTES if is_cut else len(self._map) - len(footer)
        self._map[footer_at : footer_at + len(footer)] = bytes(footer)
        self._map[self.sealed_bytes : self.sealed_bytes + PREFIX_BYTES] = bytes(end[:PREFIX_BYTES])
        if is_cut:
            os.truncate(self.path, footer_at + len(footer))
        self.path.rename(self.path.with_suffix(".arrow"))

    def _resume(self, batch: Batch) -> None:
        # Arrow must see the batch, or the footer would not list it.
        custom = {key: batch.message.custom[key] for key in (BATCH_KEY, STATE_KEY)}
        self.sealed_bytes += len(self._encoded(batch.record_batch, custom))
        if self.sealed_bytes != batch.message.end:
            raise ValueError(f"{self.path} was written by another writer")

    def _encoded(self, columns: pa.RecordBatch, custom: dict[str, bytes]) -> bytearray:
        self._writer.write_batch(columns, custom_metadata=custom)
        # Arrow writes the schema with the first batch; here it was stored at the beginning.
        taken = self._sink.take()
        return taken.removeprefix(self._head) if self.is_empty else taken

    def _store(self, at: int, message: bytes | bytearray) -> None:
        end = at + len(message)
        self._map[at + PREFIX_BYTES : end] = bytes(message[PREFIX_BYTES:])
        if end + PREFIX_BYTES <= len(self._map):
            self._map[end : end + PREFIX_BYTES] = bytes(PREFIX_BYTES)
        # The native writer has a fence here, and stores the prefix in one instruction.
        self._map[at : at + PREFIX_BYTES] = bytes(message[:PREFIX_BYTES])


def padded_state(state: dict[str, Any], capacity: int) -> bytes:
    """Pad a state to the length that every batch carries."""
    text = json.dumps(state).encode()
    if len(text) > capacity:
        raise ValueError(f"a state of {len(text)} bytes, room for {capacity}")
    return text.ljust(capacity)


def _mapped(path: Path, file_bytes: int) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, file_bytes)
        return mmap.mmap(descriptor, 0)
    finally:
        os.close(descriptor)
