# SPDX-License-Identifier: Apache-2.0
"""The options of ``framegate record``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.shmpool.client.options import ClientOptions

CHUNK_BYTES: Final = 4 << 20
CHUNK_NS: Final = 500_000_000
"""How often a chunk is written: a kill loses this much of a slow stream at most."""
QUEUE_BYTES: Final = {False: 32 << 20, True: 192 << 20}
"""The size of chunks with payloads: a quarter of a second of two fast cameras."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions(ClientOptions):
    """The options of the command line; None for one that was not given."""

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


def parse_streams(text: str, number_of: Callable[[str], int]) -> tuple[int, ...]:
    """The streams of a list. ``number_of`` gives the number of a named stream.

    >>> parse_streams("10001, left,10001", {"10001": 10001, "left": 27503}.__getitem__)
    (10001, 27503)
    """
    return tuple(dict.fromkeys(number_of(word.strip()) for word in text.split(",")))
