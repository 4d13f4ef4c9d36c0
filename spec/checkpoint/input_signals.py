# SPDX-License-Identifier: Apache-2.0
"""Aligns the signals of one channel by input: it does not wait for inputs that ended or were lost.

``SignalCounter`` counts upstreams, as the source text says. Over real streams a count is not enough: an ended stream
owes nothing more and may come back in another epoch, a lost one delivers nothing, and a signal that one of them skipped
will never be complete.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from framegate.joinbarrier.checkpoint.signals import Key

PENDING: Final = "pending"
REFUSED: Final = "refused"
Change: TypeAlias = Key | Literal["pending", "refused"]
"""The signal that is complete now; ``pending`` if none is; ``refused`` if the arrival changed nothing."""


class InputSignals:
    """Aligns the one pending signal."""

    def __init__(self, inputs: int) -> None:
        self.pending: Key | None = None
        self.last: Key | None = None
        self.given_up = 0
        """How many signals could not become complete any more."""
        self._every = frozenset(range(inputs))
        self._delivered: set[int] = set()
        self._away: set[int] = set()

    def arrive(self, input_id: int, key: Key) -> Change:
        """Take a signal that an upstream delivered.

        Ids only grow, and an upstream sends its signals in order. If it delivers a higher id without the pending one,
        it never will deliver that, so the pending signal is given up.
        """
        is_old = self.last is not None and key[0] <= self.last[0]
        if input_id not in self._every or input_id in self._away or is_old:
            return REFUSED
        if self.pending is not None and self.pending != key:
            if key[0] <= self.pending[0] or input_id in self._delivered:
                return REFUSED
            self._give_up()
        elif input_id in self._delivered:
            return REFUSED
        self.pending = key
        self._delivered.add(input_id)
        return self._settled()

    def end(self, input_id: int) -> Change:
        """Note that an upstream has ended: it counts as delivering the pending signal and every later one."""
        self._away.add(input_id)
        return self._settled()

    def lose(self, input_id: int) -> None:
        """Note that an upstream was lost: a pending signal that it owes is given up; later ones do not wait for it."""
        if input_id not in self._away | self._delivered:
            self._give_up()
        self._away.add(input_id)

    def resume(self, input_id: int) -> None:
        """Note that an upstream is back, in another epoch."""
        if input_id in self._away:
            self._away.remove(input_id)
            self._delivered.discard(input_id)

    def _settled(self) -> Change:
        if self.pending is None or self._every - self._delivered - self._away:
            return PENDING
        self.last, self.pending = self.pending, None
        self._delivered.clear()
        return self.last

    def _give_up(self) -> None:
        self.given_up += self.pending is not None
        self.pending = None
        self._delivered.clear()
