# SPDX-License-Identifier: Apache-2.0
"""The reader of recordings: it reads from the first message to the last complete one, past damage between them."""

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
    """A recording. Iterate it once: in the order of recording, or ``by_time`` in the order of the log times.

    What the file says of itself is available once the iteration has passed it: ``about`` at the start, ``loss`` at the
    end.
    """

    def __init__(self, stream: IO[bytes], name: str = "") -> None:
        self._stream = stream if stream.seekable() else _spooled(stream)
        self.name = name
        self.profile = ""
        self.library = ""
        self.about: dict[str, str] = {}
        self.loss: dict[str, Any] | None = None
        """The final record: what is in the file and what was lost. None before it is read, or if there is none."""
        self.damage: str | None = None
        """Why the file could not be read to its end; None if it could."""
        self.topics: dict[int, Topic] = {}
        self._schemas: dict[int, Schema] = {}
        self._lost: dict[int, LostPart] = {}
        self._is_summed_up: bool | None = None
        self._messages: int | None = None

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a file. Raises ``RecordingMissing`` if it cannot be read."""
        try:
            return cls(Path(path).open("rb"), str(path))
        except (FileNotFoundError, IsADirectoryError) as failure:
            raise RecordingMissing(failure.strerror or str(failure), path=path) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the recording's file."""
        self._stream.close()

    @property
    def at(self) -> int:
        """How far the file was read, in bytes."""
        return 0 if self._stream.closed else self._stream.tell()

    @cached_property
    def size(self) -> int | None:
        """The size of the file in bytes; None if it is not known."""
        return os.fstat(self._stream.fileno()).st_size

    @property
    def is_ours(self) -> bool:
        """Whether `framegate record` wrote it."""
        return bool(self.about)

    @property
    def has_no_payloads(self) -> bool:
        """Whether payloads were left out on purpose, so that a frame without its payload is not a loss."""
        return self.about.get("payload") == "false"

    @property
    def lost(self) -> list[LostPart]:
        """The parts that could not be read so far, in the order of the file."""
        return [self._lost[at] for at in sorted(self._lost)]

    @property
    def damaged_chunks(self) -> int:
        """How many parts could not be read although something follows them."""
        return len(self._lost) - (self.damage is not None)

    @property
    def is_complete(self) -> bool | None:
        """Whether everything that was announced is there; None if the file does not say. Ask at the end."""
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
        """The messages in the order of the log times. Those of one time come in the order of the file."""
        data = []
        for piece in self.places:
            if piece.is_chunk or piece.opcode == Opcode.MESSAGE:
                data.append(piece)
            else:
                # These pieces are definitions, and what the file says of itself.
                list(self.messages_of(piece))
        _ = self.holdings
        yield from in_order_of_time(data, lambda piece: list(self.messages_of(piece)))

    @cached_property
    def holdings(self) -> Holdings:
        """Every topic. Ask before iterating. A file without a complete summary is read once for this."""
        if not self._sum_up():
            self._messages = sum(1 for piece in self.places for _ in self.messages_of(piece))
        return Holdings(tuple(dict.fromkeys(self.topics.values())), self.content_bytes, self._messages)

    @property
    def content_bytes(self) -> int:
        """The bytes of all messages, unpacked."""
        return sum(max(piece.content_bytes, piece.end - piece.at) for piece in self.places)

    def require_start(self) -> None:
        """Raise ``RecordingDamaged`` if nothing can be read, and ``OtherFileKind`` for a file of another kind."""
        if self.damage is None or self.library or self.topics:
            return
        self._stream.seek(0)
        kind = RecordingDamaged if MAGIC.startswith(self._stream.read(len(MAGIC))) else OtherFileKind
        raise kind(self.damage, path=self.name)

    # --- pieces --------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> list[Piece]:
        """Every record of the data, with adjacent messages outside of chunks in one piece. This moves the stream."""
        return list(grouped(self._pieces()))

    def _sum_up(self) -> bool:
        """Read the summary at the end. It repeats the definitions, which may be damaged in the data."""
        if self._is_summed_up is None:
            summary = read_summary(self._stream)
            for definition in [] if summary is None else summary.definitions:
                self._note_record(definition)
            self._is_summed_up = summary is not None
            self._messages = None if summary is None else summary.messages
        return self._is_summed_up

    def _pieces(self) -> Iterator[Piece]:
        """The pieces that can be read. A part that cannot is noted when it is known what follows it."""
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
        """The bytes of a piece, as they are in the file."""
        self._stream.seek(piece.at)
        return self._stream.read(piece.end - piece.at)

    def messages_of(self, piece: Piece) -> Iterator[Recorded]:
        """The messages of a piece. Its definitions are noted."""
        data = self.bytes_of(piece)
        try:
            found = self._records(piece, data)
        except Damage:
            # The pieces around it are complete, and at their right places.
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
        """The topic of a channel. The definition of an unknown one was in a part that is lost."""
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
    """The content of a pipe, in a temporary file that can be read more than once."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the recording
    with stream:
        shutil.copyfileobj(stream, file)
    file.seek(0)
    return file


def _loss(said: dict[str, str]) -> dict[str, Any]:
    """The final record, with its streams by number. Text that is not JSON stays unchanged."""
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
