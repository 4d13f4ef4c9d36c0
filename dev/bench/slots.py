# SPDX-License-Identifier: Apache-2.0
"""What do one frame's claim and commit, and one view's validation, cost with the ring in the cache?

One native thread writes a ring full and reads it back; no payload is copied and nothing is sent. The other measurements
show what two processes make of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dev.bench.cargo import cargo_bench
from dev.bench.result import Result

VIEW_NS: Final = 25.0


def run() -> Iterator[Result]:
    """Both, at two sizes."""
    for found in cargo_bench("framegate-core", "frames"):
        is_view = found["name"].startswith("read")
        yield Result(
            question=f"Rust: {found['name']}",
            measured=found["median_ns"],
            unit="ns",
            target=VIEW_NS if is_view else None,
            how=found["how"],
        )
