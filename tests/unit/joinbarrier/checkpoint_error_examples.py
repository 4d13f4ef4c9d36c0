# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of checkpoints, through product code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from framegate.joinbarrier.checkpoint import (
    BarrierAligner,
    BarrierInjectorHandle,
    BarrierSignal,
    Channel,
    CheckpointBarrier,
    SignalAligner,
)
from framegate.joinbarrier.checkpoint.coordinator.issued_ids import sole_coordinator
from framegate.joinbarrier.checkpoint.injector import require_atomics
from framegate.joinbarrier.checkpoint.manifest import Manifest, decode
from framegate.joinbarrier.checkpoint.restore_choice import OwnPart, choose
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import Content, LocalFiles
from framegate.joinbarrier.checkpoint.trigger_request import Outcome, TriggerRequest
from framegate.joinbarrier.commands.checkpoint_trigger import TriggerOptions, not_taken, overdue
from framegate.schema.control import TriggerState
from framegate.spec.checkpoint.inflight import read_records

_MANIFEST: Final = Manifest(
    checkpoint_id=1,
    checkpoint_uuid="018bcfe5-6800-7000-8000-000000000000",
    epoch=1,
    pipeline="default",
    is_unaligned=False,
    was_threshold_triggered=False,
    created_ns=1,
    operators=(),
)


def _overlap() -> None:
    aligner = SignalAligner(2)
    aligner.align(BarrierSignal("SyncTest", 1))
    aligner.align(BarrierSignal("SyncTest", 2))


def _duplicate() -> None:
    aligner = SignalAligner(1)
    aligner.align(BarrierSignal("SyncTest", 1))
    aligner.align(BarrierSignal("SyncTest", 1))


def _closed() -> None:
    channel = Channel(1)
    channel.close()
    channel.push(CheckpointBarrier(1, 1))


def _committed_twice() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            CheckpointStore(folder).commit(_MANIFEST)


def _on_a_full_disk() -> None:
    class Full(LocalFiles):
        def write(self, path: str, content: bytes | Content) -> None:
            raise OSError(28, "No space left on device")

    with tempfile.TemporaryDirectory() as folder:
        CheckpointStore(folder, Full(Path(folder))).write_state(1, "join", b"")


def _of_another_pipeline() -> None:
    own = OwnPart(
        operator_id="join-1", pipeline="other", recording=None, out_stream=1, policy="union", inputs=(("left", 2),)
    )
    with tempfile.TemporaryDirectory() as folder:
        CheckpointStore(folder).commit(_MANIFEST)
        choose(CheckpointStore(folder), 1, own)


def _coordinated_twice() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        with sole_coordinator(files, folder), sole_coordinator(files, folder):
            raise AssertionError("two coordinators hold one store")


def _nobody_answers() -> None:
    raise overdue(TriggerRequest(7, "lidar", is_unaligned=False), TriggerOptions(pipeline="lidar"), 10.0)


def _given_up() -> None:
    reason = "INPUT_LOST: join-20001: input left"
    raise not_taken(Outcome(TriggerState.ABORTED, 12, 3, 1_000_000, 0, reason), TriggerOptions())


CHECKPOINT_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    601: lambda: BarrierAligner(2).complete_alignment(),
    602: _overlap,
    603: _duplicate,
    604: _closed,
    605: lambda: BarrierInjectorHandle.open("/nowhere/camera.command"),
    606: lambda: require_atomics(is_lock_free=False),
    610: lambda: CheckpointStore("/nowhere/checkpoints").manifest(1),
    611: lambda: read_records(b"short"),
    612: _committed_twice,
    613: lambda: decode(b'{"format": 2}', where="here"),
    614: _on_a_full_disk,
    615: _of_another_pipeline,
    620: _coordinated_twice,
    621: _nobody_answers,
    622: _given_up,
}
