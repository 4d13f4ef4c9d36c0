# SPDX-License-Identifier: Apache-2.0
"""How long does a checkpoint with 256 MB of waiting frames keep a join from its work?

Two native producers at a rate, one agent, each a process. Frames of one input wait for 4,096 rows, so every checkpoint
stores 256 MB. A run with a checkpoint every second and one without are made in turn. The longest part of a snapshot
that the loop did in one go is told by the loop's CPU clock, and by the wall clock, which holds what other processes
took of the cores. How long the loop was away between two slices is told with and without checkpoints, and so is what
was lost. How long a checkpoint took until it was stored is told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dev.bench.join_bed import FAULTED, Case, joining
from dev.bench.join_checkpoints import coordinated, stored_part
from dev.bench.result import Result

_RUNS: Final = 3
_SECONDS: Final = 6
_RATE_HZ: Final = 2_000
_CASE: Final = Case(64 << 10, 1024, waiting=4096)
_FILLED_S: Final = 3
"""Until so many frames wait."""


def run() -> Iterator[Result]:
    """About two minutes."""
    with_them, without = [], []
    for _ in range(_RUNS):
        with_them.append(_run(first_cut=1))
        without.append(_run(first_cut=0))
    stored = [each["checkpoints"] for each in with_them]
    for what, name, target in (("CPU time", "longest_snapshot_cpu_ns", 2.0), ("time", "longest_snapshot_ns", None)):
        yield _milliseconds(
            f"longest {what} of the loop for a part of a snapshot of 256 MB", [each[name] for each in stored], target
        )
    for what, runs in (("with a checkpoint every second", with_them), ("without", without)):
        yield _milliseconds(f"longest pause between two slices, {what}", [each["longest_absence_ns"] for each in runs])
        yield _milliseconds(f"longest turn, {what}", [each["longest_turn_ns"] for each in runs])
        lost = [sum(each["overwritten"].values()) for each in runs]
        yield _told(f"frames overwritten, {what}", lost, "frames", 0)
    yield _told("bytes of a checkpoint", [each["stored_state_bytes"] / each["stored"] / 1e6 for each in stored], "MB")
    yield _milliseconds(
        "from a producer's barrier to the stored checkpoint", [each["durable_ns"] for each in with_them]
    )


def _run(*, first_cut: int) -> dict[str, Any]:
    with joining(_CASE, **FAULTED) as join:
        store = join.home / "checkpoints"
        with coordinated(join, store):
            join.cut(_RATE_HZ, _FILLED_S, 0)
            done = join.cut(_RATE_HZ, _SECONDS, first_cut)
            # The time at which its last file was written is by the wall clock.
            parts = [stored_part(store, first_cut + second) for second in range(len(done.cut_ns))]
            durable = [part.stat().st_mtime_ns - sent for part, sent in zip(parts, done.cut_ns, strict=True)]
            summary = join.end()
    return summary | {"durable_ns": max(durable, default=0)}


def _milliseconds(question: str, found: list[int], target: float | None = None) -> Result:
    return _told(question, [each / 1e6 for each in found], "ms", target)


def _told(question: str, found: list[float], unit: str, target: float | None = None) -> Result:
    return Result.of_rounds(
        question,
        found,
        unit=unit,
        target=target,
        how=f"median of {len(found)} runs of {_SECONDS} s, each the longest; {_RATE_HZ} pairs/s of 64 KiB",
    )
