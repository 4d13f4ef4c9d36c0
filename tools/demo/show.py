# SPDX-License-Identifier: Apache-2.0
"""The demo itself, over the public interface: a gate, cameras beside it, a join, and what looks at its rows."""

from __future__ import annotations

import os
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, Queue
from typing import Any, Final

from framegate.joinbarrier.config.toml_text import toml_text
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DemoFailed
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.moving import MOTION, scene
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.beside import END_S, Beside
from framegate.tools.demo.looking import Finding, Look, moved
from framegate.tools.demo.plan import LAG, Plan
from framegate.tools.demo.sheet import Sheet
from framegate.tools.demo.shown import progress
from framegate.tools.demo.verdict import Verdict

import framegate as fg

_WAITING_ROWS_MAX: Final = 256
_STEP_S: Final = 0.02


@dataclass(slots=True)
class Show:
    """One run. ``sheet`` has its pictures."""

    plan: Plan
    in_spark: bool
    sheet: Sheet = field(init=False)
    verdict: Verdict = field(init=False)
    found: deque[tuple[Finding, int]] = field(default_factory=deque)
    """What the query has found and when, not checked yet."""

    def run(self) -> dict[str, Any]:
        """From the first process to the last; the summary. Raises DemoFailed and DemoWrong."""
        plan, names, query = self.plan, self.plan.cameras, None
        look = Look(tuple(names))
        with ExitStack() as stack:
            # A driver of this program's own, or the one that runs there.
            gate = stack.enter_context(fg.local())
            # A row has the cameras' frames of one number, and the late camera's whose number is LAG higher.
            joined = gate.join(
                *names[:-1],
                inputs={names[-1]: f"offset {LAG}"},
                journal=str(plan.journal),
                max_bytes=plan.journal_bytes,
                when_full="block",  # no row goes before it was looked at
                seal_ms=2,
            )
            stack.enter_context(joined)
            _write_join_file(joined, plan)
            helpers = {
                name: stack.enter_context(Beside(name, plan.logs, *words)) for name, words in plan.helpers().items()
            }
            if self.in_spark:
                from framegate.tools.demo.spark_query import looked_at_in_spark

                endpoint = helpers["server"].said("ready")["endpoint"] if "server" in helpers else None
                query = stack.enter_context(looked_at_in_spark(plan, look, self.found, endpoint))
            else:
                moved(scene(plan.shape).picture)  # what is computed once is computed before the first row comes
            # Ctrl-C now ends the cameras, and the sums must still be right.
            stop = stack.enter_context(StopSignal())
            cameras = [stack.enter_context(Beside(name, plan.logs, *plan.camera(name))) for name in names]
            for camera in cameras:
                camera.said("ready")

            rows: Queue[fg.Row] = Queue(_WAITING_ROWS_MAX)
            joined.on_row(partial(rows.put, timeout=END_S))
            offset_ns = joined.journal.info.realtime_minus_monotonic_ns
            self.verdict = Verdict(names, plan.shape, realtime_minus_monotonic_ns=offset_ns)
            self.sheet = Sheet(names, LAG, plan.frames)
            self._say_ready([*cameras, *helpers.values()])
            for camera in cameras:
                camera.begin()
            deadline_ns = monotonic_ns() + round((plan.options.seconds + 2 * END_S) * 1e9)
            with progress(as_json=plan.options.json) as shown:
                while not self._is_over(joined, cameras):
                    for each in (*cameras, *helpers.values()):
                        each.check()
                    if stop.is_set:
                        for camera in cameras:
                            camera.end()
                    if monotonic_ns() > deadline_ns:
                        raise DemoFailed("rows are missing long after the cameras should have ended", rows=len(joined))
                    self._take(rows, look)
                    if shown.tell(joined, self.verdict) and query and (failure := query.exception()):
                        raise failure
                shown.tell(joined, self.verdict, is_last=True)
        return self._summary(joined, helpers.get("server"))

    def _take(self, rows: Queue[fg.Row], look: Look) -> None:
        """Look at the next row, and check what was found in rows."""
        with suppress(Empty):
            row = rows.get(timeout=_STEP_S)
            self.sheet.take(row)
            self.verdict.see(row)
            if not self.in_spark:
                self.found.append((look(row), monotonic_ns()))
        while self.found and self.found[0][0].row < self.verdict.seen:
            self.verdict.take(*self.found.popleft())

    def _is_over(self, joined: fg.Joined, cameras: list[Beside]) -> bool:
        """Whether every frame is in a row that was looked at, or has a cause."""
        if not all(camera.has_ended for camera in cameras) or self.verdict.rows != len(joined):
            return False
        unmatched = {name: sum(causes.values()) for name, causes in joined.unmatched().items()}
        return all(each.said("summary")["frames"] == self.verdict.rows + unmatched[each.name] for each in cameras)

    def _say_ready(self, beside: list[Beside]) -> None:
        if self.plan.options.json:
            pids = {each.name: each.process.pid for each in beside}
            places = {"home": str(self.plan.home), "journal": str(self.plan.journal)}
            emit({"event": "ready", "pid": os.getpid(), **places, "processes": pids})

    def _summary(self, joined: fg.Joined, server: Beside | None) -> dict[str, Any]:
        plan, rows = self.plan, int(joined.summary["rows"])
        books = fg.audit(plan.journal, sent=[plan.sent(name) for name in plan.cameras])
        self.verdict.check(rows, books)
        cameras = [
            {"name": name, "frames": book["published"], "joined": book["joined"], "not_joined": book["unmatched"]}
            for name, book in books["inputs"].items()
        ]
        told = {} if server is None else server.said("summary")
        return {
            "event": "summary",
            "rows": rows,
            "frames": sum(each["frames"] for each in cameras),
            "unexplained": books.unexplained,
            "bytes": joined.summary["bytes"],
            **self.verdict.measured(plan.row_bytes),
            "motion": {"rows": MOTION[0], "columns": MOTION[1], "recovered_sets": self.verdict.rows},
            "lag_frames": LAG,
            "spark": self.in_spark,
            "cluster": plan.options.has_cluster,
            # What the executors got from the server: every row that was joined, or the figure shows it.
            **({"flight": {name: told[name] for name in ("rows", "bytes", "streams")}} if told else {}),
            "cameras": cameras,
        }


def _write_join_file(joined: fg.Joined, plan: Plan) -> None:
    """Write down the join: `framegate join --config join.toml --from demo.mcap` gives the same rows."""
    tables = joined.config.model_dump(include={"join", "journal", "input"}, exclude_defaults=True)
    (plan.folder / "join.toml").write_text(toml_text(tables))
