# SPDX-License-Identifier: Apache-2.0
"""The supervisor's decisions about a rig's parts: what starts, what is restarted, what ends. No processes, no clock.

Every event comes with a time and gives actions, which the agent carries out::

    WAITING -> STARTING -> RUNNING -> ENDED | FAILED
                  ^           |
                  +- PAUSING <+   by the part's rule
    from each of these, when the rig ends: STOPPING -> ENDED

A part starts when the parts that it waits for are ready. When the rig ends, a part is told to end once all parts that
wait for it have ended. So what makes frames ends before what reads them, and the driver ends last.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from framegate.schema.errors import DONE, WRONG_USAGE
from framegate.tools.rig.part import Part

_HARDER: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
"""The signals that end a part. Each is sent if the one before has not helped within the grace time."""


class State(StrEnum):
    """The states of a part."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "restarts soon"
    STOPPING = "stopping"
    ENDED = "ended"
    FAILED = "failed"


_LIVING: Final = (State.STARTING, State.RUNNING, State.STOPPING)
_OVER: Final = (State.ENDED, State.FAILED)


@dataclass(frozen=True, slots=True)
class Start:
    """Start a process for this part."""

    name: str


@dataclass(frozen=True, slots=True)
class Send:
    """Send a signal to the part's processes."""

    name: str
    signal: signal.Signals


@dataclass(frozen=True, slots=True)
class Tell:
    """Write a line into the log, in the part's name."""

    name: str
    text: str


Action: TypeAlias = Start | Send | Tell


@dataclass(slots=True)
class Life:
    """The state of a part, and its history."""

    part: Part
    state: State = State.WAITING
    since_ns: int = 0
    restarts: int = 0
    last_exit: int | None = None
    was_ready: bool = False
    starts_ns: deque[int] = field(default_factory=deque)
    due_ns: int | None = None
    """When something is due without an event: the end of patience with a start, the next start, or the next signal."""
    told: int = 0
    """How many of the signals were sent."""

    @property
    def is_living(self) -> bool:
        """Whether it has a process."""
        return self.state in _LIVING

    @property
    def is_over(self) -> bool:
        """Whether it will not be started again."""
        return self.state in _OVER

    def enter(self, state: State, now_ns: int, due_ns: int | None = None) -> None:
        """Change to a state."""
        self.state, self.since_ns, self.due_ns = state, now_ns, due_ns


class Supervisor:
    """The parts of one rig, in the order of their start."""

    def __init__(self, parts: Iterable[Part], *, grace_ns: int, stops_on_failure: bool = True) -> None:
        self.lives = {each.name: Life(each) for each in parts}
        self._grace_ns, self._stops_on_failure = grace_ns, stops_on_failure
        self.is_stopping = False
        self.first_failed: str | None = None

    # --- what a caller may ask -------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether no part runs, and none will."""
        return all(life.is_over for life in self.lives.values())

    @property
    def has_settled(self) -> bool:
        """Whether no start is due: every part runs, is over, or waits for the end of one that runs."""
        return not any(life.state in (State.STARTING, State.PAUSING) for life in self.lives.values())

    def next_ns(self) -> int | None:
        """When ``on_time`` has something to do; None if nothing is due."""
        return min((life.due_ns for life in self.lives.values() if life.due_ns is not None), default=None)

    # --- events ----------------------------------------------------------------------------------------------

    def begin(self, now_ns: int) -> list[Action]:
        """Start the rig."""
        return self._follow_up(now_ns, [])

    def on_ready(self, name: str, now_ns: int) -> list[Action]:
        """Handle a part that says that it is ready."""
        life = self.lives[name]
        if life.state is not State.STARTING:
            return []
        life.was_ready = True
        life.enter(State.RUNNING, now_ns)
        return self._follow_up(now_ns, [])

    def on_exit(self, name: str, code: int, now_ns: int) -> list[Action]:
        """Handle the end of a part's process, by an exit code, or by a signal, which is negative."""
        life = self.lives[name]
        life.last_exit = code
        actions: list[Action] = []
        if life.state is State.STOPPING or self.is_stopping:
            life.enter(State.ENDED, now_ns)
        else:
            actions += self._restart_or_end(life, code, now_ns)
        return self._follow_up(now_ns, actions)

    def on_time(self, now_ns: int) -> list[Action]:
        """Handle what is due at this time."""
        actions: list[Action] = []
        for name, life in self.lives.items():
            if life.due_ns is None or now_ns < life.due_ns:
                continue
            if life.state is State.STARTING:
                life.due_ns = None
                within = f"not ready within {life.part.ready_ns / 1e9:g} s (ready_s)"
                actions += [Tell(name, within), Send(name, signal.SIGKILL)]
            elif life.state is State.PAUSING:
                life.restarts += 1
                life.starts_ns.append(now_ns)
                actions += self._start(life, now_ns)
            elif life.state is State.STOPPING:
                actions += self._tell_to_end(life, now_ns)
        return self._follow_up(now_ns, actions)

    def stop(self, now_ns: int) -> list[Action]:
        """End the rig: start nothing any more, and tell the running parts to end in their turn."""
        if self.is_stopping:
            return []
        self.is_stopping = True
        for life in self.lives.values():
            if not life.is_living and not life.is_over:
                life.enter(State.ENDED, now_ns)
        return self._follow_up(now_ns, [])

    # --- decisions -------------------------------------------------------------------------------------------

    def _follow_up(self, now_ns: int, actions: list[Action]) -> list[Action]:
        """What an event makes possible: starts, the end of the rig, and the ends of parts in their turn."""
        if self.is_stopping:
            return [*actions, *self._due_ends(now_ns)]
        actions += self._due_starts(now_ns)
        workers = [life for life in self.lives.values() if not life.part.is_service]
        if workers and all(life.is_over for life in workers):
            # Only services are left, and they serve no other part.
            actions += self.stop(now_ns)
        return actions

    def _due_starts(self, now_ns: int) -> Iterator[Action]:
        for name, life in self.lives.items():
            if life.state is not State.WAITING or self.is_stopping:
                continue
            if lost := self._lost(life.part):
                yield from self._fail(life, f"it waits for {lost}, which failed", now_ns)
            elif self._may_start(life.part):
                yield from self._start(self.lives[name], now_ns)

    def _may_start(self, part: Part) -> bool:
        there = all(self.lives[name].was_ready or self.lives[name].state is State.ENDED for name in part.after)
        return there and all(self.lives[name].state is State.ENDED for name in part.after_end)

    def _lost(self, part: Part) -> str | None:
        """A part that this one waits for and that failed for good; None if there is none."""
        failed = [name for name in sorted(part.waits_for) if self.lives[name].state is State.FAILED]
        return next((name for name in failed if name in part.after_end or not self.lives[name].was_ready), None)

    def _start(self, life: Life, now_ns: int) -> list[Action]:
        if life.part.says_ready:
            life.enter(State.STARTING, now_ns, now_ns + life.part.ready_ns)
            return [Start(life.part.name)]
        life.was_ready = True
        life.enter(State.RUNNING, now_ns)
        return [Start(life.part.name)]

    def _restart_or_end(self, life: Life, code: int, now_ns: int) -> Iterator[Action]:
        part, has_failed = life.part, code != DONE
        how = described_exit(code)
        if has_failed and part.is_own and code == WRONG_USAGE:
            yield from self._fail(life, f"{how}: its options or files are wrong, and a restart would not help", now_ns)
        elif not part.rule.wants_restart(has_failed=has_failed):
            if has_failed:
                yield from self._fail(life, f"{how}; restart is {part.rule.restart!r}", now_ns)
            else:
                life.enter(State.ENDED, now_ns)
                yield Tell(part.name, how)
        else:
            while life.starts_ns and now_ns - life.starts_ns[0] > part.rule.restarts_within_ns:
                life.starts_ns.popleft()
            restarts = len(life.starts_ns)
            if restarts >= part.rule.restarts_max:
                within_s = part.rule.restarts_within_ns / 1e9
                limit = f"{restarts} restarts within {within_s:g} s are all that restarts_max allows"
                yield from self._fail(life, f"{how}; {limit}", now_ns)
            else:
                pause_ns = part.rule.pause_ns(restarts)
                life.enter(State.PAUSING, now_ns, now_ns + pause_ns)
                yield Tell(part.name, f"{how}; it starts again in {pause_ns / 1e9:g} s")

    def _fail(self, life: Life, why: str, now_ns: int) -> Iterator[Action]:
        life.enter(State.FAILED, now_ns)
        self.first_failed = self.first_failed or life.part.name
        yield Tell(life.part.name, f"failed for good: {why}")
        if (self._stops_on_failure or life.part.kind == "driver") and not self.is_stopping:
            yield Tell(life.part.name, "the rig ends")
            yield from self.stop(now_ns)

    def _due_ends(self, now_ns: int) -> Iterator[Action]:
        for name, life in self.lives.items():
            behind = (other for other in self.lives.values() if name in other.part.waits_for)
            if life.state in (State.STARTING, State.RUNNING) and all(other.is_over for other in behind):
                life.told = 0
                life.enter(State.STOPPING, now_ns)
                yield from self._tell_to_end(life, now_ns)

    def _tell_to_end(self, life: Life, now_ns: int) -> Iterator[Action]:
        number = _HARDER[min(life.told, len(_HARDER) - 1)]
        if life.told:
            yield Tell(life.part.name, f"has not ended within {self._grace_ns / 1e9:g} s (rig.grace_s): {number.name}")
        life.told += 1
        life.due_ns = now_ns + self._grace_ns if number is not signal.SIGKILL else None
        yield Send(life.part.name, number)


def described_exit(code: int) -> str:
    """How a process ended, in words.

    >>> described_exit(0), described_exit(3), described_exit(-9)
    ('ended', 'ended with exit code 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"ended with exit code {code}" if code else "ended"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
