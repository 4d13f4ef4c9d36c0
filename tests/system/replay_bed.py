# SPDX-License-Identifier: Apache-2.0
"""A driver, recordings of two streams, and the joins and replays of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.journal import Journal
from framegate.shmpool.commands.pattern import Pattern, flat_bytes
from framegate.shmpool.idle import sleep_ns

import framegate
from tests.system.conftest import Program, System
from tests.system.join_bed import LEFT, PAYLOAD_BYTES, RIGHT, SLOTS, JoinBed, summary_of

SHAPE = "16x32"
FRAMES = 300


class ReplayBed:
    """A driver, a recording of two streams, and the joins of it."""

    def __init__(self, system: System, shm: Path, slots: int = SLOTS) -> None:
        self.system = system
        self.joins = JoinBed(system, shm, slots=slots)
        self.file = shm / "joins" / "out.mcap"

    def record(self, *words: str) -> Program:
        told = ("record", str(self.file), "--streams", f"{LEFT},{RIGHT}", "--payload", "--json", *words)
        recorder = self.system.framegate(*told, *self.joins.pool.places)
        recorder.says(event="ready")
        return recorder

    def recorded_live(self, config: Path) -> dict[str, Any]:
        """Two streams, recorded and joined at once; the join's summary."""
        self.joins.start_driver()
        recorder, agent = self.record(), self.joins.join(config)
        self._publish_in_turns()
        assert summary_of(recorder)["complete"]
        return summary_of(agent)

    def _publish_in_turns(self) -> None:
        """Two cameras of this process: two programs would not begin at one moment."""
        pool = self.joins.pool
        with framegate.connect(pool.aeron_dir, pool.base_dir) as client:
            cameras = [client.producer(stream, shape=(16, 32), dtype="uint8") for stream in (LEFT, RIGHT)]
            patterns = [Pattern("counter", stream=stream, payload_bytes=PAYLOAD_BYTES) for stream in (LEFT, RIGHT)]
            assert all(camera.wait_consumers(2, 30) for camera in cameras)
            for seq in range(FRAMES):
                for camera, pattern in zip(cameras, patterns, strict=True):
                    with camera.claim(trace_id=seq * 3) as slot:
                        pattern.fill(flat_bytes(slot.array), seq)
                sleep_ns(1_000_000)
            for camera in cameras:
                camera.end()
            # Both are read before their regions go with this client.
            for camera in cameras:
                camera.wait_seen(FRAMES - 1, 5)

    def replay(self, *words: str) -> Program:
        return self.system.framegate("replay", str(self.file), *self.joins.pool.places, "--json", *words)

    def replayed(self, config: Path, *words: str) -> dict[str, Any]:
        """Replay to a join until both have ended; the replay's summary."""
        agent = self.joins.join(config)
        replay = self.replay("--wait-consumers", "1", "--end", *words)
        summary = summary_of(replay)
        assert sum(summary_of(agent)["overwritten"].values()) == 0
        return summary

    def joined_from(self, config: Path, *words: str) -> dict[str, Any]:
        """Join the file itself; the join's summary."""
        return summary_of(
            self.system.framegate("join", "--config", str(config), "--from", str(self.file), "--json", *words)
        )

    def journal(self, name: str) -> Journal:
        return Journal(self.joins.journal(name))


def assert_same(*journals: Journal) -> None:
    first = journals[0]
    for other in journals[1:]:
        found = diff(first, other)
        assert found.is_empty, (first.path, other.path, found.lost[:3], found.gained[:3], found.changed[:3])
