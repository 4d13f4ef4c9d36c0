# SPDX-License-Identifier: Apache-2.0
"""Decides when a source sends a barrier: at its own interval, or when the coordinator asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framegate.joinbarrier.checkpoint.messages import EPOCH_MAX, U64_MAX, CheckpointBarrier
from framegate.spec.checkpoint.command_word import (
    EMPTY,
    CommandWord,
    pack,
    unpack,
)

POLLS_PER_CLOCK: Final = 64
"""How many polls pass between two looks at the clock, which costs more than the rest of an idle poll (B5)."""


class Injector:
    """Says which barrier a source sends now; polled between two events. Ids strictly increase, whether the interval or
    a command asks; an epoch never goes back (B2).
    """

    def __init__(
        self,
        interval_ns: int | None,
        clock: Callable[[], int],
        word: CommandWord | None = None,
    ) -> None:
        self.word = CommandWord() if word is None else word
        self._interval_ns = interval_ns
        self._clock = clock
        self._polls = 0
        self._waiting_since_ns: int | None = None
        # Continue after the newest barrier that an earlier injector emitted through this word (B4).
        survived = unpack(self.word.last_emitted) if self.word.last_emitted != EMPTY else None
        self.last_id, self.epoch = (survived.checkpoint_id, survived.epoch) if survived else (0, 0)
        self.counted = dict.fromkeys(("barriers_injected", "duplicates_ignored", "epochs_raised"), 0)

    def inject(self, checkpoint_id: int, epoch: int, *, unaligned: bool = False) -> None:
        """Ask for a barrier; the newest request wins. Raises InvalidValue (B3)."""
        self.word.store(pack(checkpoint_id, epoch, unaligned=unaligned))

    def poll(self, now_ns: int | None = None) -> CheckpointBarrier | None:
        """The barrier to send now, if there is one."""
        command = self._take()
        if command != EMPTY:
            asked = self._asked(unpack(command), now_ns)
            if asked is not None:
                return asked
        return self._periodic(now_ns)

    def _take(self) -> int:
        if self.word.load() == EMPTY:
            return EMPTY
        return self.word.take()

    def _asked(self, asked: CheckpointBarrier, now_ns: int | None) -> CheckpointBarrier | None:
        if asked.checkpoint_id <= self.last_id:
            self.counted["duplicates_ignored"] += 1
            return None
        epoch = asked.epoch
        if epoch < self.epoch:
            self.counted["epochs_raised"] += 1
            epoch = self.epoch
        if self._interval_ns is not None:
            self._waiting_since_ns = self._clock() if now_ns is None else now_ns
        return self._emitted(CheckpointBarrier(asked.checkpoint_id, epoch, asked.unaligned))

    def _periodic(self, now_ns: int | None) -> CheckpointBarrier | None:
        if self._interval_ns is None:
            return None
        if now_ns is None:
            self._polls += 1
            if self._polls % POLLS_PER_CLOCK != 1:
                return None
            now_ns = self._clock()
        if self._waiting_since_ns is None:
            self._waiting_since_ns = now_ns
            return None
        if now_ns - self._waiting_since_ns < self._interval_ns or self.last_id == U64_MAX:
            return None
        self._waiting_since_ns = now_ns
        return self._emitted(CheckpointBarrier(self.last_id + 1, min(self.epoch + 1, EPOCH_MAX)))

    def _emitted(self, barrier: CheckpointBarrier) -> CheckpointBarrier:
        self.last_id, self.epoch = barrier.checkpoint_id, barrier.epoch
        self.word.last_emitted = pack(barrier.checkpoint_id, barrier.epoch, unaligned=False)
        self.counted["barriers_injected"] += 1
        return barrier
