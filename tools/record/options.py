# SPDX-License-Identifier: Apache-2.0
"""What the command line of ``framegate record`` can say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.schema.errors import WrongUsage
from framegate.shmpool.client.options import ClientOptions

CHUNK_BYTES: Final = 4 << 20
CHUNK_NS: Final = 500_000_000
"""So much of a slow stream may a kill cost."""
QUEUE_BYTES: Final = {False: 32 << 20, True: 192 << 20}
"""With payloads, a quarter of a second of two fast cameras."""
_STREAM_MAX: Final = (1 << 32) - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions(ClientOptions):
    """None is what it did not say."""

    out: Path
    streams: tuple[int, ...]
    payload: bool = False
    control: bool = False
    seconds: float | None = None
    frames: int = 0
    compression: str = "none"
    queue_bytes: int | None = None
    through_ends: bool = False
    """Whether the recording goes on after all streams have ended."""


def parse_streams(text: str) -> tuple[int, ...]:
    """The streams of a list.

    >>> parse_streams("10001, 10002,10001")
    (10001, 10002)
    """
    try:
        found = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        raise WrongUsage("--streams takes numbers, separated by commas", found=text) from None
    if not all(1 <= stream <= _STREAM_MAX for stream in found):
        raise WrongUsage(f"a stream is a number from 1 to {_STREAM_MAX}", found=text)
    return found
