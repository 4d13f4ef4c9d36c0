# SPDX-License-Identifier: Apache-2.0
"""The declarations of a replay's streams, like those of the original producers: the clock and the size of frames."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from framegate.recording.frames import FrameOfRecording, Item, Passage
from framegate.recording.message_sizes import largest_messages
from framegate.recording.reader import Recording
from framegate.recording.recorded import Topic
from framegate.recording.source import Source
from framegate.recording.topic_map import stream_of

_NO_UPTIME_NS: Final = 1_000_000_000_000_000_000
"""The year 2001 by the wall clock. A monotonic clock would show this after 31 years."""
_LOOK_AT: Final = 1_024


@dataclass(slots=True)
class Declared:
    """What is known of one stream's frames; None for what is not known."""

    clock: str | None = None
    frame_bytes_max: int | None = None

    def note(self, frame_bytes: int) -> None:
        """Note that a frame may have this size."""
        self.frame_bytes_max = max(self.frame_bytes_max or 0, frame_bytes)


def clock_of(frame: FrameOfRecording) -> str | None:
    """The clock that stamped a frame; None for the monotonic one, which need not be declared."""
    stamp_ns = frame.descriptor_timestamp_ns if frame.timestamp_ns is None else frame.timestamp_ns
    return "realtime" if (stamp_ns or 0) >= _NO_UPTIME_NS else None


def declared_of(
    recording: Source, topics: Mapping[str, int], times: str, streams: Collection[int]
) -> dict[int, Declared]:
    """What is known of some streams before their first frame is sent.

    The clock is that of a stream's first frame. The size is that of the largest message according to the recording's
    indexes, or that of the first image if images are compressed in their messages and it is larger. Dumps and bags have
    no such indexes, and are read as a whole.
    """
    found = {stream: Declared() for stream in streams}
    for frame in _frames(recording, Passage(recording, topics, times), streams):
        declared = found.setdefault(frame.stream, Declared())
        if declared.frame_bytes_max is None:
            declared.clock = clock_of(frame)
        declared.note(len(frame.payload))
    if isinstance(recording, Recording):
        for topic, size in largest_messages(recording).items():
            stream = _stream_of_frames(topic, topics)
            if size and stream in found:
                found[stream].note(size)
    return found


def _frames(recording: Source, items: Iterable[Item], streams: Collection[int]) -> Iterator[FrameOfRecording]:
    """The frames of a recording up to the first one of every stream, within a bound; all frames of any other source."""
    is_indexed = isinstance(recording, Recording)
    left = set(streams)
    for item in islice(items, _LOOK_AT) if is_indexed else items:
        if isinstance(item, FrameOfRecording):
            yield item
            left.discard(item.stream)
        if not left and is_indexed:
            return


def _stream_of_frames(name: str, topics: Mapping[str, int]) -> int | None:
    """The stream for a topic whose messages are sent as frames; None for any other topic."""
    topic = Topic.of(name, "", "")
    return stream_of(topic, topics) if topic.stream is None or topic.kind == "payload" else None
