# SPDX-License-Identifier: Apache-2.0
"""What the command line of ``framegate demo`` can say. Light: the command imports it at every start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SECONDS: Final = 15.0
INPUTS: Final = 3
SHAPE: Final = (480, 640)
RATE: Final = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """None is an option that was not given; without directories the demo makes its own and removes them."""

    aeron_dir: str | None = None
    base_dir: str | None = None
    seconds: float = SECONDS
    inputs: int = INPUTS
    shape: tuple[int, ...] = SHAPE
    rate: float = RATE
    has_spark: bool = True
    has_cluster: bool = False
    """Spark's executors are processes that fetch the rows by Flight, as on other hosts."""
    keep: str | None = None
    record: str | None = None
    """The file that the cameras are recorded in."""
    json: bool = False
