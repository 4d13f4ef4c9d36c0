# SPDX-License-Identifier: Apache-2.0
"""The libraries that decode the messages of topics. None is loaded before a topic needs it."""

from __future__ import annotations

from typing import Final

from framegate.recording.message_fields import Messages
from framegate.recording.recorded import Topic
from framegate.schema.errors import DecoderMissing
from framegate.schema.extras import how_to_install

_EXTRAS: Final = {"cdr": "ros", "ros1": "ros", "protobuf": "protobuf"}


def messages_of(topic: Topic) -> Messages | None:
    """The decoder for a topic's messages; None for an unknown encoding.

    Raises ``DecoderMissing``, and ``Unreadable`` for a definition that cannot be understood.
    """
    try:
        match topic.encoding:
            case "cdr" | "ros1":
                from framegate.recording.ros_messages import RosMessages

                return RosMessages(topic)
            case "protobuf":
                from framegate.recording.protobuf_messages import ProtobufMessages

                return ProtobufMessages(topic)
            case "json":
                from framegate.recording.json_messages import JsonMessages

                return JsonMessages(topic)
    except ModuleNotFoundError as failure:
        raise DecoderMissing(
            f"the library that decodes {topic.encoding} messages is not installed",
            hint=how_to_install(_EXTRAS[topic.encoding]),
            topic=topic.name,
            missing=failure.name,
        ) from None
    return None
