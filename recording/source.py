# SPDX-License-Identifier: Apache-2.0
"""The source that a path names: a recording, a bag of ROS, or a raw dump of another implementation."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TypeAlias

from framegate.recording.bag import Bag, is_bag, only_mcap_of
from framegate.recording.dump import Dump
from framegate.recording.dump_framing import begins_message
from framegate.recording.reader import Recording
from framegate.schema.codec import HEADER
from framegate.schema.errors import RecordingMissing

Source: TypeAlias = Recording | Bag | Dump


def open_source(path: str | Path) -> Source:
    """Open a recording, a bag, a file of raw messages, or a folder of them. Iterate it once.

    Raises ``RecordingMissing``, ``UnknownContent`` for a folder without files, ``RecordingDamaged`` for a bag without
    its index, and ``DecoderMissing`` if the library that reads bags is not installed.
    """
    path = Path(path)
    try:
        if (bag := bag_of(path)) is not None:
            return bag
        if path.is_dir():
            return Dump.open_folder(path)
        stream = path.open("rb")
    except OSError as failure:
        raise RecordingMissing(failure.strerror or str(failure), path=path) from None
    # A dump is recognized by its first bytes. What can be read only once is therefore taken for a recording.
    found = dump_of(stream, str(path)) if stream.seekable() else None
    return found if found is not None else Recording(stream, str(path))


def bag_of(path: Path) -> Bag | Recording | None:
    """A bag, or the recording in a folder of ROS 2; None if the path names something else."""
    if not is_bag(path):
        return None
    inner = only_mcap_of(path)
    return Bag.open(path) if inner is None else Recording(inner.open("rb"), str(path))


def dump_of(stream: IO[bytes], name: str) -> Dump | None:
    """A file of raw messages, from its present position; None if it is not one."""
    at = stream.tell()
    # The file begins with the header of a message, and not with a length.
    is_one_message = begins_message(stream.read(HEADER.size))
    stream.seek(at)
    return Dump(stream, None, name) if is_one_message else Dump.of_stream(stream, name)
