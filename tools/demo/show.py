# SPDX-License-Identifier: Apache-2.0
"""The course of the demo: who starts after whom, what is watched meanwhile, who ends first, and the sums."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Final

from framegate.joinbarrier.journal.journal import journal
from framegate.schema.console.reporting import emit
from framegate.shmpool.client.client import Client
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.moving import MOTION
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.cast import STEP_NS, Cast
from framegate.tools.demo.child import Child
from framegate.tools.demo.looking import Finding
from framegate.tools.demo.plan import LAG, Plan
from framegate.tools.demo.sampler import Sampler
from framegate.tools.demo.table import Table, table
from framegate.tools.demo.verdict import Verdict
from framegate.tools.demo.watch import Watch, causes

_READY_S: Final = 60.0
_SPARK_READY_S: Final = 180.0
_END_S: Final = 60.0
_RECORDER: Final = "recorder"
_SERVER: Final = "server"
_SERVERS: Final = ("authority", "driver")
_SETTLED_NS: Final = 500_000_000
"""No row for so long after the cameras were told to end: the join has read all that they made."""


@dataclass(slots=True)
class Show:
    """One run. ``summary`` is there when it was right from the beginning to the end."""

    plan: Plan
    cast: Cast
    stop: StopSignal
    in_spark: bool
    sampler: Sampler = field(init=False)
    verdict: Verdict = field(init=False)
    cameras: list[Child] = field(init=False)

    def run(self) -> dict[str, Any]:
        """From the first process to the last. Raises DemoFailed, DemoWrong and Interrupted."""
        self._begin()
        self._say_ready()
        offset_ns = journal(self.plan.journal).info.realtime_minus_monotonic_ns
        names = [camera.name for camera in self.plan.cameras]
        self.verdict = Verdict(names, self.plan.shape, realtime_minus_monotonic_ns=offset_ns)
        self.sampler = Sampler(self.plan)
        with Client(aeron_dir=self.plan.aeron_dir, base_dirs=[self.plan.base_dir]) as client:
            watch = Watch(client, self.plan)
            with table(as_json=self.plan.options.json) as shown:
                self._watch(watch, shown)
                shown.show(watch.now(self.verdict))
            self.sampler.last(watch.rows)
        return self._finish()

    # --- the beginning -------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Everything but the cameras' pictures: they wait for the join and for the table."""
        plan, cast = self.plan, self.cast
        plan.join_file.write_text(plan.join_toml())
        for name, words in (("driver", plan.driver()), ("authority", plan.authority()), ("join", plan.join())):
            cast.ready(cast.start(name, words), _READY_S)
        if plan.options.record is not None:
            cast.ready(cast.start(_RECORDER, plan.recorder(plan.options.record)), _READY_S)
        query = cast.start("query", plan.query(in_spark=self.in_spark, endpoint=self._served()))
        cast.ready(query, _SPARK_READY_S if self.in_spark else _READY_S)
        self.cameras = [cast.start(camera.name, plan.camera(camera)) for camera in plan.cameras]
        for camera in self.cameras:
            cast.ready(camera, _READY_S)

    def _served(self) -> str | None:
        """Start the journal's server where executors ask for one; its address."""
        if not self.plan.options.has_cluster:
            return None
        server = self.cast.start(_SERVER, self.plan.server())
        self.cast.ready(server, _READY_S)
        return str((server.said("ready") or {})["endpoint"])

    @property
    def _servers(self) -> tuple[str, ...]:
        """Those that end when they are told, in that order."""
        return (_SERVER, *_SERVERS) if self.plan.options.has_cluster else _SERVERS

    def _say_ready(self) -> None:
        if self.plan.options.json:
            places = {"home": str(self.plan.home), "journal": str(self.plan.journal)}
            emit({"event": "ready", "pid": os.getpid(), **places, "processes": self.cast.pids()})

    # --- while it runs -------------------------------------------------------------------------------------

    def _watch(self, watch: Watch, shown: Table) -> None:
        # In the order in which they end: the cameras by themselves, then the join, then the query.
        workers = [*self.cameras, self.cast["join"], self.cast["query"]]
        if self.plan.options.record is not None:
            workers.append(self.cast[_RECORDER])
        moved = _Moved()
        deadline_ns = monotonic_ns() + int((self.plan.options.seconds + 2 * _END_S) * 1e9)
        while late := next((child for child in workers if child.exit_status is None), None):
            self.cast.check(self._may_have_ended)
            self._turn(watch, shown)
            if self.stop.is_set:
                self._end_early(moved, watch.rows)
            if monotonic_ns() > deadline_ns:
                late.fail(f"{late.name} goes on long after the cameras should have ended")
            sleep_ns(STEP_NS)
        self.cast.check(self._may_have_ended)
        self._turn(watch, shown)

    def _turn(self, watch: Watch, shown: Table) -> None:
        watch.poll()
        for message in self.cast["query"].hear():
            for *finding, done_ns in message.get("rows", []) if message.get("event") == "found" else []:
                self.verdict.take(Finding(*finding), done_ns)
        self.sampler.work(watch.rows)
        if shown.is_due:
            shown.show(watch.now(self.verdict))

    def _may_have_ended(self, child: Child) -> bool:
        """The driver and the authority end when they are told. Who else ended too early is found by the sums."""
        return child.name not in self._servers

    def _end_early(self, moved: _Moved, rows: int) -> None:
        """The user has seen enough: cameras first, and the join when it has read what they made."""
        for camera in self.cameras:
            camera.tell_to_end()
        if all(camera.exit_status is not None for camera in self.cameras) and moved.is_settled(rows):
            self.cast["join"].tell_to_end()
            if self.plan.options.record is not None:
                self.cast[_RECORDER].tell_to_end()

    # --- the end -------------------------------------------------------------------------------------------

    def _finish(self) -> dict[str, Any]:
        for name in self._servers:
            self.cast.end(self.cast[name], _END_S)
        joined = self._summary_of(self.cast["join"])
        made = {camera.name: int(self._summary_of(camera)["frames"]) for camera in self.cameras}
        self.verdict.check_account(joined, made)
        unmatched = journal(self.plan.journal).unmatched()
        cameras = [
            {"name": name, "frames": frames, "joined": joined["rows"], "not_joined": causes(unmatched, name)}
            for name, frames in made.items()
        ]
        return {
            "event": "summary",
            "rows": self.verdict.rows,
            "frames": sum(made.values()),
            "bytes": joined["bytes"],
            **self.verdict.measured(self.plan.row_bytes),
            "motion": {"rows": MOTION[0], "columns": MOTION[1], "recovered_sets": self.verdict.rows},
            "lag_frames": LAG,
            "spark": self.in_spark,
            "cluster": self.plan.options.has_cluster,
            **self._fetched(),
            "cameras": cameras,
        }

    def _fetched(self) -> dict[str, Any]:
        """What the executors got from the server: every row that was joined, or the figure shows it."""
        if not self.plan.options.has_cluster:
            return {}
        told = self._summary_of(self.cast[_SERVER])
        return {"flight": {"rows": told["rows"], "bytes": told["bytes"], "streams": told["streams"]}}

    def _summary_of(self, child: Child) -> dict[str, Any]:
        child.hear()
        found = child.said("summary")
        if found is None:
            child.fail(f"{child.name} ended without its summary")
        return found or {}


@dataclass(slots=True)
class _Moved:
    """Whether rows still come."""

    rows: int = -1
    at_ns: int = 0

    def is_settled(self, rows: int) -> bool:
        """Whether there was none for a while."""
        if rows != self.rows:
            self.rows, self.at_ns = rows, monotonic_ns()
        return monotonic_ns() - self.at_ns >= _SETTLED_NS
