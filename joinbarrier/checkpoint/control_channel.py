# SPDX-License-Identifier: Apache-2.0
"""Aligns signals of a channel on which every member hears all others, so that repeats and gaps are no errors (PROTOCOL
12.6).

Ids only grow. A signal whose id is not above the newest complete one was already handled, and one that a head skipped
will never be complete. So each signal is counted separately, and the first that is complete gives up all lower ones:
none can hold up a later one. ``SignalAligner`` is for a channel on which each upstream delivers each signal once, in
order.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from framegate.joinbarrier.checkpoint.signals import BarrierSignal, InstantSignal, Signal

_PENDING_MAX: Final = 64
"""Most signals that wait for heads at the same time. Heads are rarely more than one signal apart."""
_log = logging.getLogger(__name__)


class ControlChannel:
    """Decides when to handle a signal of the control channel.

    >>> channel = ControlChannel(upstreams=2)
    >>> signal = BarrierSignal("SyncTest", 7)
    >>> channel.hear(signal), channel.hear(signal), channel.hear(signal)
    (None, BarrierSignal(kind='SyncTest', barrier_id=7), None)
    >>> dict(channel.counts)
    {'aligned': 1, 'repeated': 1}
    """

    def __init__(self, upstreams: int) -> None:
        self.counts = Counter[str]()
        self._upstreams = upstreams
        self._arrived = Counter[BarrierSignal]()
        self._last_id = 0

    def hear(self, signal: Signal) -> Signal | None:
        """Count a signal. Return it if it is to be handled now; None if it is still awaited, or does not count any
        more.
        """
        if isinstance(signal, InstantSignal):
            self.counts["instant"] += 1
            return signal
        if signal.barrier_id <= self._last_id:
            self.counts["repeated"] += 1
            return None
        self._arrived[signal] += 1
        if self._arrived[signal] < self._upstreams:
            self._bound()
            return None
        self._last_id = signal.barrier_id
        self.counts["aligned"] += 1
        self._give_up([each for each in self._arrived if each.barrier_id <= self._last_id and each != signal])
        del self._arrived[signal]
        return signal

    def _bound(self) -> None:
        if len(self._arrived) > _PENDING_MAX:
            self._give_up([min(self._arrived, key=lambda each: each.barrier_id)])

    def _give_up(self, signals: list[BarrierSignal]) -> None:
        for each in signals:
            _log.warning("%s came from %d of %d heads, and is given up", each, self._arrived.pop(each), self._upstreams)
            self.counts["given_up"] += 1
