# SPDX-License-Identifier: Apache-2.0
"""Recordings whose messages do not lie in the order of their times: they are joined as if they did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.writer import CompressionType

from tests.outside.bed import Bed, Process
from tests.outside.recordings import MS, START_NS, jittered, nearest_before, ticks, write_recording
from tests.outside.rows import seqs

TOPICS = ("--map", "/cam=10001", "--map", "/imu=10002")
INPUTS = {"cam": {"stream": 10_001}, "imu": {"stream": 10_002, "tolerance_ns": 12 * MS}}
HOUR_NS = 3_600_000_000_000


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A bed without a driver: nobody is asked."""
    with Bed() as bed:
        yield bed


def joined(bed: Bed, config: Path, file: Path) -> Process:
    join = bed.run("join", "--config", config, "--from", file, *TOPICS, "--json")
    join.ended()
    return join


@pytest.mark.parametrize("is_finished", [True, False], ids=["finished", "cut off"])
@pytest.mark.parametrize("chunk_bytes", [500, 64 << 10])
def test_topic_after_topic_gives_the_rows_of_a_join_by_hand(bed: Bed, chunk_bytes: int, is_finished: bool) -> None:
    cam, imu = jittered(900, 10 * MS, 1), jittered(700, 13 * MS, 2)
    # What a writer that was cut off had not written yet is in no chunk: a third topic takes its place.
    topics = {"/cam": cam, "/imu": imu, "/rest": ticks(4_000, MS, payload_bytes=64)}
    file = bed.folder / "topics.mcap"
    write_recording(file, topics, is_by_topic=True, chunk_bytes=chunk_bytes, is_finished=is_finished)
    summary = joined(bed, bed.config("topics", "timestamp", INPUTS, out=20_001), file).summary()
    assert summary["frames"] == 1_600
    assert seqs(bed.journal("topics"), "cam", "imu") == nearest_before(cam, imu, 12 * MS)


@pytest.mark.parametrize("apart_ns", [0, HOUR_NS], ids=["in step", "an hour apart"])
def test_a_topic_of_more_than_memory_was_set_aside_for_loses_nothing(bed: Bed, apart_ns: int) -> None:
    frames = 300
    topics = {
        "/cam": ticks(frames, 10 * MS, payload_bytes=1 << 20),
        "/imu": ticks(frames, 10 * MS, first_ns=START_NS + apart_ns, payload_bytes=64),
    }
    file = write_recording(bed.folder / "large.mcap", topics, is_by_topic=True, compression=CompressionType.ZSTD)
    summary = joined(bed, bed.lockstep("large", [10_001, 10_002]), file).summary()
    assert summary["overwritten"] == {"s0": 0, "s1": 0}
    assert seqs(bed.journal("large"), "s0", "s1") == [(seq, seq) for seq in range(frames)]


def test_more_small_frames_wait_than_a_ring_would_hold(bed: Bed) -> None:
    frames = 300_000
    topics = {"/cam": ticks(frames, 1_000), "/imu": ticks(frames, 1_000, first_ns=START_NS + HOUR_NS)}
    file = write_recording(bed.folder / "many.mcap", topics, compression=CompressionType.ZSTD)
    summary = joined(bed, bed.lockstep("many", [10_001, 10_002]), file).summary()
    assert (summary["rows"], summary["unmatched"]) == (frames, {"s0": 0, "s1": 0})


def test_a_union_of_topic_after_topic_has_its_rows_in_the_order_of_their_times(bed: Bed) -> None:
    cam, imu = jittered(300, 10 * MS, 3), jittered(250, 13 * MS, 4)
    file = write_recording(bed.folder / "union.mcap", {"/cam": cam, "/imu": imu}, is_by_topic=True, chunk_bytes=900)
    inputs = {"cam": {"stream": 10_001}, "imu": {"stream": 10_002}}
    joined(bed, bed.config("union", "union", inputs, out=20_001), file).summary()
    frames = [(at, k, None) for k, (at, _) in enumerate(cam)] + [(at, None, k) for k, (at, _) in enumerate(imu)]
    by_time = sorted(frames, key=lambda frame: frame[0])
    assert seqs(bed.journal("union"), "cam", "imu") == [(left, right) for _, left, right in by_time]
