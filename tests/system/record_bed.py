# SPDX-License-Identifier: Apache-2.0
"""A driver, producers and a recorder, and what a recording holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from framegate.recording.reader import Recording
from framegate.recording.recorded import Recorded
from framegate.schema.errors import DONE
from framegate.shmpool.commands.pattern import Pattern

from tests.system.pool import Pool

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

LEFT, RIGHT = 10_001, 10_002
SHAPE = "32x32"
PAYLOAD_BYTES = 1024


class RecordBed:
    """A driver, a file to record into, and producers."""

    def __init__(self, system: System, shm: Path) -> None:
        self.system = system
        self.shm = shm
        self.file = shm / "out.mcap"
        self.pool = Pool(system, shm)
        self.driver: Program | None = None

    def start_driver(self, slots: int = 1024) -> None:
        self.pool.sizes = ("--slots", str(slots), "--frame-bytes", "4096")
        self.driver = self.pool.start_driver()

    def record(self, *words: str, streams: str = f"{LEFT},{RIGHT}") -> Program:
        recorder = self.system.framegate(
            "record", str(self.file), "--streams", streams, *self.pool.places, "--json", *words
        )
        recorder.says(event="ready")
        return recorder

    def produce(self, stream: int, count: int, *words: str, end: bool = True) -> Program:
        pace = () if "--max-rate" in words else ("--rate", "500")
        ending = ("--end",) if end else ()
        fixed = ("--count", str(count), "--shape", SHAPE, "--wait-consumers", "1", "--json")
        return self.pool.produce(*fixed, *pace, *ending, *words, stream=stream)

    def inspect(self, file: Path, *words: str) -> list[dict[str, Any]]:
        program = self.system.framegate("inspect", str(file), "--json", *words)
        program.wait()
        return program.objects()


def ended(program: Program) -> dict[str, Any]:
    assert program.wait() == DONE, program
    return program.says(event="summary")


def recorded(file: Path) -> tuple[Recording, list[Recorded]]:
    with Recording.open(file) as recording:
        return recording, list(recording)


def sequences(found: list[Recorded], stream: int) -> list[int]:
    messages = [each.message() for each in found if (each.topic.stream, each.topic.kind) == (stream, "FrameDescriptor")]
    return [message.seq for message in messages]  # type: ignore[attr-defined]  # descriptors have it


def check_payloads(found: list[Recorded], stream: int) -> int:
    """Every payload is the pattern of its sequence; how many there are."""
    pattern = Pattern("counter", stream=stream, payload_bytes=PAYLOAD_BYTES)
    payloads = [each for each in found if each.topic.stream == stream and each.is_payload]
    for each in payloads:
        assert pattern.holds(np.frombuffer(each.data, np.uint8), each.sequence), (
            f"stream {stream}, frame {each.sequence}"
        )
    return len(payloads)
