# SPDX-License-Identifier: Apache-2.0
"""Checks whether a recording has what is asked of it, by its topics alone and before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from framegate.recording.foreign import ForeignTopic
from framegate.recording.header_time import HEADER, LOG
from framegate.recording.recorded import LOSS_TOPIC, Topic
from framegate.recording.source import Source
from framegate.recording.topic_map import stream_of
from framegate.schema.errors import StampMissing, TopicMissing

_NAMED: int = 40
"""How many topics an error names; more would hide the first ones."""


def require_contents(
    recording: Source, topics: Mapping[str, int], streams: Iterable[int] = (), times: str = LOG
) -> None:
    """Raise ``TopicMissing`` if the recording lacks a topic of ``--map``, or a stream of a join.

    Raises ``OtherFileKind`` for a file of another kind, ``RecordingDamaged`` if nothing in it can be read, and
    ``DecoderMissing`` if the library for a mapped topic is not installed. Raises ``StampMissing`` if the messages' own
    times are asked for, and those of a mapped topic have none.
    """
    found = recording.holdings.topics
    recording.require_start()
    for name in topics:
        if not any(_is_named(topic, name) for topic in found):
            raise TopicMissing("the recording has no such topic", hint=_hint(found), topic=name, path=recording.name)
    there = {stream_of(topic, topics) for topic in found}
    for stream in streams:
        if stream not in there:
            raise TopicMissing(
                "the recording has nothing for this stream: no topic is the stream's own, and none is mapped to it",
                hint=_hint(found),
                stream=stream,
                path=recording.name,
            )
    mapped = [topic for topic in found if topic.stream is None and topic.name in topics]
    decoded = {topic: ForeignTopic(topic) for topic in mapped}
    if times == HEADER:
        _require_stamps(recording, decoded)


def _require_stamps(recording: Source, mapped: Mapping[Topic, ForeignTopic]) -> None:
    """Check that every mapped topic has own times, if they are asked for. Otherwise a join would compare two clocks."""
    unknown = {topic for topic, each in mapped.items() if each.is_told_by_messages}
    for recorded in recording if unknown else ():
        if recorded.topic in unknown:
            mapped[recorded.topic].frame(recorded.data)
            unknown.discard(recorded.topic)
        if not unknown:
            break
    for topic, each in mapped.items():
        if each.stamp is None and topic not in unknown:
            schema = topic.schema or f"{topic.encoding or 'no'} encoding"
            raise StampMissing(
                f"messages of {schema} do not say when they were made, and --time header asks for it",
                topic=topic.name,
                path=recording.name,
            )


def _is_named(topic: Topic, name: str) -> bool:
    return name == topic.name or (topic.stream is not None and name in (f"stream/{topic.stream}", str(topic.stream)))


def _hint(found: Iterable[Topic]) -> str:
    told = {f"stream/{topic.stream}" if topic.stream is not None else topic.name for topic in found}
    names = sorted(told - {LOSS_TOPIC})
    if not names:
        return "It has no topics at all."
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Its topics are {', '.join(names[:_NAMED])}{more}; --map TOPIC=STREAM says which stream a topic is."
