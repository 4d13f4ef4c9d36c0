# SPDX-License-Identifier: Apache-2.0
"""Which library decodes the messages of a topic. None is loaded before a topic needs it."""

from __future__ import annotations

from typing import Final

from framegate.recording.message_fields import Messages
from framegate.recording.recorded import Topic
from framegate.schema.errors import DecoderMissing
from framegate.schema.extras import how_to_install

_EXTRAS: Final = {"cdr": "ros", "ros1": "ros", "protobuf": "protobuf"}


def messages_of(topic: Topic) -> Messages | None:
    """What decodes a topic's messages; None for an encoding that is not known here.

    Raises ``DecoderMissing``, and ``Unreadable`` for a definition that makes no sense.
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
