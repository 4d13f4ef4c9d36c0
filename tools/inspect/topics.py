# SPDX-License-Identifier: Apache-2.0
"""Topics that other programs recorded: what there is of each, and their messages as frames where they are mapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from framegate.recording.foreign import ForeignFrame, ForeignTopic
from framegate.recording.header_time import HEADER
from framegate.recording.recorded import Recorded, Topic
from framegate.schema.console.quantities import byte_size, count
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DecoderMissing, StampMissing
from framegate.shmpool.client.stream_names import stream_text
from framegate.tools.inspect.printing import clean
from framegate.tools.inspect.seen import Seen, seen_of


@dataclass(slots=True)
class _Topic:
    schema: str
    encoding: str
    messages: int = 0
    bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    first: ForeignFrame | None = None
    """Its first message as a frame."""
    stamp: str | None = None
    """Where its messages have their own time."""

    @property
    def rate_hz(self) -> float | None:
        """Of its messages, by the times of the log."""
        span_ns = self.last_ns - self.first_ns
        return round((self.messages - 1) * 1e9 / span_ns, 3) if span_ns > 0 else None


class TopicsSeen:
    """Every message goes through ``seen``; afterwards ask for what there was."""

    def __init__(self, mapped: Mapping[str, int], times: str) -> None:
        self._mapped = mapped
        self._times = times
        self._topics: dict[str, _Topic] = {}
        self._decoded: dict[Topic, ForeignTopic] = {}

    def seen(self, recorded: Recorded) -> Seen:
        """A message; one of a topic that is mapped is a frame of its stream, numbered as a replay would."""
        found = seen_of(recorded)
        if found.kind != "foreign":
            return found
        name = recorded.topic.name
        topic = self._topics.setdefault(name, _Topic(recorded.topic.schema, recorded.topic.encoding))
        # In the order of the file, which need not be that of the times.
        topic.first_ns = min(topic.first_ns, recorded.log_time_ns) if topic.messages else recorded.log_time_ns
        topic.last_ns = max(topic.last_ns, recorded.log_time_ns)
        topic.messages += 1
        topic.bytes += len(recorded.data)
        stream = self._mapped.get(name)
        if topic.messages == 1:
            self._look_at(topic, recorded, is_mapped=stream is not None)
        if stream is None:
            return found
        return replace(
            found, stream=stream, seq=topic.messages - 1, epoch=1, timestamp_ns=self._time_of(recorded, topic)
        )

    def _look_at(self, topic: _Topic, recorded: Recorded, *, is_mapped: bool) -> None:
        """What the first message of a topic is. Raises ``DecoderMissing`` where that matters."""
        try:
            decoded = self._decoded[recorded.topic] = ForeignTopic(recorded.topic)
        except DecoderMissing:
            if is_mapped:
                raise
            return
        topic.first = decoded.frame(recorded.data, is_named=True)
        topic.stamp = None if decoded.stamp is None else str(decoded.stamp)
        if is_mapped and self._times == HEADER and topic.stamp is None:
            raise StampMissing(
                "its messages do not say when they were made, and --time header asks for it", topic=recorded.topic.name
            )

    def _time_of(self, recorded: Recorded, topic: _Topic) -> int | None:
        if self._times != HEADER:
            return recorded.log_time_ns
        if recorded.topic not in self._decoded:
            # A second type of messages on the same topic.
            self._look_at(topic, recorded, is_mapped=True)
        return self._decoded[recorded.topic].frame(recorded.data).stamp_ns

    def report(self) -> dict[str, dict[str, Any]]:
        """By name, as ``--json`` prints it."""
        return {
            name: {
                "schema": each.schema,
                "encoding": each.encoding,
                "messages": each.messages,
                "bytes": each.bytes,
                "rate_hz": each.rate_hz,
                "stream": self._mapped.get(name),
                "stamp": each.stamp,
                **_frame(each.first),
            }
            for name, each in sorted(self._topics.items())
        }

    @property
    def unmapped(self) -> list[str]:
        """The topics that are no stream."""
        return [name for name in sorted(self._topics) if name not in self._mapped]

    @property
    def unseen(self) -> list[str]:
        """What was mapped and is not there."""
        return [name for name in self._mapped if name not in self._topics]


def how_to_map(names: list[str]) -> str:
    """The options that make streams of topics."""
    return " ".join(f"--map {clean(name)}={10_001 + index}" for index, name in enumerate(names))


def _frame(first: ForeignFrame | None) -> dict[str, Any]:
    """What array a message is, as far as that is known here."""
    if first is None:
        return {"form": None, "dtype": None, "shape": None, "columns": []}
    array = first.array
    return {
        "form": first.form.value,
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "columns": list(first.columns),
    }


def print_topics(report: Mapping[str, Mapping[str, Any]], names: Mapping[int, str]) -> None:
    """A table for people, and the columns of those that have some."""
    rows = [
        (
            clean(name),
            clean(each["schema"]),
            clean(each["encoding"]),
            count(each["messages"]),
            "-" if each["rate_hz"] is None else f"{each['rate_hz']:,.2f} Hz",
            byte_size(each["bytes"]),
            _array(each),
            "-" if each["stamp"] is None else clean(each["stamp"]),
            "-" if each["stream"] is None else stream_text(each["stream"], names),
        )
        for name, each in report.items()
    ]
    print_table(("topic", "schema", "encoding", "messages", "rate", "size", "array", "stamp", "stream"), rows)
    for name, each in report.items():
        if each["columns"]:
            print(clean(f"columns of {name}: {' '.join(each['columns'])}"))


def _array(each: Mapping[str, Any]) -> str:
    if each["form"] is None:
        return "-"
    return f"{each['form']}, {each['dtype']} {'x'.join(str(size) for size in each['shape'])}"
