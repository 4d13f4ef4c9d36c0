# SPDX-License-Identifier: Apache-2.0
"""Messages that another program recorded, as frames: images in their shape where the schema is known, else bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.recording.images import NotAnImage, decode_cdr, decode_json, decode_protobuf, decode_ros1
from framegate.recording.recorded import Recorded

# By schema and encoding; the two names of a ROS message are those of its two generations.
_DECODERS: Final = {
    ("foxglove.RawImage", "protobuf"): decode_protobuf,
    ("foxglove.RawImage", "json"): decode_json,
    ("sensor_msgs/msg/Image", "cdr"): decode_cdr,
    ("sensor_msgs/Image", "cdr"): decode_cdr,
    ("sensor_msgs/Image", "ros1"): decode_ros1,
}


@dataclass(frozen=True, slots=True)
class ForeignFrame:
    """A message's payload."""

    array: npt.NDArray[Any]
    is_broken_image: bool = False
    """Whether the schema is an image's, and the message none: it is given as bytes."""


def foreign_frame(recorded: Recorded) -> ForeignFrame:
    """What a message holds."""
    decode = _DECODERS.get((recorded.topic.schema, recorded.topic.encoding))
    if decode is not None:
        try:
            return ForeignFrame(decode(recorded.data))
        except NotAnImage:
            return ForeignFrame(np.frombuffer(recorded.data, np.uint8), is_broken_image=True)
    return ForeignFrame(np.frombuffer(recorded.data, np.uint8))
