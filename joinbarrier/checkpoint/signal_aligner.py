# SPDX-License-Identifier: Apache-2.0
"""Aligns the signals of one channel over its upstreams."""

from __future__ import annotations

from typing import Final, Protocol

from framegate.joinbarrier.checkpoint.numbers import whole
from framegate.joinbarrier.checkpoint.settings import Implementation, is_native
from framegate.joinbarrier.checkpoint.signals import (
    KINDS,
    Arrival,
    BarrierSignal,
    InstantSignal,
    Key,
    Signal,
    kind_number,
)
from framegate.schema.errors import AlignmentStateError, DuplicateBarrier, InvalidValue, OverlappingBarrier

import framegate._native as _native

_UPSTREAMS_MAX: Final = (1 << 32) - 1


class _Counts(Protocol):
    @property
    def pending(self) -> Key | None: ...
    @property
    def last(self) -> Key | None: ...

    def arrive(self, key: Key) -> Arrival: ...
    def end(self, *, has_delivered: bool) -> Arrival | None: ...


class _NativeCounter:
    """Gives the native counter the interface of the reference."""

    def __init__(self, expected_upstreams: int) -> None:
        self._native = _native.SignalCounter(expected_upstreams)

    @property
    def pending(self) -> Key | None:
        return self._native.pending

    @property
    def last(self) -> Key | None:
        return self._native.last

    def arrive(self, key: Key) -> Arrival:
        return Arrival(self._native.arrive(*key))

    def end(self, *, has_delivered: bool) -> Arrival | None:
        found = self._native.end(has_delivered)
        return None if found is None else Arrival(found)


class SignalAligner:
    """Waits until every upstream has delivered a signal; instant signals pass. An agent has one for each channel.

    >>> aligner = SignalAligner(2, impl="reference")
    >>> signal = BarrierSignal("SyncTest", 7)
    >>> aligner.align(signal), aligner.align(signal)
    (None, BarrierSignal(kind='SyncTest', barrier_id=7))
    """

    def __init__(self, expected_upstreams: int, impl: Implementation = "native") -> None:
        expected = whole("expected_upstreams", expected_upstreams, 1, _UPSTREAMS_MAX)
        self._counts: _Counts = _NativeCounter(expected) if is_native(impl) else _specified(expected)

    def align(self, signal: Signal) -> Signal | None:
        """Count a signal. Return it if it is to be handled and forwarded now; None while upstreams are missing.

        Raises OverlappingBarrier for a signal while another one is pending, and DuplicateBarrier for one whose id is at
        or below the newest complete one of its kind. Both leave everything unchanged.
        """
        if isinstance(signal, InstantSignal):
            return signal
        signal = _checked(signal)
        kind, barrier_id = signal.kind, signal.barrier_id
        arrival = self._counts.arrive((barrier_id, kind_number(kind)))
        pending = self.pending
        if arrival is Arrival.OVERLAPPING and pending is not None:
            raise OverlappingBarrier(
                "another signal is pending",
                kind=kind,
                barrier_id=barrier_id,
                pending_kind=pending.kind,
                pending_id=pending.barrier_id,
            )
        if arrival is Arrival.DUPLICATE:
            raise DuplicateBarrier("every upstream has delivered this signal", kind=kind, barrier_id=barrier_id)
        return signal if arrival is Arrival.COMPLETE else None

    def end_input(self, *, has_delivered: bool = False) -> Signal | None:
        """Note that an upstream has ended: it counts as delivering the pending signal and every later one.

        Returns the signal if this completes it. ``has_delivered``: this upstream had already delivered the pending one.
        """
        arrival = self._counts.end(has_delivered=has_delivered)
        if arrival is None:
            raise AlignmentStateError("more upstreams ended than there are")
        last = self._counts.last
        return _signal(last) if arrival is Arrival.COMPLETE and last is not None else None

    @property
    def pending(self) -> BarrierSignal | None:
        """The signal that still waits for upstreams."""
        return None if self._counts.pending is None else _signal(self._counts.pending)


def _checked(signal: object) -> BarrierSignal:
    if not isinstance(signal, BarrierSignal):
        raise InvalidValue("an InstantSignal or a BarrierSignal", field="signal", found=type(signal))
    return signal


def _signal(key: Key) -> BarrierSignal:
    return BarrierSignal(KINDS[key[1]], key[0])


def _specified(expected: int) -> _Counts:
    from framegate.spec.checkpoint.signals import SignalCounter

    return SignalCounter(expected)
