# SPDX-License-Identifier: Apache-2.0
"""The options of ``framegate replay``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framegate.recording.header_time import LOG
from framegate.schema.errors import WrongUsage
from framegate.shmpool.client.options import ClientOptions
from framegate.shmpool.producer.producer import DEFAULT_PIPELINE

MAX: Final = math.inf
"""The speed that is as fast as the readers allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions(ClientOptions):
    """The options of the command line; None for one that was not given."""

    source: Path
    topics: dict[str, int] = field(default_factory=dict)
    times: str = LOG
    """Which of their times the frames of other programs' topics have."""
    speed: float = 1.0
    from_ns: int | None = None
    from_position: int = 0
    loop: int = 1
    """How often the recording is replayed; 0 until told to end."""
    wait_consumers: int = 0
    end: bool = False
    raw: bool = False
    check: Path | None = None
    pipeline: str = DEFAULT_PIPELINE
    restore: str | int | None = None
    """The checkpoint to go on from: ``latest``, or an id."""
    checkpoints: str | None = None
    """The folder of the checkpoints; None if the pipeline's coordinator names it."""

    @property
    def injects_for(self) -> str | None:
        """The pipeline whose barriers the streams send; None if the recorded barriers are sent instead."""
        return None if self.raw else self.pipeline


def parse_speed(text: str) -> float:
    """Parse a speed: how many times as fast as the recording.

    >>> parse_speed("4"), parse_speed("0.5"), parse_speed("max")
    (4.0, 0.5, inf)
    """
    if text == "max":
        return MAX
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 < speed <= 1e6:
        raise WrongUsage("--speed takes a factor, as in 1 or 4, or max", found=text)
    return speed
