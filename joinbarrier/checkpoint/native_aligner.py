# SPDX-License-Identifier: Apache-2.0
"""Gives the native aligners the interface of the reference: plain numbers go in, Actions come out."""

from __future__ import annotations

from typing import Any, TypeAlias

from framegate.joinbarrier.checkpoint.actions import Action, Pair
from framegate.joinbarrier.checkpoint.messages import Captured, CheckpointBarrier, Event, Message, Watermark
from framegate.joinbarrier.checkpoint.settings import AlignerSettings, UnalignedSettings

import framegate._native as _native

_Plain: TypeAlias = tuple[
    str,
    int | None,
    Event | None,
    int | None,
    tuple[int, int, bool] | None,
    list[tuple[int, Event]],
    str | None,
    list[int],
]


class NativeAligner:
    """The aligner of ``native/checkpoint``."""

    def __init__(self, settings: AlignerSettings) -> None:
        self._native = _native.BarrierAligner(*_plain_settings(settings))

    def process(self, input_id: int, message: Message, now_ns: int) -> Action:
        match message:
            case Event():
                return _action(self._native.event(input_id, message, message.size))
            case Watermark(ms):
                return _action(self._native.watermark(input_id, ms))
            case CheckpointBarrier(checkpoint_id, epoch, unaligned):
                return _action(self._native.barrier(input_id, checkpoint_id, epoch, unaligned, now_ns))

    def complete_alignment(self) -> list[Pair]:
        return self._native.complete_alignment()

    def abort(self, checkpoint_id: int | None = None) -> Action | None:
        return _perhaps(self._native.abort(checkpoint_id))

    def check_timeout(self, now_ns: int) -> Action | None:
        return _perhaps(self._native.check_timeout(now_ns))

    def end_input(self, input_id: int, now_ns: int) -> Action | None:
        return _perhaps(self._native.end_input(input_id, now_ns))

    def lose_input(self, input_id: int) -> Action | None:
        return _perhaps(self._native.lose_input(input_id))

    def resume_input(self, input_id: int) -> None:
        self._native.resume_input(input_id)

    @property
    def is_aligning(self) -> bool:
        return self._native.is_aligning

    @property
    def aligned_inputs(self) -> int:
        return self._native.aligned_inputs

    @property
    def pending_inputs(self) -> tuple[int, ...]:
        return tuple(self._native.pending_inputs)

    @property
    def buffered_events(self) -> int:
        return self._native.buffered_events

    @property
    def buffered_bytes(self) -> int:
        return self._native.buffered_bytes

    def input_watermarks(self) -> list[int | None]:
        return self._native.input_watermarks()

    def operator_watermark(self) -> int | None:
        return self._native.operator_watermark()

    def metrics(self) -> dict[str, Any]:
        return self._native.metrics()


class NativeCheckpointer:
    """The unaligned checkpointer of ``native/checkpoint``."""

    def __init__(self, settings: UnalignedSettings) -> None:
        self._native = _native.UnalignedCheckpointer(
            *_plain_settings(settings.aligner),
            settings.is_enabled,
            settings.is_forced,
            settings.max_inflight_bytes,
            settings.max_inflight_events,
            settings.late_barrier_timeout_ns,
        )

    def process(self, input_id: int, message: Message, now_ns: int) -> list[Action]:
        match message:
            case Event():
                return _actions(self._native.event(input_id, message, message.size, now_ns))
            case Watermark(ms):
                return _actions(self._native.watermark(input_id, ms, now_ns))
            case CheckpointBarrier(checkpoint_id, epoch, unaligned):
                return _actions(self._native.barrier(input_id, checkpoint_id, epoch, unaligned, now_ns))

    def on_tick(self, now_ns: int) -> list[Action]:
        return _actions(self._native.on_tick(now_ns))

    def abort(self, checkpoint_id: int | None = None) -> list[Action]:
        return _actions(self._native.abort(checkpoint_id))

    def fail(self, checkpoint_id: int | None = None) -> list[Action]:
        return _actions(self._native.fail(checkpoint_id))

    def end_input(self, input_id: int, now_ns: int) -> list[Action]:
        return _actions(self._native.end_input(input_id, now_ns))

    def lose_input(self, input_id: int) -> list[Action]:
        return _actions(self._native.lose_input(input_id))

    def resume_input(self, input_id: int) -> None:
        self._native.resume_input(input_id)

    def snapshot(self) -> dict[int, list[Captured]]:
        captured: dict[int, list[Captured]] = {}
        for input_id, event, ms in self._native.snapshot():
            captured.setdefault(input_id, []).append(event if ms is None else Watermark(ms))
        return captured

    def metrics(self) -> dict[str, Any]:
        return self._native.metrics()


def _plain_settings(settings: AlignerSettings) -> tuple[int, int, int, int, int]:
    return (
        settings.num_inputs,
        settings.max_buffer_per_input,
        settings.max_buffer_memory_bytes,
        settings.alignment_timeout_ns,
        settings.floor,
    )


def _action(plain: _Plain) -> Action:
    kind, input_id, event, ms, barrier, released, cause, pending = plain
    return Action(
        kind=kind,
        input_id=input_id,
        event=event,
        watermark=None if ms is None else Watermark(ms),
        barrier=None if barrier is None else CheckpointBarrier(*barrier),
        released=released,
        cause=cause,
        pending=tuple(pending),
    )


def _perhaps(plain: _Plain | None) -> Action | None:
    return None if plain is None else _action(plain)


def _actions(plain: list[_Plain]) -> list[Action]:
    return [_action(each) for each in plain]
