# SPDX-License-Identifier: Apache-2.0
"""Converts signals of the control channel to messages of schema 920, and back."""

from __future__ import annotations

from framegate.joinbarrier.checkpoint.signals import KINDS, BarrierSignal, InstantSignal, Signal, kind_number
from framegate.schema.control import ControlSignal, SignalCategory, SignalKind


def signal_of(message: ControlSignal) -> Signal:
    """The signal in a message."""
    kind = KINDS[message.kind]
    if message.category == SignalCategory.INSTANT:
        return InstantSignal(kind)
    return BarrierSignal(kind, message.barrier_id)


def control_message(signal: Signal, pipeline: str) -> ControlSignal:
    """The message that carries a signal on the control channel."""
    is_barrier = isinstance(signal, BarrierSignal)
    return ControlSignal(
        category=SignalCategory.BARRIER if is_barrier else SignalCategory.INSTANT,
        kind=SignalKind(kind_number(signal.kind)),
        barrier_id=signal.barrier_id if isinstance(signal, BarrierSignal) else 0,
        stream_id=None,
        source_epoch=0,
        after_seq=None,
        pipeline=pipeline,
    )
