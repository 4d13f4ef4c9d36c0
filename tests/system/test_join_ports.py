# SPDX-License-Identifier: Apache-2.0
"""What a join reads is the ring: descriptors may lie, be lost, or come before the regions are mapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.joinbarrier.agent.join_agent import JoinAgent
from framegate.joinbarrier.agent.plan import journal_shape
from framegate.joinbarrier.config.configuration import load_join_config
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.schema.driver import LeaseRevokeReason, Role, ShmLeaseRevoked
from framegate.shmpool.clock import monotonic_ns

from tests.system.frame_account import accounts, sent, sent_so_far
from tests.system.join_bed import LEFT, RIGHT, JoinBed, interrupted, killed, summary_of
from tests.system.liar import Liar, newest_epoch

if TYPE_CHECKING:
    from tests.system.conftest import System

NAMES = {"left": LEFT, "right": RIGHT}


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


@pytest.mark.parametrize("ahead", [0, 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
def test_a_descriptor_of_a_frame_that_nobody_published_changes_nothing(bed: JoinBed, ahead: int) -> None:
    """``ahead``: how far beyond the next sequence it lies, roughly."""
    producers = [bed.counted(stream, count=1000) for stream in NAMES.values()]
    agent = bed.join(bed.lockstep())
    liar = Liar(bed.pool)
    try:
        bed.until_rows(agent, 50)
        epoch = newest_epoch(bed.pool, LEFT)
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
    epoch = newest_epoch(bed.pool, LEFT)
    reports = iter(range(1000))
    bed.system.until(lambda: len(sent_so_far(left, str(next(reports)))) >= 250, "250 frames published")
    killed(left)
    bed.system.until(lambda: newest_epoch(bed.pool, LEFT) > epoch, "the epoch after the killed producer's")
    right = bed.counted(RIGHT, count=200)
    bed.until_rows(agent, 200)
    summary = interrupted(agent)
    assert summary["rows"] == 200
    assert summary["retired_epochs"]["left"] <= 1
    found = accounts(bed.journal())
    found["right"].check(sent(right))
    # What it published without saying so lies in the ring, and nobody overwrote anything.
    assert set(found["left"].counts()) == {"no_partner"}


def test_what_was_announced_while_the_lease_was_away_is_joined_though_nothing_follows(bed: JoinBed) -> None:
    """A producer that goes by its readers sends nothing more before they have it."""
    config = load_join_config(bed.lockstep(inputs={"left": LEFT}), {})
    with (
        bed.pool.client() as sending,
        bed.pool.client() as listening,
        JournalFolder(Path(config.join.journal), journal_shape(config)) as folder,
    ):
        camera = bed.pool.producer(sending, LEFT, shape=(8, 8), dtype="uint8")
        agent = JoinAgent(listening, config, folder)
        agent.attach()
        (left,) = agent.inputs

        def worked(until: Callable[[], bool], what: str) -> None:
            bed.system.until(lambda: until() if agent.work() else None, what)

        def publish(frames: int) -> None:
            for _ in range(frames):
                camera.publish(np.zeros((8, 8), np.uint8))

        publish(3)
        worked(lambda: left.port is not None and left.port.last_seq == 2, "the first frames heard")
        # The client's thread waits: there is no other lease before these were heard.
        with listening.turn:
            lease = left.lease
            left.on_message(
                ShmLeaseRevoked(
                    timestamp_ns=monotonic_ns(),
                    lease_id=lease.lease_id or 0,
                    stream_id=LEFT,
                    client_id=lease.client_id,
                    role=Role.CONSUMER,
                    reason=LeaseRevokeReason.EXPIRED,
                ),
                monotonic_ns(),
            )
            publish(5)
            worked(lambda: left.counters()["unmapped"] == 5, "frames heard without a lease")
        worked(lambda: left.port is not None and left.port.last_seq == 7, "told to the producer that they were seen")
        assert agent.close()["rows"] == 8
