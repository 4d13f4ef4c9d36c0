# SPDX-License-Identifier: Apache-2.0
"""When a message of another program says that it was made: a ROS header's stamp, a Foxglove message's timestamp.

What has no such time, or leaves it at zero, as senders do that do not set it, has none here.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Any, Final

from framegate.recording.images import NotAnImage, protobuf_fields
from framegate.recording.recorded import Recorded
from framegate.schema.errors import WrongUsage

LOG, HEADER = "log", "header"
_SECOND_NS: Final = 1_000_000_000
_TIME_MAX: Final = (1 << 63) - 1
_STAMP_ROS1: Final = struct.Struct("<4x I I")
# Their first field is a std_msgs/Header.
_ROS: Final = re.compile(
    r"diagnostic_msgs/(?:msg/)?DiagnosticArray|"
    r"sensor_msgs/(?:msg/)?(?:BatteryState|CameraInfo|CompressedImage|FluidPressure|Illuminance|Image|Imu|JointState|Joy|"
    r"LaserScan|MagneticField|MultiEchoLaserScan|NavSatFix|PointCloud2?|Range|RelativeHumidity|Temperature|TimeReference)"
)
# Their field 1 is the timestamp.
_FOXGLOVE: Final = re.compile(
    r"foxglove\.(?:CameraCalibration|CompressedImage|CompressedVideo|LaserScan|PointCloud|RawImage)"
)


def parse_times(text: str) -> str:
    """Which time foreign messages take.

    >>> parse_times("header")
    'header'
    """
    if text not in (LOG, HEADER):
        raise WrongUsage("--time is log or header", found=text)
    return text


def header_time_ns(recorded: Recorded) -> int | None:
    """The message's own time, in nanoseconds; None where there is none that can be read."""
    read = _reader(recorded.topic.schema, recorded.topic.encoding)
    if read is None:
        return None
    try:
        seconds, nanoseconds = read(recorded.data)
    except (NotAnImage, ValueError, TypeError, KeyError, IndexError, RecursionError, struct.error):
        return None
    if type(seconds) is not int or type(nanoseconds) is not int or not 0 <= nanoseconds < _SECOND_NS:
        return None
    found = seconds * _SECOND_NS + nanoseconds
    return found if 0 < found <= _TIME_MAX else None


def _reader(schema: str, encoding: str) -> Callable[[bytes], tuple[Any, Any]] | None:
    if _ROS.fullmatch(schema):
        return {"ros1": _ros1, "cdr": _cdr}.get(encoding)
    if _FOXGLOVE.fullmatch(schema):
        return {"protobuf": _protobuf, "json": _json}.get(encoding)
    return None


def _ros1(data: bytes) -> tuple[Any, Any]:
    seconds, nanoseconds = _STAMP_ROS1.unpack_from(data)
    return seconds, nanoseconds


def _cdr(data: bytes) -> tuple[Any, Any]:
    # The second of the four bytes before the fields says the byte order; any of the encapsulations begins alike.
    order = "<" if data[1] & 1 else ">"
    seconds, nanoseconds = struct.unpack_from(f"{order}4x i I", data)
    return seconds, nanoseconds


def _protobuf(data: bytes) -> tuple[Any, Any]:
    # A view: the image's own bytes are passed over, not copied.
    for field, value in protobuf_fields(memoryview(data)):
        if field == 1 and not isinstance(value, int):
            said = dict(protobuf_fields(value))
            # A field that is zero is not sent.
            return said.get(1, 0), said.get(2, 0)
    return 0, 0


def _json(data: bytes) -> tuple[Any, Any]:
    said = json.loads(data)["timestamp"]
    return said["sec"], said["nsec"]
