# SPDX-License-Identifier: Apache-2.0
"""The demo itself, over the public interface: a gate, cameras beside it, a join, and what looks at its rows."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, Queue, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

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

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_WAITING_ROWS_MAX: Final = 256
_STEP_S: Final = 0.02


@dataclass(slots=True)
class Show:
    """One run. ``sheet`` has its pictures."""

    plan: Plan
    in_spark: bool
    look: Look = field(init=False)
    sheet: Sheet = field(init=False)
    verdict: Verdict = field(init=False)
    found: SimpleQueue[tuple[Finding, int]] = field(default_factory=SimpleQueue)
    """What the query has found and when, not checked yet."""

    def run(self) -> dict[str, Any]:
        """From the first process to the last; the summary. Raises DemoFailed and DemoWrong."""
        plan, names = self.plan, self.plan.cameras
        self.look, self.sheet = Look(tuple(names), plan.shape), Sheet(names, LAG, plan.frames)
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
            server, recorder = self._helpers(stack)
            query = self._query(stack, server)
            # Ctrl-C now ends the cameras, and the sums must still be right.
            stop = stack.enter_context(StopSignal())
            cameras = [stack.enter_context(Beside(name, plan.logs, *plan.camera(name))) for name in names]
            for camera in cameras:
                camera.said("ready")
            self._watch(joined, query, stop, cameras, [each for each in (server, recorder) if each is not None])
        return self._summary(joined, server)

    def _helpers(self, stack: ExitStack) -> tuple[Beside | None, Beside | None]:
        """Start what serves the journal to a cluster, and what records the cameras, if they are wanted."""
        plan, server, recorder = self.plan, None, None
        words: tuple[str, ...]
        if plan.options.has_cluster:
            words = ("framegate", "journal", "serve", str(plan.journal), "--listen", "grpc://127.0.0.1:0")
            server = stack.enter_context(Beside("server", plan.logs, *words, "--child", "--json"))
        if plan.options.record is not None:
            words = ("framegate", "record", plan.options.record, "--streams", ",".join(plan.cameras))
            recorder = stack.enter_context(Beside("recorder", plan.logs, *words, "--payload"))
        return server, recorder

    def _query(self, stack: ExitStack, server: Beside | None) -> StreamingQuery | None:
        if not self.in_spark:
            moved(scene(self.plan.shape).picture)  # what is computed once is computed before the first row comes
            return None
        from framegate.tools.demo.spark_query import looked_at_in_spark

        endpoint = None if server is None else str(server.said("ready")["endpoint"])
        return stack.enter_context(looked_at_in_spark(self.plan, self.look, self.found, endpoint))

    def _watch(
        self,
        joined: fg.Joined,
        query: StreamingQuery | None,
        stop: StopSignal,
        cameras: list[Beside],
        helpers: list[Beside],
    ) -> None:
        """Let the cameras begin, and look at every row until all have ended."""
        plan = self.plan
        rows: Queue[fg.Row] = Queue(_WAITING_ROWS_MAX)
        joined.on_row(partial(rows.put, timeout=END_S))
        offset_ns = joined.journal.info.realtime_minus_monotonic_ns
        self.verdict = Verdict(plan.cameras, plan.shape, realtime_minus_monotonic_ns=offset_ns)
        if plan.options.json:
            pids = {each.name: each.process.pid for each in (*cameras, *helpers)}
            places = {"home": str(plan.home), "journal": str(plan.journal)}
            emit({"event": "ready", "pid": os.getpid(), **places, "processes": pids})
        for camera in cameras:
            camera.begin()
        deadline_ns = monotonic_ns() + round((plan.options.seconds + 2 * END_S) * 1e9)
        with progress(as_json=plan.options.json) as shown:
            while not self._is_over(joined, rows, cameras):
                for each in (*cameras, *helpers):
                    each.check()
                if stop.is_set:
                    for camera in cameras:
                        camera.end()
                if monotonic_ns() > deadline_ns:
                    raise DemoFailed("rows are missing long after the cameras should have ended", rows=len(joined))
                self._take(rows, query)
                if (
                    shown.tell(joined, self.verdict)
                    and query is not None
                    and (failure := query.exception()) is not None
                ):
                    raise failure
            shown.tell(joined, self.verdict, is_last=True)

    def _take(self, rows: Queue[fg.Row], query: StreamingQuery | None) -> None:
        """Look at the next row, or check what the query has found in rows."""
        with suppress(Empty):
            row = rows.get(timeout=_STEP_S)
            self.sheet.take(row)
            if query is None:
                newest_ns = max(each.timestamp_ns or 0 for each in row.inputs.values())
                joined_ns = round(row["joined_at"].timestamp() * 1e6) * 1000
                finding = self.look({**row, "newest_ns": newest_ns, "joined_ns": joined_ns})
                self.verdict.take(finding, monotonic_ns())
        while not self.found.empty():
            self.verdict.take(*self.found.get())

    def _is_over(self, joined: fg.Joined, rows: Queue[fg.Row], cameras: list[Beside]) -> bool:
        """Whether every frame is in a row that was looked at, or has a cause."""
        if not (rows.empty() and all(camera.has_ended for camera in cameras)):
            return False
        unmatched, looked_at = joined.unmatched(), self.verdict.rows
        made = {camera.name: camera.said("summary")["frames"] for camera in cameras}
        return looked_at == len(joined) and all(
            frames == looked_at + sum(unmatched[name].values()) for name, frames in made.items()
        )

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
