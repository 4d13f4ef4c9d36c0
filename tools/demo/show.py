# SPDX-License-Identifier: Apache-2.0
"""The demo itself, over the public interface: a gate, cameras beside it, a join, and what looks at its rows."""

from __future__ import annotations

import os
from collections import deque
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from framegate.joinbarrier.config.toml_text import toml_text
from framegate.schema.console.progress import progress
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DemoFailed
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.moving import MOTION, scene
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.beside import END_S, Beside
from framegate.tools.demo.looking import Finding, look, moved
from framegate.tools.demo.plan import LAG, Plan
from framegate.tools.demo.sheet import Sheet
from framegate.tools.demo.shown import so_far
from framegate.tools.demo.verdict import Verdict

import framegate as fg

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_STEP_S: Final = 0.02
_TELL_NS: Final = 1_000_000_000


class Show:
    """One run. ``sheet`` has its pictures."""

    def __init__(self, plan: Plan, *, in_spark: bool) -> None:
        self.plan, self.in_spark = plan, in_spark
        self.sheet = Sheet(plan.cameras, LAG, plan.frames)
        self._found = deque[tuple[Finding, int]]()
        """What was found in rows and when, not checked yet."""
        self._look = partial(look, plan.cameras)
        self._query: StreamingQuery | None = None

    def run(self) -> dict[str, Any]:
        """From the first process to the last; the summary. Raises DemoFailed and DemoWrong."""
        plan, names = self.plan, self.plan.cameras
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
            # `framegate join --config join.toml --from demo.mcap` gives the same rows.
            tables = joined.config.model_dump(include={"join", "journal", "input"}, exclude_defaults=True)
            (plan.folder / "join.toml").write_text(toml_text(tables))

            beside = {each: stack.enter_context(Beside(each, plan.logs, *words)) for each, words in plan.helpers()}
            server = beside.get("server")
            if self.in_spark:
                from framegate.tools.demo.spark_query import looked_at_in_spark

                endpoint = None if server is None else server.said("ready")["endpoint"]
                self._query = stack.enter_context(looked_at_in_spark(plan, self._look, self._found, endpoint))
            else:
                moved(scene(plan.shape).picture)  # what is computed once is computed before the first row comes
            stop = stack.enter_context(StopSignal())
            beside |= {each: stack.enter_context(Beside(each, plan.logs, *plan.camera(each))) for each in names}
            for each in beside.values():
                each.said("ready")

            self.joined, self.beside, offset_ns = joined, beside, joined.journal.info.realtime_minus_monotonic_ns
            self.verdict = Verdict(names, plan.shape, realtime_minus_monotonic_ns=offset_ns)
            joined.on_row(self._take)
            if plan.options.json:
                places = {"home": str(plan.home), "journal": str(plan.journal)}
                pids = {name: each.process.pid for name, each in beside.items()}
                emit({"event": "ready", "pid": os.getpid(), **places, "processes": pids})
            self._began_ns = self._told_ns = monotonic_ns()
            # Each camera waits for one consumer more than there are: by these they begin together.
            for name in names:
                stack.enter_context(gate.consumer(name))
            wanted, as_json = plan.frames - LAG, plan.options.json
            with progress("look at", lambda: self.verdict.rows, wanted, unit="rows", as_json=as_json):
                self._watch(stop)
            if server is not None:
                server.end()
        return self._summary(None if server is None else server.said("summary"))

    def _take(self, row: fg.Row) -> None:
        """What becomes of each row; in Spark another thread looks at it."""
        self.sheet.take(row)
        self.verdict.see(row)
        if not self.in_spark:
            self._found.append((self._look(row), monotonic_ns()))

    def _watch(self, stop: StopSignal) -> None:
        """Until every row was found right. Ctrl-C ends the cameras early, and the sums must still be right."""
        joined, cameras, is_ending = self.joined, [self.beside[name] for name in self.plan.cameras], False
        while not (all(each.has_ended for each in cameras) and (joined.is_over or is_ending)):
            if stop.wait(_STEP_S) and not is_ending:
                is_ending = True
                for each in self.beside.values():
                    each.end()
            self._turn()
        joined.close()
        while self.verdict.rows < joined.summary["rows"]:
            stop.wait(_STEP_S)
            self._turn()
        self._tell()

    def _turn(self) -> None:
        for each in self.beside.values():
            each.check()
        while self._found and self._found[0][0].row < self.verdict.seen:
            self.verdict.take(*self._found.popleft())
        if self._query and (failure := self._query.exception()):
            raise failure
        if monotonic_ns() - self._began_ns > (self.plan.options.seconds + 2 * END_S) * 1e9:
            raise DemoFailed("rows are missing long after the cameras should have ended", rows=len(self.joined))
        if monotonic_ns() - self._told_ns > _TELL_NS:
            self._tell()

    def _tell(self) -> None:
        self._told_ns = monotonic_ns()
        if self.plan.options.json:
            emit(so_far(self.joined, self.verdict, (self._told_ns - self._began_ns) / 1e9))

    def _summary(self, served: dict[str, Any] | None) -> dict[str, Any]:
        plan, rows = self.plan, self.joined.summary["rows"]
        books = fg.audit(plan.journal, sent=[plan.sent(name) for name in plan.cameras])
        self.verdict.check(rows, books)
        cameras = [
            {"name": name, "frames": book["published"], "joined": book["joined"], "not_joined": book["unmatched"]}
            for name, book in books["inputs"].items()
        ]
        # What the executors got from the server: every row that was joined, or the figure shows it.
        fetched = {} if served is None else {"flight": {name: served[name] for name in ("rows", "bytes", "streams")}}
        return {
            "event": "summary",
            "rows": rows,
            "frames": sum(each["frames"] for each in cameras),
            "unexplained": books.unexplained,
            "bytes": self.joined.summary["bytes"],
            **self.verdict.measured(plan.row_bytes),
            "motion": {"rows": MOTION[0], "columns": MOTION[1], "recovered_sets": self.verdict.rows},
            "lag_frames": LAG,
            "spark": self.in_spark,
            "cluster": plan.options.has_cluster,
            **fetched,
            "cameras": cameras,
        }
