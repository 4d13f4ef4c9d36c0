# SPDX-License-Identifier: Apache-2.0
"""How far everything is, as an onlooker sees it: a consumer of every camera, and a reader of the journal's head."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.journal import journal
from framegate.shmpool.client.client import Client
from framegate.shmpool.clock import monotonic_ns
from framegate.tools.demo.plan import Plan
from framegate.tools.demo.table import CameraNow, Now
from framegate.tools.demo.verdict import Verdict

_RATE_NS: Final = 2_000_000_000
"""Rates are of the last two seconds."""


class Watch:
    """Attached to every camera: they begin when it is there."""

    def __init__(self, client: Client, plan: Plan) -> None:
        self._plan = plan
        self._journal = journal(plan.journal)
        self._head = Head.open(plan.journal)
        self._consumers = {camera.name: client.consumer(camera.stream) for camera in plan.cameras}
        self.made = dict.fromkeys(self._consumers, 0)
        self._began_ns = monotonic_ns()
        self._past: deque[tuple[int, dict[str, int]]] = deque()

    def poll(self) -> None:
        """Hear of new frames. Nothing is read of them but their numbers."""
        for name, consumer in self._consumers.items():
            while frames := consumer.poll():
                self.made[name] = frames.seqs[-1] + 1

    @property
    def rows(self) -> int:
        """How many the join has sealed."""
        if self._head is None or self._head.is_replaced():
            self._head = Head.open(self._plan.journal)
        return 0 if self._head is None else self._head.next_row

    def now(self, verdict: Verdict) -> Now:
        """Everything, for the table."""
        rows = self.rows
        not_joined = not_joined_by_camera(self._journal.unmatched())
        rates = self._rates({**self.made, "rows": rows, "computed": verdict.rows})
        cameras = [
            CameraNow(
                name=name,
                frames=frames,
                frames_per_s=rates[name],
                behind=max(frames - rows - not_joined[name], 0),
                not_joined=not_joined[name],
            )
            for name, frames in self.made.items()
        ]
        return Now(
            seconds=(monotonic_ns() - self._began_ns) / 1e9,
            cameras=cameras,
            rows=rows,
            rows_per_s=rates["rows"],
            gb_per_s=rates["rows"] * self._plan.row_bytes / 1e9,
            computed=verdict.rows,
            computed_per_s=rates["computed"],
            lag_ms=verdict.recent_lag_ms(),
            moved=verdict.moved(verdict.rows - 1) if verdict.rows else None,
        )

    def _rates(self, counted: dict[str, int]) -> dict[str, float]:
        now_ns = monotonic_ns()
        self._past.append((now_ns, counted))
        # One older than the span stays, so that there is always a whole span to look at.
        while len(self._past) > 2 and now_ns - self._past[1][0] >= _RATE_NS:
            self._past.popleft()
        then_ns, before = self._past[0]
        seconds = (now_ns - then_ns) / 1e9
        return {name: (count - before[name]) / seconds if seconds > 0 else 0.0 for name, count in counted.items()}


def not_joined_by_camera(unmatched: pa.Table) -> Counter[str]:
    """How many frames of each input the table names; a line may be a range."""
    return Counter({name: frames for (name,), frames in _counted(unmatched, ["input"])})


def causes(unmatched: pa.Table, camera: str) -> dict[str, int]:
    """How many frames of one input, by why they were not joined."""
    return {cause: frames for (name, cause), frames in _counted(unmatched, ["input", "cause"]) if name == camera}


def _counted(unmatched: pa.Table, keys: list[str]) -> list[tuple[tuple[str, ...], int]]:
    first, last = unmatched["seq"], pc.coalesce(unmatched["seq_last"], unmatched["seq"])
    table = unmatched.select(keys).append_column("frames", pc.add(pc.subtract(last, first), 1))
    lines = table.group_by(keys).aggregate([("frames", "sum")]).to_pylist()
    return sorted((tuple(line[key] for key in keys), int(line["frames_sum"])) for line in lines)
