# SPDX-License-Identifier: Apache-2.0
"""What the command line of ``framegate inspect`` can say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from framegate.recording.header_time import LOG
from framegate.schema.errors import WrongUsage
from framegate.shmpool.client.options import ClientOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions(ClientOptions):
    """None is what it did not say."""

    source: str
    streams: tuple[int, ...] = ()
    """All, where none is named."""
    templates: tuple[str, ...] = ()
    """Names of messages or numbers of templates; all, where none is named."""
    sequences: tuple[int | None, int | None] = (None, None)
    """From the first to before the second."""
    limit: int = 0
    seconds: float | None = None
    strict: bool = False
    stats: bool = False
    suggest: bool = False
    topics: dict[str, int] = field(default_factory=dict)
    """Streams of other programs' topics."""
    times: str = LOG
    """Which time their messages have."""


def parse_range(text: str) -> tuple[int | None, int | None]:
    """A range of sequences.

    >>> parse_range("10:20"), parse_range("7"), parse_range(":5")
    ((10, 20), (7, 8), (None, 5))
    """
    found = re.fullmatch(r"(\d{0,20})(:?)(\d{0,20})", text)
    if found is None or not (found[1] or found[2]):
        raise WrongUsage("--seq takes a sequence, or a range such as 10:20", found=text)
    first, last = (int(part) if part else None for part in (found[1], found[3]))
    return (first, last) if found[2] else (first, (first or 0) + 1)
