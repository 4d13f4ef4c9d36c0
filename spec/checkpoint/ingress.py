# SPDX-License-Identifier: Apache-2.0
"""The gate of a stream that several agents cut by themselves, at one place fixed by their coordinator (P10).

While the gate is held nothing passes, so no agent is beyond the place when the coordinator names it: it is the furthest
place at which one of the agents stands. ``native/checkpoint/src/ingress.rs`` is the native twin.

>>> gate = IngressGate()
>>> gate.hold(4, (7, 10), now_ns=0)
(7, 10)
>>> gate.frame(7, 11), gate.cut(4, at=(7, 12), present=(7, 12))
(('wait', 0), 'due')
>>> gate.frame(7, 11), gate.frame(7, 12), gate.frame(7, 13)
(('pass', 0), ('cut_behind', 4), ('pass', 0))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Place: TypeAlias = tuple[int | None, int | None]
"""The epoch of a stream's regions (None: none are read), and the newest sequence taken of it (None: none was)."""
Passage: TypeAlias = tuple[str, int]
"""What to do with a frame, and the checkpoint whose barrier stands before or behind it."""


@dataclass(frozen=True, slots=True)
class _Held:
    checkpoint_id: int
    place: Place
    since_ns: int


@dataclass(frozen=True, slots=True)
class _Due:
    checkpoint_id: int
    place: Place


class IngressGate:
    """The gate of one stream. Ask about its frames in order."""

    def __init__(self) -> None:
        self._state: _Held | _Due | None = None
        self._last_id = 0

    def hold(self, checkpoint_id: int, present: Place, now_ns: int) -> Place | None:
        """Hold the stream, and return the place where it stands. A second call returns the same place until the stream
        moves. None if this checkpoint is over.
        """
        if checkpoint_id <= self._last_id or checkpoint_id < (self.current or 0):
            return None
        match self._state:
            case _Held(_, place, since_ns):
                # Waiting frames were not taken, whichever checkpoint they wait for.
                self._state = _Held(checkpoint_id, place, since_ns)
                return place
            case _Due(due_id, _) if due_id == checkpoint_id:
                return None
        self._state = _Held(checkpoint_id, present, now_ns)
        return present

    def cut(self, checkpoint_id: int, at: Place, present: Place) -> str:
        """Fix the place of the cut. ``present`` is where the stream stands if its gate was not held.

        ``cut``: the barrier stands here, before whatever waits. ``due``: a later frame's passage says when. ``past``:
        more frames were taken already. ``other_epoch``: another epoch is read. ``over``: this checkpoint was already
        cut or given up.
        """
        standing = present
        match self._state:
            case _Due(due_id, _) if due_id == checkpoint_id:
                return "due"
            case _ if checkpoint_id <= self._last_id or checkpoint_id < (self.current or 0):
                return "over"
            case _Held(_, place, _):
                standing = place
        if standing[0] == at[0] and _rank(standing[1]) < _rank(at[1]):
            self._state = _Due(checkpoint_id, at)
            return "due"
        self._end(checkpoint_id)
        if standing[0] != at[0]:
            return "other_epoch"
        return "past" if _rank(standing[1]) > _rank(at[1]) else "cut"

    def frame(self, epoch: int, seq: int) -> Passage:
        """Say what to do with a frame: ``pass``, ``wait``, ``cut_before`` or ``cut_behind``. Ask again after a wait."""
        match self._state:
            case None:
                return "pass", 0
            case _Held():
                return "wait", 0
            case _Due(checkpoint_id, place):
                if place[0] == epoch and seq < _rank(place[1]):
                    return "pass", 0
                self._end(checkpoint_id)
                if place[0] != epoch:
                    # The place lay in an epoch that is over.
                    return "pass", 0
                return ("cut_behind" if seq == place[1] else "cut_before"), checkpoint_id

    def give_up(self, checkpoint_id: int | None = None) -> int | None:
        """Open a gate that is held or due for this checkpoint or an older one, and return the gate's checkpoint. None
        opens it for any.
        """
        current = self.current
        if current is None or (checkpoint_id is not None and checkpoint_id < current):
            return None
        self._end(current)
        return current

    def is_overdue(self, now_ns: int, timeout_ns: int) -> bool:
        """Whether the gate has been held for longer than the timeout."""
        return isinstance(self._state, _Held) and max(now_ns - self._state.since_ns, 0) > timeout_ns

    @property
    def is_held(self) -> bool:
        """Whether everything that comes has to wait."""
        return isinstance(self._state, _Held)

    @property
    def is_open(self) -> bool:
        """Whether everything passes."""
        return self._state is None

    @property
    def epoch(self) -> int | None:
        """The epoch of the place where the gate is held, or due to cut."""
        return None if self._state is None else self._state.place[0]

    @property
    def current(self) -> int | None:
        """The checkpoint that the gate is held or due for."""
        return None if self._state is None else self._state.checkpoint_id

    def _end(self, checkpoint_id: int) -> None:
        self._state = None
        self._last_id = max(self._last_id, checkpoint_id)


def _rank(seq: int | None) -> int:
    return -1 if seq is None else seq
