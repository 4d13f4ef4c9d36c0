# SPDX-License-Identifier: Apache-2.0
"""A recording from its first message to its last whole one, past what is damaged between them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final, Self

from framegate.recording.framing import MAGIC, Damage, Message, Record, inner_records, parsed, records_in
from framegate.recording.pieces import Gap, Piece, grouped, pieces
from framegate.recording.recorded import LOSS_TOPIC, Holdings, LostPart, Recorded, Topic
from framegate.recording.summary import read_summary
from framegate.recording.time_order import in_order_of_time
from framegate.schema.errors import OtherFileKind, RecordingDamaged, RecordingMissing
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Header, Metadata, Schema

_ABOUT: Final = "framegate/recording"
_HEAD_BYTES: Final = 9
_NO_SCHEMA: Final = Schema(id=0, name="", encoding="", data=b"")


class Recording:
    """Iterate it once, in the order in which its messages were recorded or, ``by_time``, in that of their log times.

    What the file says of itself is there when the iteration has come by: ``about`` at its start, ``loss`` at its end.
    """

    def __init__(self, stream: IO[bytes], name: str = "") -> None:
        self._stream = stream if stream.seekable() else _spooled(stream)
        self.name = name
        self.profile = ""
        self.library = ""
        self.about: dict[str, str] = {}
        self.loss: dict[str, Any] | None = None
        """The final record: what is there and what is not. None while it was not read, or where there is none."""
        self.damage: str | None = None
        """Why the file could not be read to its end."""
        self.topics: dict[int, Topic] = {}
        self._schemas: dict[int, Schema] = {}
        self._lost: dict[int, LostPart] = {}
        self._is_summed_up: bool | None = None
        self._messages: int | None = None

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a file. Raises ``RecordingMissing``."""
        try:
            return cls(Path(path).open("rb"), str(path))
        except (FileNotFoundError, IsADirectoryError) as failure:
            raise RecordingMissing(failure.strerror or str(failure), path=path) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    @property
    def at(self) -> int:
        """How far it was read, in bytes of the file."""
        return 0 if self._stream.closed else self._stream.tell()

    @cached_property
    def size(self) -> int | None:
        """Of the file."""
        return os.fstat(self._stream.fileno()).st_size

    @property
    def is_ours(self) -> bool:
        """Whether `framegate record` wrote it."""
        return bool(self.about)

    @property
    def has_no_payloads(self) -> bool:
        """Whether payloads were not to be recorded: a frame without one has lost nothing then."""
        return self.about.get("payload") == "false"

    @property
    def lost(self) -> list[LostPart]:
        """What could not be read so far, in the order of the file."""
        return [self._lost[at] for at in sorted(self._lost)]

    @property
    def damaged_chunks(self) -> int:
        """How many parts could not be read that have something behind them."""
        return len(self._lost) - (self.damage is not None)

    @property
    def is_complete(self) -> bool | None:
        """Whether everything that was announced is there; None for a file that does not say. Ask at the end."""
        if self._lost:
            return False
        if self.loss is None:
            return None if not self.is_ours else False
        return bool(self.loss.get("complete"))

    def __iter__(self) -> Iterator[Recorded]:
        self._sum_up()
        for piece in self._pieces():
            yield from self.messages_of(piece)

    def by_time(self) -> Iterator[Recorded]:
        """In the order of the log times, those of one time in the order of the file."""
        data = []
        for piece in self.places:
            if piece.is_chunk or piece.opcode == Opcode.MESSAGE:
                data.append(piece)
            else:
                # What the file says of itself, and definitions.
                list(self.messages_of(piece))
        _ = self.holdings
        yield from in_order_of_time(data, lambda piece: list(self.messages_of(piece)))

    @cached_property
    def holdings(self) -> Holdings:
        """Every topic; asked before the iteration. A file without a whole summary is read once for it."""
        if not self._sum_up():
            self._messages = sum(1 for piece in self.places for _ in self.messages_of(piece))
        return Holdings(tuple(dict.fromkeys(self.topics.values())), self.content_bytes, self._messages)

    @property
    def content_bytes(self) -> int:
        """Of all messages, unpacked."""
        return sum(max(piece.content_bytes, piece.end - piece.at) for piece in self.places)

    def require_start(self) -> None:
        """Raise ``RecordingDamaged`` where nothing could be read, ``OtherFileKind`` for a file of another kind."""
        if self.damage is None or self.library or self.topics:
            return
        self._stream.seek(0)
        kind = RecordingDamaged if MAGIC.startswith(self._stream.read(len(MAGIC))) else OtherFileKind
        raise kind(self.damage, path=self.name)

    # --- pieces --------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> list[Piece]:
        """Every record of the data, messages that stand alone put together. Moves the stream."""
        return list(grouped(self._pieces()))

    def _sum_up(self) -> bool:
        """Whether the file's end repeats what it defines: then topics are known although a definition is damaged."""
        if self._is_summed_up is None:
            summary = read_summary(self._stream)
            for definition in [] if summary is None else summary.definitions:
                self._note_record(definition)
            self._is_summed_up = summary is not None
            self._messages = None if summary is None else summary.messages
        return self._is_summed_up

    def _pieces(self) -> Iterator[Piece]:
        """What can be read; what cannot is noted when it is known what stands behind it."""
        last_ns: int | None = None
        gap: Gap | None = None
        for found in pieces(self._stream):
            if isinstance(found, Gap):
                gap = found
                if found.is_to_the_end:
                    self.damage = found.reason
                    self._lost[found.at] = LostPart(found.at, found.end, last_ns, None)
                continue
            if found.is_chunk or found.opcode == Opcode.MESSAGE:
                if gap is not None:
                    self._lost[gap.at] = LostPart(gap.at, gap.end, last_ns, found.first_ns)
                    gap = None
                last_ns = max(found.last_ns, last_ns or 0)
            yield found
        if gap is not None and not gap.is_to_the_end:
            self._lost[gap.at] = LostPart(gap.at, gap.end, last_ns, None)

    def bytes_of(self, piece: Piece) -> bytes:
        """A record as it stands in the file."""
        self._stream.seek(piece.at)
        return self._stream.read(piece.end - piece.at)

    def messages_of(self, piece: Piece) -> Iterator[Recorded]:
        """The messages of a piece; what it defines is noted."""
        data = self.bytes_of(piece)
        try:
            found = self._records(piece, data)
        except Damage:
            # Its neighbours are whole, and stand where they stood.
            self._lost[piece.at] = LostPart(piece.at, piece.end, piece.first_ns, piece.last_ns)
            return
        for record in found:
            if isinstance(record, Message):
                yield Recorded(
                    self.topic(record.channel_id), record.sequence, record.log_time, record.publish_time, record.data
                )
            else:
                self._note_record(record)

    def topic(self, channel_id: int) -> Topic:
        """Of a channel. One that is not known lay in what was lost."""
        return self.topics.get(channel_id) or Topic(f"channel {channel_id}", "", "")

    def _records(self, piece: Piece, data: bytes) -> list[Record]:
        if piece.opcode == Opcode.MESSAGE:
            return records_in(data)
        record = parsed(piece.opcode, data[_HEAD_BYTES:])
        if isinstance(record, Chunk):
            return inner_records(record)
        return [] if record is None else [record]

    def _note_record(self, record: object) -> None:
        match record:
            case Channel():
                schema = self._schemas.get(record.schema_id, _NO_SCHEMA)
                self.topics[record.id] = Topic.of(
                    record.topic, record.message_encoding, schema.name, schema.encoding, schema.data
                )
            case Schema():
                self._schemas[record.id] = record
            case Header():
                self.profile, self.library = record.profile, record.library or "unknown"
            case Metadata():
                self._note(record)

    def _note(self, record: Metadata) -> None:
        if record.name == _ABOUT:
            self.about = dict(record.metadata)
        elif record.name == LOSS_TOPIC:
            self.loss = _loss(record.metadata)


def _spooled(stream: IO[bytes]) -> IO[bytes]:
    """A pipe's content in a file without a name, in which one can go back."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the recording
    with stream:
        shutil.copyfileobj(stream, file)
    file.seek(0)
    return file


def _loss(said: dict[str, str]) -> dict[str, Any]:
    """The final record, its streams by number; what is not JSON is left as it stands."""
    found: dict[str, Any] = {"complete": said.get("complete") == "true", "streams": {}}
    for key, text in said.items():
        if key.startswith("stream/"):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                found["streams"][key.removeprefix("stream/")] = value
        elif key != "complete":
            found[key] = text
    return found
