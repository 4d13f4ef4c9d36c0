# SPDX-License-Identifier: Apache-2.0
"""What does a join barrier cost for each frame: telling it what was observed, and asking whether the output is ready?

One native thread; frames arrive in the order of the rules, and shuffled. No message is read and no frame is joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dev.bench.cargo import cargo_bench
from dev.bench.result import Result

TARGETS_NS: Final = {2: 9.0, 64: 6.0, 256: 6.0}
APPLY_NS: Final = 2000.0


def run() -> Iterator[Result]:
    """Each kind at each size, then what a new map costs."""
    for found in cargo_bench("framegate-join", "barriers"):
        yield Result(
            question=f"Rust: {found['name']}",
            measured=found["median_ns"],
            unit="ns",
            target=TARGETS_NS.get(found["inputs"], APPLY_NS),
            spread=(found["best"], found["worst"]),
            how=found["how"],
        )
