# SPDX-License-Identifier: Apache-2.0
"""Bags of ROS: a ``.bag`` of ROS 1, a rosbag2 folder, or a ``.db3`` file out of one. The library ``rosbags`` reads
them.

A bag is read in the order of its times, by its own index. A bag without a complete index is refused. If messages are
damaged, those before the damage are read.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from framegate.recording.one_line import one_line
from framegate.recording.other_source import OtherSource
from framegate.recording.recorded import Holdings, Recorded, Topic
from framegate.schema.errors import DecoderMissing, RecordingDamaged, RecordingMissing
from framegate.schema.extras import how_to_install

if TYPE_CHECKING:
    from rosbags.interfaces import Connection
    from rosbags.rosbag1 import Reader as Reader1
    from rosbags.rosbag2 import Reader as Reader2

METADATA: Final = "metadata.yaml"
_ROS1_MAGIC: Final = b"#ROSBAG V"
_SQLITE_MAGIC: Final = b"SQLite format 3\0"
_UNPACKED: Final = 16
"""The messages of a packed bag may be this many times as long as its file."""
_MENDING: Final = (
    "`rosbag reindex` makes a new index of a .bag, `ros2 bag reindex` one of a folder; "
    "`sqlite3 FILE .recover` saves what is left of a .db3."
)
_SEQUENCES: Final = 1 << 32


def is_bag(path: Path) -> bool:
    """Whether a path names a bag, by a folder's metadata or a file's first bytes. Raises ``OSError``."""
    if path.is_dir():
        return (path / METADATA).is_file()
    if not path.is_file():
        # A pipe can be read only once.
        return False
    with path.open("rb") as stream:
        start = stream.read(len(_SQLITE_MAGIC))
    return start.startswith(_ROS1_MAGIC) or (start == _SQLITE_MAGIC and path.suffix == ".db3")


def only_mcap_of(path: Path) -> Path | None:
    """The only MCAP file of a rosbag2 folder, which is read like any other MCAP file; None for other bags."""
    stored = [each for each in path.iterdir() if each.name != METADATA and each.is_file()] if path.is_dir() else []
    return stored[0] if len(stored) == 1 and stored[0].suffix == ".mcap" else None


class Bag(OtherSource):
    """A bag of ROS. Iterate it once."""

    def __init__(self, path: Path, reader: Reader1 | Reader2) -> None:
        """``reader`` must be open already."""
        super().__init__(str(path), "rosbag")
        self._path = path
        self._reader = reader
        # Each file of a folder is asked for its own index, because the metadata of the folder may be wrong.
        storage = getattr(reader, "storage", reader)
        self._files: list[Any] = getattr(storage, "storages", [storage])
        self._topics: dict[tuple[int, int], Topic] = {}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a bag. Raises ``DecoderMissing``, ``RecordingMissing``, ``RecordingDamaged``."""
        try:
            from rosbags.rosbag1 import Reader as Reader1
            from rosbags.rosbag2 import Reader as Reader2
        except ModuleNotFoundError as failure:
            raise DecoderMissing(
                "the library that reads bags of ROS is not installed",
                hint=how_to_install("ros"),
                path=path,
                missing=failure.name,
            ) from None
        is_ros2 = path.is_dir() or path.suffix == ".db3"
        try:
            reader = Reader2(path) if is_ros2 else Reader1(path)
            reader.open()
        except OSError as failure:
            raise RecordingMissing(failure.strerror or str(failure), path=path) from None
        except Exception as failure:  # damaged bytes can raise anything in the library
            raise RecordingDamaged(f"the bag cannot be opened: {_said(failure)}", hint=_MENDING, path=path) from failure
        return cls(path, reader)

    def close(self) -> None:
        """Close the bag's files."""
        self._reader.close()

    @property
    def holdings(self) -> Holdings:
        """Every topic."""
        topics = [self._topic(each) for file in self._files for each in file.connections]
        files = [self._path] if self._path.is_file() else [each for each in self._path.iterdir() if each.is_file()]
        content_bytes = _UNPACKED * sum(each.stat().st_size for each in files)
        return Holdings(tuple(dict.fromkeys(topics)), content_bytes, self._reader.message_count)

    def __iter__(self) -> Iterator[Recorded]:
        counts: dict[Topic, int] = {}
        whole = _unpacked if getattr(self._reader, "compression_mode", None) == "message" else bytes
        try:
            files = [file.messages(file.connections) for file in self._files]
            for connection, at_ns, data in heapq.merge(*files, key=lambda each: each[1]):
                topic = self._topic(connection)
                counts[topic] = counts.get(topic, -1) + 1
                yield Recorded(topic, counts[topic] % _SEQUENCES, at_ns, at_ns, whole(data))
        except Exception as failure:  # damaged bytes can raise anything in the library
            self.damage = f"the bag cannot be read any further: {_said(failure)}"
            return
        found, wanted = sum(counts.values()) + len(counts), self._reader.message_count
        if found < wanted:
            self.damage = f"the bag has {found} messages, and should have {wanted}"

    def _topic(self, connection: Connection) -> Topic:
        key = id(connection.owner), connection.id
        if key not in self._topics:
            from rosbags.interfaces import MessageDefinitionFormat

            is_idl = connection.msgdef.format is MessageDefinitionFormat.IDL
            encoding = getattr(connection.ext, "serialization_format", "ros1")
            language = "ros1msg" if encoding == "ros1" else "ros2idl" if is_idl else "ros2msg"
            text = connection.msgdef.data.encode()
            self._topics[key] = Topic.of(connection.topic, encoding, connection.msgtype, language, text)
        return self._topics[key]


def _unpacked(data: bytes) -> bytes:
    import zstandard

    return zstandard.decompress(data)


def _said(failure: Exception) -> str:
    return one_line(str(failure)) or type(failure).__name__
