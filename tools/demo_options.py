# SPDX-License-Identifier: Apache-2.0
"""What the command line of ``framegate demo`` can say. Light: the command imports it at every start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """None is an option that was not given; without directories the demo makes its own and removes them."""

    aeron_dir: str | None = None
    base_dir: str | None = None
    seconds: float | None = None
    json: bool = False
