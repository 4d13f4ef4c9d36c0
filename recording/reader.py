# SPDX-License-Identifier: Apache-2.0
"""A recording from its first message to its last whole one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, Self

from framegate.recording.framing import END, Damage, Message, inner_records, records
from framegate.recording.recorded import LOSS_TOPIC, Recorded, Topic
from framegate.schema.errors import RecordingDamaged, RecordingMissing
from mcap.records import Channel, Chunk, Header, Metadata, Schema

_ABOUT: Final = "framegate/recording"


class Recording:
    """Iterate it once, in the order in which its messages were recorded.

    What the file says of itself is there when the iteration has come by: ``about`` at its start, ``loss`` at its end.
    """

    def __init__(self, stream: IO[bytes], name: str = "") -> None:
        self._stream = stream
        self.name = name
        self.profile = ""
        self.library = ""
        self.about: dict[str, str] = {}
        self.loss: dict[str, Any] | None = None
        """The final record: what is there and what is not. None while it was not read, or where there is none."""
        self.damage: str | None = None
        """Why the file could not be read to its end."""
        self.damaged_chunks = 0
        self.topics: dict[int, Topic] = {}
        self._schemas: dict[int, str] = {}

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
    def is_ours(self) -> bool:
        """Whether `framegate record` wrote it."""
        return bool(self.about)

    @property
    def has_no_payloads(self) -> bool:
        """Whether payloads were not to be recorded: a frame without one has lost nothing then."""
        return self.about.get("payload") == "false"

    @property
    def is_complete(self) -> bool | None:
        """Whether everything that was announced is there; None for a file that does not say. Ask at the end."""
        if self.damage is not None or self.damaged_chunks:
            return False
        if self.loss is None:
            return None if not self.is_ours else False
        return bool(self.loss.get("complete"))

    def __iter__(self) -> Iterator[Recorded]:
        try:
            for opcode, record in records(self._stream):
                if isinstance(record, Chunk):
                    yield from self._inside(record)
                elif record is not None:
                    yield from self._take(record)
                if opcode == END:
                    return
        except Damage as damage:
            self.damage = str(damage)

    def require_start(self) -> None:
        """Raise ``RecordingDamaged`` when not even the beginning could be read. Ask behind the iteration."""
        if self.damage is not None and not self.library and not self.topics:
            raise RecordingDamaged(self.damage, path=self.name)

    def _inside(self, chunk: Chunk) -> Iterator[Recorded]:
        try:
            inner = inner_records(chunk)
        except Damage:
            # Its neighbours are whole, and stand where they stood.
            self.damaged_chunks += 1
            return
        for record in inner:
            yield from self._take(record)

    def _take(self, record: object) -> Iterator[Recorded]:
        match record:
            case Message():
                topic = self.topics.get(record.channel_id)
                if topic is None:
                    # Its channel lay in what was lost.
                    topic = Topic(f"channel {record.channel_id}", "", "")
                yield Recorded(topic, record.sequence, record.log_time, record.publish_time, record.data)
            case Channel():
                schema = self._schemas.get(record.schema_id, "")
                self.topics[record.id] = Topic.of(record.topic, record.message_encoding, schema)
            case Schema():
                self._schemas[record.id] = record.name
            case Header():
                self.profile, self.library = record.profile, record.library or "unknown"
            case Metadata():
                self._note(record)

    def _note(self, record: Metadata) -> None:
        if record.name == _ABOUT:
            self.about = dict(record.metadata)
        elif record.name == LOSS_TOPIC:
            self.loss = _loss(record.metadata)


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
