# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of recordings, through product code."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from framegate.recording.header_time import HEADER
from framegate.recording.reader import Recording
from framegate.recording.requirements import require_contents
from framegate.schema.wire import Mode, QosConsumer
from framegate.shmpool.producer.audience import Audience
from framegate.tools.inspect.options import InspectOptions
from framegate.tools.inspect.run_inspect import run
from framegate.tools.replay.held_up import DEAF_AFTER_NS, HeldUp

from framegate._native import JoinMailbox, RecordEngine, recording_recover
from tests.unit.recording.foreign_world import foreign_file
from tests.unit.recording.recording_world import Made, frames


def engine(path: Path, **changed: Any) -> RecordEngine:
    """A recorder that hears nothing."""
    options: dict[str, Any] = {
        "payload": False,
        "compression": "none",
        "chunk_bytes": 1 << 16,
        "queue_bytes": 1 << 18,
        "chunk_ns": 10**9,
        "frames": 0,
        "notes": [],
    }
    return RecordEngine(JoinMailbox([10_001]), path, **{**options, **changed})


def _in_a_folder(example: Callable[[Path], object]) -> Callable[[], None]:
    def run_it() -> None:
        with tempfile.TemporaryDirectory() as folder:
            example(Path(folder))

    return run_it


def _over_another(folder: Path) -> None:
    (folder / "out.mcap").write_bytes(b"mine")
    engine(folder / "out.mcap")


def _of_no_recording(folder: Path) -> None:
    (folder / "in.mcap").write_bytes(b"nothing of the kind")
    recording_recover(folder / "in.mcap", folder / "out.mcap", [], gaps=0, cut_bytes=None)


def _closed_before(folder: Path) -> None:
    recorder = engine(folder / "out.mcap")
    recorder.finish()
    recorder.finish()


def _incomplete(folder: Path) -> None:
    (folder / "in.mcap").write_bytes(Made(complete=False).file(frames(1)))
    run(InspectOptions(source=str(folder / "in.mcap"), strict=True, json=True, limit=0))


def _unknown(folder: Path) -> None:
    (folder / "in.bin").write_bytes(b"\xff" * 7)
    run(InspectOptions(source=str(folder / "in.bin")))


def _of_another_kind(folder: Path) -> None:
    (folder / "in.ulg").write_bytes(b"ULog" + bytes(100))
    with Recording.open(folder / "in.ulg") as recording:
        require_contents(recording, {})


def _without_a_topic(folder: Path) -> None:
    (folder / "in.mcap").write_bytes(Made().file(frames(1)))
    with Recording.open(folder / "in.mcap") as recording:
        require_contents(recording, {"/camera": 7})


def _without_its_library(folder: Path) -> None:
    (folder / "in.mcap").write_bytes(foreign_file([b""], "sensor_msgs/msg/Imu", "cdr"))
    with Recording.open(folder / "in.mcap") as recording, hidden("rosbags", "framegate.recording.ros_messages"):
        require_contents(recording, {"/camera/image": 7})


def _without_a_stamp(folder: Path) -> None:
    (folder / "in.mcap").write_bytes(foreign_file([b"{}"], "", "json"))
    with Recording.open(folder / "in.mcap") as recording:
        require_contents(recording, {"/camera/image": 7}, times=HEADER)


@contextmanager
def hidden(library: str, user: str) -> Iterator[None]:
    """Let a library be one that is not installed, for a module that uses it."""
    known = [name for name in sys.modules if name.partition(".")[0] == library]
    with patch.dict(sys.modules, dict.fromkeys([library, *known])):
        sys.modules.pop(user, None)
        yield


def _before_a_deaf_consumer() -> None:
    audience, held_up = Audience(10_001), HeldUp(10_001, 7, 63, 0)
    qos = QosConsumer(
        stream_id=10_001, consumer_id=42, epoch=7, last_seq_seen=0, drops_gap=0, drops_late=0, mode=Mode.STREAM
    )
    for now_ns in (0, DEAF_AFTER_NS):
        audience.on_qos(qos, now_ns)
        held_up.check(audience, now_ns)


RECORDING_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    801: _in_a_folder(_over_another),
    802: lambda: Recording.open("/nowhere/in.mcap"),
    803: _in_a_folder(_of_no_recording),
    804: _in_a_folder(_closed_before),
    805: _in_a_folder(_incomplete),
    806: _in_a_folder(_unknown),
    807: _in_a_folder(_of_another_kind),
    808: _in_a_folder(_without_a_topic),
    809: _before_a_deaf_consumer,
    810: _in_a_folder(_without_its_library),
    811: _in_a_folder(_without_a_stamp),
}
