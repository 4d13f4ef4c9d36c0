# SPDX-License-Identifier: Apache-2.0
"""What a file of bytes is: a recording, a region, a slot, a message, or several behind their lengths."""

from __future__ import annotations

import io
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from framegate.recording.bag import Bag
from framegate.recording.dump import Dump
from framegate.recording.dump_framing import MESSAGE_BYTES_MAX
from framegate.recording.framing import MAGIC as MCAP_MAGIC
from framegate.recording.header_time import LOG
from framegate.recording.reader import Recording
from framegate.recording.source import Source, bag_of, dump_of
from framegate.schema.codec import HEADER
from framegate.schema.errors import MessageError, RecordingMissing, UnknownContent
from framegate.schema.wire import ShmRegionSuperblock, SlotHeader
from framegate.shmpool.layout.region_numbers import MAGIC, SLOT_BYTES, SUPERBLOCK_BYTES
from framegate.tools.inspect.seen import Seen, seen_dumped, seen_fields, seen_message
from framegate.tools.inspect.topics import TopicsSeen

_VERSION_MAX: Final = 1000
_HEADER_RING: Final = 1
_HEADER_LENGTH: Final = struct.pack("<I", 192)
_WORD: Final = struct.Struct("<Q")
_START_BYTES: Final = SUPERBLOCK_BYTES + SLOT_BYTES


class Content:
    """One file: iterate what is in it; a recording can be asked for its losses afterwards."""

    def __init__(self, stream: IO[bytes], name: str, opened: Source | None = None) -> None:
        self.name = name
        self.topics: TopicsSeen = TopicsSeen({}, LOG)
        """Of a recording: what other programs wrote. Give it the mapping before you iterate."""
        self._opened = opened
        self.recording: Source | None = None
        self._stream = stream

    @classmethod
    @contextmanager
    def open(cls, source: str) -> Iterator[Content]:
        """A file, a folder of messages, or ``-`` for standard input. Raises ``RecordingMissing``."""
        if source == "-":
            # Kept whole: what follows a length that lies must be there to be looked at.
            yield cls(io.BytesIO(sys.stdin.buffer.read()), "standard input")
            return
        try:
            opened = _opened(Path(source))
            stream: IO[bytes] = io.BytesIO() if opened is not None else Path(source).open("rb")  # noqa: SIM115  (closed below; only the opening is refused here)
        except (FileNotFoundError, NotADirectoryError) as failure:
            raise RecordingMissing(failure.strerror or str(failure), path=source) from None
        if opened is not None:
            with opened:
                yield cls(io.BytesIO(), source, opened)
            return
        with stream:
            # What cannot be gone back in is kept whole, too.
            yield cls(stream if stream.seekable() else io.BytesIO(stream.read()), source)

    @property
    def at(self) -> int:
        """How far it was read, in bytes, where that is known."""
        return self._stream.tell() if self._opened is None else self._opened.at

    @property
    def size(self) -> int | None:
        """Of the file."""
        if self._opened is not None:
            return self._opened.size
        is_file = not isinstance(self._stream, io.BytesIO)
        return os.fstat(self._stream.fileno()).st_size if is_file else None

    def __iter__(self) -> Iterator[Seen]:
        if isinstance(self._opened, Dump):
            yield from self._dumped(self._opened)
            return
        if self._opened is not None:
            yield from self._recorded(self._opened)
            return
        start = self._stream.read(_START_BYTES)
        if start.startswith(MCAP_MAGIC):
            self._stream.seek(0)
            yield from self._recorded(Recording(self._stream, self.name))
        elif len(start) >= SUPERBLOCK_BYTES and _WORD.unpack_from(start)[0] == MAGIC:
            yield from self._region(start)
        elif len(start) == SLOT_BYTES and start[60:64] == _HEADER_LENGTH:
            yield _slot(start)
        else:
            self._stream.seek(0)
            yield from self._messages()

    def _recorded(self, recording: Recording | Bag) -> Iterator[Seen]:
        self.recording = recording
        for recorded in recording:
            yield self.topics.seen(recorded)
        recording.require_start()

    def _region(self, start: bytes) -> Iterator[Seen]:
        try:
            block = ShmRegionSuperblock.decode_body(start[:SUPERBLOCK_BYTES])
        except MessageError as failure:
            yield _malformed(start[:SUPERBLOCK_BYTES], failure)
            return
        yield seen_fields(block, bytes=SUPERBLOCK_BYTES)
        if int(block.region_type) != _HEADER_RING:
            return
        self._stream.seek(SUPERBLOCK_BYTES)
        for _ in range(block.nslots):
            slot = self._stream.read(SLOT_BYTES)
            if len(slot) < SLOT_BYTES:
                return
            if any(slot):
                yield _slot(slot, stream=block.stream_id)

    def _messages(self) -> Iterator[Seen]:
        dump = dump_of(self._stream, self.name)
        if dump is not None:
            yield from self._dumped(dump)
            return
        data = self._stream.read(MESSAGE_BYTES_MAX)
        if not _may_be_a_message(data):
            raise UnknownContent("these bytes are nothing that is known here", path=self.name, bytes=len(data))
        yield seen_message(data)

    def _dumped(self, dump: Dump) -> Iterator[Seen]:
        self.recording = dump
        for recorded in dump:
            yield seen_dumped(recorded)


def _opened(path: Path) -> Source | None:
    """What no stream of bytes can be: a bag, or a folder of messages."""
    found: Source | None = bag_of(path)
    return Dump.open_folder(path) if found is None and path.is_dir() else found


def _slot(slot: bytes, **common: Any) -> Seen:
    try:
        header = SlotHeader.decode_body(slot)
    except MessageError as failure:
        return _malformed(slot, failure, **common)
    is_committed = bool(header.seq_commit & 1)
    return seen_fields(header, bytes=SLOT_BYTES, problem="" if is_committed else "not committed", **common)


def _malformed(data: bytes, failure: MessageError, **common: Any) -> Seen:
    return Seen(kind="malformed", bytes=len(data), problem=str(failure).splitlines()[0], **common)


def _may_be_a_message(data: bytes) -> bool:
    """Whether the header of another family's message may stand there."""
    if len(data) < HEADER.size:
        return False
    block, template, schema, version = HEADER.unpack_from(data)
    return bool(schema and template and version < _VERSION_MAX) and 0 < block <= len(data) - HEADER.size


def is_live(source: str) -> bool:
    """Whether living streams are meant; a file of that name goes first."""
    return source == "live" and not os.path.exists(source)  # noqa: PTH110  (one look at a name)
