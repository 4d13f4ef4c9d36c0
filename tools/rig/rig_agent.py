# SPDX-License-Identifier: Apache-2.0
"""Carries out the supervisor's decisions: starts processes, reads output, sends signals, writes logs and state."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.rig.guard import MARK, Guard
from framegate.tools.rig.log_file import LogFile, LogLine, stamp_of
from framegate.tools.rig.part import SUPERVISOR, Part
from framegate.tools.rig.part_words import in_words, is_ready_line
from framegate.tools.rig.process import PartProcess
from framegate.tools.rig.run_folder import RunFolder
from framegate.tools.rig.screen import Screen
from framegate.tools.rig.supervisor import Action, Send, Start, Supervisor, Tell

_TURN_S: Final = 0.05
"""How late an end may be noticed, in seconds."""
_NAMES_MAX: Final = 10_000
_NOT_STARTED: Final = 127
"""The exit code of a part whose process could not be started, as in shells."""


class RigAgent:
    """One rig from its start to its end. Call ``work`` until ``is_over``, then ``close``."""

    def __init__(
        self,
        parts: Iterable[Part],
        supervisor: Supervisor,
        run_folder: RunFolder,
        *,
        folder: Path,
        environment: Mapping[str, str],
        log_bytes: int,
        grace_s: float,
        show: Screen | None,
    ) -> None:
        self.supervisor = supervisor
        self._parts = {each.name: each for each in parts}
        self._run_folder, self._folder, self._environment = run_folder, folder, environment
        self._processes: dict[str, PartProcess] = {}
        self._pids: dict[str, int] = {}
        names = [SUPERVISOR, *self._parts]
        self._logs = {name: LogFile(run_folder.log(name), log_bytes) for name in names}
        self._screen = show
        self.began_ns = monotonic_ns()
        self._began_realtime_ns = realtime_ns()
        self._about: dict[str, object] = {}
        self._written: dict[str, object] = {}
        self._guard = Guard(grace_s)

    def begin(self, about: Mapping[str, object]) -> None:
        """Start the parts that wait for nothing. ``about`` is what the state says of the rig apart from its parts."""
        self._about = dict(about)
        self._write_state()
        self._carry_out(self.supervisor.begin(monotonic_ns()))

    @property
    def is_over(self) -> bool:
        """Whether no part runs, and none will."""
        return self.supervisor.is_over

    def work(self, stop: StopSignal) -> None:
        """Do one turn: wait a little for an event, and handle it."""
        heard = [each for process in self._processes.values() for each in process.descriptors]
        if self.supervisor.is_stopping:
            select.select(heard, [], [], _TURN_S)
        elif stop.wait(_TURN_S, *heard):
            self.say(SUPERVISOR, "told to end")
            self._carry_out(self.supervisor.stop(monotonic_ns()))
        for name in list(self._processes):
            self._look_at(name)
        self._carry_out(self.supervisor.on_time(monotonic_ns()))
        self._guard.look()
        self._write_state()

    def say(self, name: str, text: str) -> None:
        """Write a line into a part's log, and show it."""
        line = LogLine(stamp_of(realtime_ns()), name, text)
        self._logs[name].write(line)
        if self._screen is not None:
            self._screen.show(line)

    def summary(self) -> dict[str, Any]:
        """What became of the parts."""
        parts = {
            name: {"state": str(life.state), "restarts": life.restarts, "last_exit": life.last_exit}
            for name, life in self.supervisor.lives.items()
        }
        return {"parts": parts, "seconds": round((monotonic_ns() - self.began_ns) / 1e9, 6)}

    def close(self) -> None:
        """End by force what is left, and release everything."""
        self._guard.close()
        for process in self._processes.values():
            process.last_words()
        self._write_state()
        for log in self._logs.values():
            log.close()

    # --- hearing ---------------------------------------------------------------------------------------------

    def _look_at(self, name: str) -> None:
        process = self._processes[name]
        self._hear(name, *process.hear())
        code = process.ended()
        if code is None:
            return
        self._hear(name, *process.last_words())
        del self._processes[name]
        self._pids.pop(name)
        self._guard.note_ended(process.pid)
        self._carry_out(self.supervisor.on_exit(name, code, monotonic_ns()))

    def _hear(self, name: str, printed: list[str], complained: list[str]) -> None:
        part = self._parts[name]
        for line in (*printed, *complained):
            for each in in_words(line) if part.is_own else [line]:
                self.say(name, each)
            if part.says_ready and is_ready_line(part, line):
                self._carry_out(self.supervisor.on_ready(name, monotonic_ns()))

    # --- acting ----------------------------------------------------------------------------------------------

    def _carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Start(name):
                    self._start(self._parts[name])
                case Send(name, number):
                    if name in self._processes:
                        self._processes[name].send(number)
                case Tell(name, text):
                    self.say(name, text)

    def _start(self, part: Part) -> None:
        try:
            environment = {**self._environment, **part.environment, MARK: self._guard.mark}
            process = PartProcess(self._words(part), self._folder, environment)
        except OSError as refused:
            self.say(part.name, f"it cannot be started: {refused.strerror}: {refused.filename}")
            self._carry_out(self.supervisor.on_exit(part.name, _NOT_STARTED, monotonic_ns()))
            return
        self._guard.note_begun(process.pid)
        self._processes[part.name] = process
        self._pids[part.name] = process.pid

    def _words(self, part: Part) -> list[str]:
        """The command line for this start: it does not wait for consumers that have ended, and overwrites no file."""
        words = list(part.words)
        if part.readers is not None:
            living = [name for name in part.readers if not self.supervisor.lives[name].is_over]
            words += ["--wait-consumers", str(len(living))]
        if part.file is not None:
            words[words.index(part.file)] = self._free_name(part)
        return words

    def _free_name(self, part: Part) -> str:
        path = Path(part.file or "")
        names = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, _NAMES_MAX))]
        free = next((each for each in names if not (self._folder / each).exists()), path)
        if free != path:
            self.say(part.name, f"{path} is there already: writes {free}")
        with suppress(OSError):
            (self._folder / free).parent.mkdir(parents=True, exist_ok=True)
        return str(free)

    def _write_state(self) -> None:
        parts = [
            {
                "name": name,
                "kind": life.part.kind,
                "state": str(life.state),
                "since_ns": life.since_ns,
                "pid": self._pids.get(name),
                "restarts": life.restarts,
                "last_exit": life.last_exit,
            }
            for name, life in self.supervisor.lives.items()
        ]
        state: dict[str, object] = {
            **self._about,
            "pid": os.getpid(),
            "state": _state_of(self.supervisor),
            "began_ns": self._began_realtime_ns,
            "guard_restarts": self._guard.restarts,
            "parts": parts,
        }
        if state != self._written:
            self._written = state
            self._run_folder.write_state(state)


def _state_of(supervisor: Supervisor) -> str:
    if supervisor.is_over:
        return "failed" if supervisor.first_failed else "ended"
    if supervisor.is_stopping:
        return "stopping"
    return "running" if supervisor.has_settled else "starting"


def environment_of_parts(inherited: Mapping[str, str], aeron_dir: str, base_dir: str) -> dict[str, str]:
    """The environment of every part: the directories of the rig, with the programs of this Python first in PATH."""
    here = str(Path(sys.executable).parent)
    path = inherited.get("PATH", os.defpath)
    return {
        **inherited,
        "PATH": path if path.startswith(f"{here}:") else f"{here}:{path}",
        "FRAMEGATE_AERON_DIR": aeron_dir,
        "FRAMEGATE_BASE_DIR": base_dir,
    }
