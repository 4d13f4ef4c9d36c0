# SPDX-License-Identifier: Apache-2.0
"""By which clock the frames of a recording were stamped: a replay declares it, as their producer did."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from framegate.recording.frames import FrameOfRecording, Item

_NO_UPTIME_NS: Final = 1_000_000_000_000_000_000
"""2001 by the wall clock; a monotonic one would have run for 31 years."""
_LOOK_AT: Final = 1_024


def clock_of(frame: FrameOfRecording) -> str | None:
    """The clock that stamped a frame; None: the monotonic one, which needs no word."""
    stamp_ns = frame.descriptor_timestamp_ns if frame.timestamp_ns is None else frame.timestamp_ns
    return "realtime" if (stamp_ns or 0) >= _NO_UPTIME_NS else None


def clocks_of(items: Iterable[Item], streams: Collection[int]) -> dict[int, str | None]:
    """The clocks of some streams, as far as the beginning of a recording tells."""
    found: dict[int, str | None] = {}
    for item in islice(items, _LOOK_AT):
        if isinstance(item, FrameOfRecording):
            found.setdefault(item.stream, clock_of(item))
        if found.keys() >= set(streams):
            break
    return found
