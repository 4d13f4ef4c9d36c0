# SPDX-License-Identifier: Apache-2.0
"""What a join reads is the ring: descriptors may lie, be lost, or come before the regions are mapped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.aeron import AeronTransport
from framegate.shmpool.streams import Streams

from tests.system.frame_account import accounts, sent, sent_so_far
from tests.system.join_bed import LEFT, RIGHT, JoinBed, interrupted, killed, summary_of

if TYPE_CHECKING:
    from tests.system.conftest import System

NAMES = {"left": LEFT, "right": RIGHT}


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


def newest_epoch(bed: JoinBed, stream: int) -> int:
    rings = Path(bed.pool.base_dir).rglob("header.ring")
    return max(int(ring.parent.name) for ring in rings if ring.parts[-3] == str(stream))


class Liar:
    """Sends descriptors of frames that nobody published, on the stream that everybody hears."""

    def __init__(self, bed: JoinBed) -> None:
        self._transport = AeronTransport(bed.pool.aeron_dir)
        streams = Streams()
        self._publication = self._transport.add_publication(streams.channel, streams.descriptor, exclusive=True)

    def say(self, stream: int, epoch: int, seq: int) -> None:
        message = FrameDescriptor(stream_id=stream, epoch=epoch, seq=seq).encode()
        while self._publication.offer(message) <= 0:
            pass

    def close(self) -> None:
        self._transport.close()


@pytest.mark.parametrize("ahead", [0, 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
def test_a_descriptor_of_a_frame_that_nobody_published_changes_nothing(bed: JoinBed, ahead: int) -> None:
    """``ahead``: how far beyond the next sequence it lies, roughly."""
    producers = [bed.counted(stream, count=1000) for stream in NAMES.values()]
    agent = bed.join(bed.lockstep())
    liar = Liar(bed)
    try:
        bed.until_rows(agent, 50)
        epoch = newest_epoch(bed, LEFT)
        for each in (epoch, epoch + 1, epoch - 1, (1 << 64) - 2):
            liar.say(LEFT, each, min(ahead + 100_000, (1 << 64) - 1))
        liar.say(LEFT, epoch, 3)
        summary = summary_of(agent)
    finally:
        liar.close()
    found = accounts(bed.journal())
    for name, producer in zip(NAMES, producers, strict=True):
        found[name].check(sent(producer))
        assert len(found[name].joined) == summary["rows"] == 1000
    assert summary["false_descriptors"]["left"] >= 1
    assert summary["false_descriptors"]["right"] == 0


def test_a_producer_that_waits_for_nobody_is_joined_from_its_first_frame_on(bed: JoinBed) -> None:
    """Its first descriptors come before its regions are mapped."""
    agent = bed.join(bed.lockstep())
    for stream in NAMES.values():
        words = ("--stream", str(stream), *bed.pool.places, "--max-rate", "--count", "500", "--shape", "8x8", "--end")
        bed.system.framegate("produce", *words)
    summary = summary_of(agent)
    assert summary["rows"] == 500, summary


def test_frames_of_a_killed_producer_wait_for_their_partners_over_the_next_epoch(bed: JoinBed) -> None:
    agent = bed.join(bed.lockstep())
    left = bed.counted(LEFT)
    epoch = newest_epoch(bed, LEFT)
    reports = iter(range(1000))
    bed.system.until(lambda: len(sent_so_far(left, str(next(reports)))) >= 250, "250 frames published")
    killed(left)
    bed.system.until(lambda: newest_epoch(bed, LEFT) > epoch, "the epoch after the killed producer's")
    right = bed.counted(RIGHT, count=200)
    bed.until_rows(agent, 200)
    summary = interrupted(agent)
    assert summary["rows"] == 200
    assert summary["retired_epochs"]["left"] <= 1
    found = accounts(bed.journal())
    found["right"].check(sent(right))
    # What it published without saying so lies in the ring, and nobody overwrote anything.
    assert set(found["left"].counts()) == {"no_partner"}
