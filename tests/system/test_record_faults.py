# SPDX-License-Identifier: Apache-2.0
"""A recorder whose disk is full ends by itself: what it wrote is whole, and what it recorded goes on without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.errors import ENVIRONMENT
from mcap.reader import make_reader

from tests.system.conftest import System
from tests.system.record_bed import LEFT, RecordBed, check_payloads, ended, recorded, sequences

COUNT = 14_000
SLOTS = 16_384
"""More than there are frames: whoever misses one was disturbed, and not late."""


@pytest.fixture
def bed(system: System, shm: Path) -> RecordBed:
    return RecordBed(system, shm)


def test_a_full_disk_ends_the_recording_and_not_the_streams(small_disk: Path, bed: RecordBed) -> None:
    bed.file = small_disk / "out.mcap"
    bed.start_driver(slots=SLOTS)
    consumer = bed.pool.consume("--verify", "--json", stream=LEFT)
    recorder = bed.record("--payload", streams=str(LEFT))
    producer = bed.produce(LEFT, COUNT, "--rate", "5000", "--wait-consumers", "2")
    assert recorder.wait() == ENVIRONMENT, recorder
    error = recorder.says(event="error")
    assert (error["name"], error["facts"]["path"]) == ("NO_ROOM", str(bed.file))
    assert "framegate inspect" in error["hint"]
    summary = recorder.says(event="summary")
    assert (summary["no_room"], summary["is_indexed"], summary["complete"]) == (True, True, False)
    # The streams go on as if nobody had listened.
    sent = ended(producer)
    assert (sent["frames"], sent["descriptors_lost"]) == (COUNT, 0)
    taken = ended(consumer)
    assert (taken["frames"], taken["verify_errors"], taken["gap_drops"], taken["late_drops"]) == (COUNT, 0, 0, 0)
    # Whole up to where it ends, by our reader and by the format's own.
    recording, found = recorded(bed.file)
    assert recording.damage is None
    assert recording.is_complete is False
    frames = sequences(found, LEFT)
    assert frames == list(range(len(frames)))
    assert 0 < len(frames) == summary["frames"] < COUNT
    assert check_payloads(found, LEFT) == summary["payloads"]
    with bed.file.open("rb") as stream:
        by_index = make_reader(stream, validate_crcs=True).get_summary()
    assert by_index is not None
    assert by_index.statistics is not None
    assert by_index.statistics.message_count == len(found)
