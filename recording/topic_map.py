# SPDX-License-Identifier: Apache-2.0
"""The map from topics to streams: ``--map TOPIC=STREAM`` decides, or else the name of one of our own topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from framegate.recording.recorded import Topic
from framegate.schema.config.types import BUILT_IN_STREAMS, STREAM_NAME
from framegate.schema.errors import WrongUsage

STREAM_MAX: Final = (1 << 32) - 2


def parse_topics(words: Iterable[str], number_of: Callable[[str], int] = int) -> dict[str, int]:
    """Parse words such as ``TOPIC=STREAM``. ``number_of`` gives the number of a named stream.

    >>> parse_topics(["/camera/image=10001", "stream/10001=10011"])
    {'/camera/image': 10001, 'stream/10001': 10011}
    """
    found: dict[str, int] = {}
    for word in words:
        topic, equals, stream = word.rpartition("=")
        if not equals or not topic or not re.fullmatch(rf"[0-9]{{1,10}}|{STREAM_NAME}", stream):
            raise WrongUsage("--map takes TOPIC=STREAM, as in /camera/image=10001 or /camera/image=left", found=word)
        number = number_of(stream)
        if not 1 <= number <= STREAM_MAX:
            raise WrongUsage(f"a stream is a number from 1 to {STREAM_MAX}", found=word)
        if topic in found:
            raise WrongUsage("a topic is mapped once", topic=topic)
        found[topic] = number
    targets = list(found.values())
    if len(set(targets)) < len(targets):
        # The sequences of the two topics would go back and forth on the stream.
        raise WrongUsage("two topics cannot be one stream", found=" ".join(words))
    return found


def unserved(topics: Mapping[str, int]) -> list[str]:
    """A warning for each topic whose stream a replay could not have from a driver with default settings.

    >>> unserved({"/camera/image": 10_001})
    []
    """
    return [
        f"--map {topic}={stream}: a driver without a file serves the streams {BUILT_IN_STREAMS}, and refuses a replay "
        f"of this one; with {topic}={BUILT_IN_STREAMS.instead_of(stream)}, here and in the join's file, both work"
        for topic, stream in topics.items()
        if not is_ours(topic) and stream not in BUILT_IN_STREAMS
    ]


def is_ours(name: str) -> bool:
    """Whether a name stands for one of our own streams, and not for a topic of another program.

    >>> is_ours("10001"), is_ours("stream/10001"), is_ours("/camera/image")
    (True, True, False)
    """
    return name.isdigit() or name.startswith("stream/")


def stream_of(topic: Topic, topics: Mapping[str, int]) -> int | None:
    """The stream for a topic's messages; None if they are not sent.

    >>> ours = Topic.of("stream/10001/payload", "raw", "")
    >>> stream_of(ours, {}), stream_of(ours, {"stream/10001": 10011}), stream_of(ours, {"10001": 10012})
    (10001, 10011, 10012)
    >>> stream_of(Topic.of("/camera/image", "cdr", ""), {}) is None
    True
    """
    if topic.stream is None:
        return topics.get(topic.name)
    for name in (topic.name, f"stream/{topic.stream}", str(topic.stream)):
        if name in topics:
            return topics[name]
    return topic.stream
