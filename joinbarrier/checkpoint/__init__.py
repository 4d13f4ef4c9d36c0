# SPDX-License-Identifier: Apache-2.0
"""Consistent cuts through several streams: barriers, their injection and alignment, and the checkpoint store."""

from framegate.joinbarrier.checkpoint.actions import Action
from framegate.joinbarrier.checkpoint.aligner import BarrierAligner
from framegate.joinbarrier.checkpoint.channel import Channel
from framegate.joinbarrier.checkpoint.injector import BarrierInjectorHandle, CheckpointBarrierInjector
from framegate.joinbarrier.checkpoint.messages import CheckpointBarrier, Event, Watermark
from framegate.joinbarrier.checkpoint.signal_aligner import SignalAligner
from framegate.joinbarrier.checkpoint.signals import BarrierSignal, InstantSignal
from framegate.joinbarrier.checkpoint.unaligned import UnalignedCheckpointer
from framegate.schema.errors import (
    AlignmentStateError,
    BarrierInjectionFailed,
    DuplicateBarrier,
    OverlappingBarrier,
)

__all__ = [
    "Action",
    "AlignmentStateError",
    "BarrierAligner",
    "BarrierInjectionFailed",
    "BarrierInjectorHandle",
    "BarrierSignal",
    "Channel",
    "CheckpointBarrier",
    "CheckpointBarrierInjector",
    "DuplicateBarrier",
    "Event",
    "InstantSignal",
    "OverlappingBarrier",
    "SignalAligner",
    "UnalignedCheckpointer",
    "Watermark",
]
