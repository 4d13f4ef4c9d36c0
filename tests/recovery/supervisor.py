# SPDX-License-Identifier: Apache-2.0
"""The programs of a pipeline, ended by force and started again as a supervisor would, always by the same command lines.

A source that was taken back and a join that was not (or the other way round) do not belong together: whichever of
driver, agents and replay is killed, agents and replay all come back, from the newest checkpoint.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from framegate.joinbarrier.checkpoint.coordinator.issued_ids import read_issued_ids
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import store_files
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from tests.chaos.world import Broken, Program, until
from tests.recovery.made_recording import INPUTS, frames_of, write_recording
from tests.recovery.scenario import Scenario

INTERVAL_MS: Final = 150
SLOTS: Final = 256
FIRST_STREAM: Final = 10_000
LEASE_MS: Final = 400
"""A third of what a killed replay's lease holds up the next one."""
LOOK_NS: Final = 10_000_000
_GLANCE_NS: Final = 1_000_000
_ATTEMPT_NS: Final = 3_000_000_000
"""For so long at most a checkpoint is waited for that is to be cut short."""
_LINES: Final = 60
"""Of what each program said, in a story."""


class Home:
    """Folders of a run, and its driver. Everything is gone when it ends."""

    def __init__(self, scenarios: Iterable[Scenario], *, interval_ms: int = INTERVAL_MS) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="framegate-recovery-", dir="/dev/shm"))
        self.store = self.folder / "checkpoints"
        self._runs = 0
        config = self.folder / "driver.toml"
        sections = (each.driver_section(self.store, interval_ms) for each in scenarios)
        config.write_text(f"[policies]\nlease_keepalive_interval_ms = {LEASE_MS}\n" + "".join(sections))
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("AERON_", "FRAMEGATE_"))},
            "FRAMEGATE_AERON_DIR": f"{self.folder}/aeron",
            "FRAMEGATE_BASE_DIR": f"{self.folder}/pool",
            "FRAMEGATE_LOG": "info",
        }
        sizes = ["--slots", str(SLOTS), "--frame-bytes", "4096"]
        self.driver = self.program("driver", "driver", "--config", str(config), *sizes)

    def new_streams(self) -> list[int]:
        """Numbers that no run has had."""
        self._runs += 1
        return [FIRST_STREAM + len(INPUTS) * self._runs + place for place in range(len(INPUTS))]

    def program(self, name: str, *words: str) -> Program:
        """A framegate command that knows where the driver is."""
        return Program(name, [*words, "--json"], self.environment)

    def __enter__(self) -> Self:
        self.driver.start()
        await_ready(self.driver)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._stop()
        finally:
            if self.driver.is_alive:
                self.driver.process.kill()
                self.driver.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self) -> None:
        self.driver.stop()
        places = [self.folder / "aeron", self.folder / "pool"]
        left = [str(path) for place in places for path in place.rglob("*") if path.is_file()]
        if left:
            raise Broken(f"left in shared memory after a clean stop: {left}")


class Pipeline:
    """One scenario's agents and replay over a home's driver."""

    def __init__(
        self,
        home: Home,
        scenario: Scenario,
        name: str,
        *,
        ticks: int,
        seed: int,
        agent_words: tuple[str, ...] = (),
    ) -> None:
        """``agent_words``: in place of the usual restoring, for a canary."""
        # Streams of its own: nothing of a run before it is there.
        streams = home.new_streams()
        recording = home.folder / f"{scenario.name}-{name}.mcap"
        write_recording(recording, ticks, seed, streams)
        self.frames: dict[str, Mapping[int, int]] = {**frames_of(recording, streams)}
        self.home = home
        self.scenario = scenario
        place = home.folder / "journals" / f"{scenario.name}-{name}"
        place.parent.mkdir(exist_ok=True)
        self.store = CheckpointStore(home.store / scenario.name)
        for each in self.store.ids():
            # Those of the run before, which has ended: the first start must not go back to them.
            self.store.drop(each)
        restoring = ("--restore", "latest")
        self.agents: list[Program] = []
        self.journals: list[Path] = []
        for stage in scenario.stages:
            journal = place.with_name(f"{place.name}-{stage.program}")
            config = journal.with_suffix(".toml")
            config.write_text(scenario.join(stage, journal, dict(zip(INPUTS, streams, strict=True))))
            words = ("join", "--config", str(config), *(agent_words or restoring))
            self.agents.append(home.program(stage.program, *words))
            self.journals.append(journal)
        self._replay_words = [
            *("replay", str(recording), "--end", "--wait-consumers", "1"),
            *("--pipeline", scenario.name, *restoring),
        ]
        self.replay = home.program("replay", *self._replay_words)
        self.seen: set[int] = set()
        """Checkpoints that became whole."""
        self.restores = 0
        self._due: list[Program] = []
        """Agents that are not started yet, in the order in which frames come to them."""
        self._first_id = self.last_id

    # --- starting ----------------------------------------------------------------------------------------

    def start(self, speed: str) -> None:
        """Each behind its source: an agent that finds the end of the source's last life would take it for the end."""
        self.replay.arguments = [*self._replay_words, "--speed", speed, "--json"]
        self.replay.start()
        self._due = [*self.agents]

    def await_running(self) -> None:
        """All are ready, or have done their work already."""
        self.until(
            lambda: not self._due and all(_is_ready(each) or not each.is_alive for each in self.agents), "all are ready"
        )
        self.restores += any(each.get("restored") is not None for each in self.replay.said[:1])

    # --- killing -----------------------------------------------------------------------------------------

    def victim(self, kind: str) -> Program:
        """The coordinator lives in the driver's process."""
        named = {"replay": self.replay, "driver": self.home.driver, "coordinator": self.home.driver}
        return named.get(kind) or next(each for each in self.agents if each.name == kind)

    def kill(self, victim: Program, pause_ns: int) -> bool:
        """End one of them as the kernel does, and a moment later the others that cannot go on without it.

        Whether it was alive.
        """
        self.until(lambda: victim not in self._due, f"{victim.name} is started")
        due, self._due = self._due, []
        was_alive = victim.is_alive
        for each in (victim, *(each for each in (*self.agents, self.replay) if each is not victim)):
            if each in due:
                continue
            if each.is_alive:
                each.process.kill()
            each.process.wait()
            if each is victim:
                # The moment in which they are without it is part of what is tried.
                self.wait(pause_ns)
        if victim is self.home.driver:
            victim.start()
            await_ready(victim)
        return was_alive

    def await_attempt(self) -> None:
        """Until a checkpoint has begun, or there is nothing more to join."""
        deadline_ns, known = monotonic_ns() + _ATTEMPT_NS, self.last_id
        while self.last_id == known and not self.has_ended and monotonic_ns() < deadline_ns:
            sleep_ns(_GLANCE_NS)

    def wait(self, pause_ns: int) -> None:
        """Let time pass, and note the checkpoints that become whole meanwhile."""
        deadline_ns = monotonic_ns() + pause_ns
        while (left_ns := deadline_ns - monotonic_ns()) > 0:
            self.look()
            sleep_ns(min(left_ns, LOOK_NS))

    def look(self) -> None:
        """Note which checkpoints there are, and start the agent when its turn has come."""
        if self._due:
            behind = self.agents.index(self._due[0])
            source = self.agents[behind - 1] if behind else self.replay
            if _is_ready(source):
                self._due.pop(0).start()
            elif not source.is_alive:
                sleep_ns(50_000_000)  # what it said last is on its way
                raise Broken(f"{source.name} ended by itself with {source.process.returncode}\n{self.story()}")
        self.seen.update(each for each in self.store.ids() if each > self._first_id)

    @property
    def begun(self) -> int:
        """Checkpoints for which an id was given out, in this pipeline's time."""
        return self.last_id - self._first_id

    @property
    def last_id(self) -> int:
        """The newest that was given out."""
        found = read_issued_ids(store_files(self.store.place), self.scenario.name, self.store.place)
        return 0 if found is None else found.last_checkpoint_id

    @property
    def has_ended(self) -> bool:
        """Whether the agents have joined everything. Raises Broken when one ended otherwise."""
        self.look()
        started = [each for each in self.agents if each not in self._due]
        for each in started:
            if not each.is_alive and each.process.returncode != 0:
                sleep_ns(50_000_000)  # what it said last is on its way
                raise Broken(f"{each.name} ended by itself with {each.process.returncode}\n{self.story()}")
        return not self._due and not any(each.is_alive for each in started)

    def finish(self) -> None:
        """Wait until all is joined."""
        self.until(lambda: self.has_ended, "everything is joined")
        self.until(lambda: not self.replay.is_alive, "the replay has ended")
        if self.replay.process.returncode != 0:
            raise Broken(f"the replay ended with {self.replay.process.returncode}\n{self.story()}")
        self.look()

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for a condition, and note checkpoints meanwhile."""

        def looked() -> Any:
            self.look()
            return condition()

        try:
            until(looked, what)
        except Broken as broken:
            raise Broken(f"{broken}\n{self.story()}") from None

    def story(self) -> str:
        """What everybody said last, for a failure."""
        programs = (self.home.driver, *self.agents, self.replay)
        return "\n".join(
            f"--- {each.name}: {each.process.poll()} {each.said[-2:]}\n" + "\n".join(each.errors[-_LINES:])
            for each in programs
            if hasattr(each, "process")
        )

    def close(self) -> None:
        """End what runs, by force."""
        for each in (*self.agents, self.replay):
            if hasattr(each, "process") and each.is_alive:
                each.process.kill()
                each.process.wait()


def await_ready(program: Program) -> None:
    """Wait until a program says that it is ready."""
    until(lambda: _is_ready(program), f"{program.name} is ready: {program.errors[-5:]}")


def _is_ready(program: Program) -> bool:
    return any(each.get("event") == "ready" for each in program.said)
