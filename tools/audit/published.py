# SPDX-License-Identifier: Apache-2.0
"""The published frames, read from the logs that producers wrote, and from recordings."""

from __future__ import annotations

import csv
import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framegate.tools.audit.ranges import Range, Ranges
from framegate.tools.audit.tables import NoSuchFile, OtherFile
from framegate.tools.audit.watch import Watch, unseen

_COLUMNS: Final = ("stream", "epoch", "seq")
_DESCRIPTOR: Final = struct.Struct("<HHHHIQQ")
"""A message header (block length, template, schema, version), then stream, epoch and sequence."""
_DESCRIPTOR_TEMPLATE: Final = (4, 900)


@dataclass(slots=True)
class Published:
    """The published frames, by stream and epoch."""

    frames: dict[tuple[int, int], Ranges] = field(default_factory=dict)
    is_complete: bool = True
    """Whether nothing else was published: true for logs. A recording contains only what its recorder heard."""

    def epochs(self, stream: int) -> list[int]:
        return sorted(epoch for each, epoch in self.frames if each == stream)

    def streams(self) -> set[int]:
        return {stream for stream, _ in self.frames}


def read_published(sent: Iterable[Path], recording: Path | None, watch: Watch = unseen) -> Published | None:
    """Everything that is known of published frames; None if no file was given. Raises AuditError."""
    files = list(sent)
    if not files and recording is None:
        return None
    found: dict[tuple[int, int], list[Range]] = defaultdict(list)
    for path in files:
        _read_log(path, found)
    if recording is not None:
        _read_recording(recording, found, watch)
    return Published({key: Ranges(pairs) for key, pairs in found.items()}, is_complete=recording is None)


def _read_log(path: Path, found: dict[tuple[int, int], list[Range]]) -> None:
    try:
        text = path.read_text()
    except OSError as broken:
        raise NoSuchFile(f"{path} cannot be read: {broken.strerror}") from broken
    except UnicodeDecodeError as broken:
        raise OtherFile(f"{path} is no log of `produce --sent-log`: {broken}") from broken
    # The last line may be incomplete, because its writer was killed.
    whole, _, _ = text.rpartition("\n")
    lines = csv.DictReader(whole.splitlines())
    if not set(_COLUMNS) <= set(lines.fieldnames or ()):
        raise OtherFile(f"{path} needs the columns {', '.join(_COLUMNS)}")
    for line in lines:
        try:
            stream, epoch, seq = (int(line[name]) for name in _COLUMNS)
        except (TypeError, ValueError) as broken:
            raise OtherFile(f"{path}, line {lines.line_num}: {broken}") from broken
        _add(found[stream, epoch], seq)


def _read_recording(path: Path, found: dict[tuple[int, int], list[Range]], watch: Watch) -> None:
    from mcap.exceptions import McapError
    from mcap.reader import make_reader

    try:
        with (
            path.open("rb") as file,
            watch(f"read {path.name}", file.tell, path.stat().st_size),
        ):
            for _, channel, message in make_reader(file).iter_messages(log_time_order=False):
                if not channel.topic.startswith("stream/") or len(message.data) < _DESCRIPTOR.size:
                    continue
                _, template, schema, _, stream, epoch, seq = _DESCRIPTOR.unpack_from(message.data)
                if (template, schema) == _DESCRIPTOR_TEMPLATE and channel.topic.endswith("/FrameDescriptor"):
                    _add(found[stream, epoch], seq)
    except OSError as broken:
        raise NoSuchFile(f"{path} cannot be read: {broken.strerror}") from broken
    except McapError as broken:
        raise OtherFile(f"{path} is no whole recording: {broken}") from broken


def _add(ranges: list[Range], seq: int) -> None:
    if ranges and seq == ranges[-1][1] + 1:
        ranges[-1] = (ranges[-1][0], seq)
    else:
        ranges.append((seq, seq))
