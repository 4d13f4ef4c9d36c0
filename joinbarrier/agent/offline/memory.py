# SPDX-License-Identifier: Apache-2.0
"""The memory for a recording's frames that wait for their partners: as much as the machine can give.

Offline there is no ring that would overwrite frames. The memory is address space until a frame is stored in it, so a
recording whose streams are in step uses little, whatever the bound is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.recording.recorded import Holdings
from framegate.schema.errors import FramesWithoutRoom

_LEAST_BYTES: Final = 256 << 20
_MEMORY_PART: Final = 2
_SPARE: Final = 64 << 20
"""The memory for partly filled chunks: copies are stored in chunks, and the last one of each stream is not full."""
_MESSAGE_BYTES: Final = 32
"""The least bytes of a message with its record in a file."""
_GROWTH: Final = 8
"""How much larger decoded data can be: a number of one byte may become one of eight in an array."""
_FRAMES_MOST: Final = 1 << 24


def offline_plan(
    plan: dict[str, Any], config: JoinConfig, holdings: Holdings, *, is_decoded: bool = False
) -> dict[str, Any]:
    """The plan of an engine that is fed a recording. ``is_decoded``: whether frames are decoded from the file's
    bytes."""
    content_bytes = holdings.content_bytes * (_GROWTH if is_decoded else 1)
    wanted = content_bytes + content_bytes // 4 + _SPARE
    most = max(_LEAST_BYTES, _available_bytes() // _MEMORY_PART)
    if "pending_bytes" in config.join.model_fields_set:
        most = config.join.pending_bytes
    frames = min(_FRAMES_MOST, holdings.content_bytes // _MESSAGE_BYTES)
    return {
        **plan,
        # Nothing can be late here, so memory is taken only when it is needed.
        "ahead_bytes": 0,
        "pending_bytes": min(wanted, most),
        "history": max(plan["history"], frames),
    }


def frames_without_room(summary: Mapping[str, Any], pending_bytes: int) -> FramesWithoutRoom | None:
    """The error for frames that found no space to wait; None if every frame did."""
    lost = {name: causes["no_room"] for name, causes in summary["causes"].items() if causes.get("no_room")}
    if not lost:
        return None
    return FramesWithoutRoom(
        f"{sum(lost.values())} frames found no room to wait for their partners",
        pending_bytes=pending_bytes,
        **lost,
    )


def _available_bytes() -> int:
    """The memory that the machine can give without taking it from another program."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return _LEAST_BYTES
