# SPDX-License-Identifier: Apache-2.0
"""Topics that other programs recorded: what there is of each, and their messages as frames where they are mapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from framegate.recording.header_time import HEADER, header_time_ns
from framegate.recording.recorded import Recorded
from framegate.schema.console.quantities import byte_size, count
from framegate.schema.console.terminal import print_table
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

    def seen(self, recorded: Recorded) -> Seen:
        """A message; one of a topic that is mapped is a frame of its stream, numbered as a replay would."""
        found = seen_of(recorded)
        if found.kind != "foreign":
            return found
        name = recorded.topic.name
        topic = self._topics.setdefault(name, _Topic(recorded.topic.schema, recorded.topic.encoding))
        topic.first_ns = topic.first_ns if topic.messages else recorded.log_time_ns
        topic.last_ns = recorded.log_time_ns
        topic.messages += 1
        topic.bytes += len(recorded.data)
        stream = self._mapped.get(name)
        if stream is None:
            return found
        stamp = header_time_ns(recorded) if self._times == HEADER else None
        return replace(
            found,
            stream=stream,
            seq=topic.messages - 1,
            epoch=1,
            timestamp_ns=recorded.log_time_ns if stamp is None else stamp,
        )

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


def print_topics(report: Mapping[str, Mapping[str, Any]]) -> None:
    """A table for people."""
    rows = [
        (
            clean(name),
            clean(each["schema"]),
            clean(each["encoding"]),
            count(each["messages"]),
            "-" if each["rate_hz"] is None else f"{each['rate_hz']:,.2f} Hz",
            byte_size(each["bytes"]),
            "-" if each["stream"] is None else str(each["stream"]),
        )
        for name, each in report.items()
    ]
    print_table(("topic", "schema", "encoding", "messages", "rate", "size", "stream"), rows)
