# SPDX-License-Identifier: Apache-2.0
"""Drivers, agents and producers that are killed or stand still: the books balance, and nobody needs a restart."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.outside.bed import Bed, Process, apart, until
from tests.outside.rows import read_rows

ENDS_AND_STAYS = """
import sys, time
import numpy as np
import framegate as fg

stream, count = int(sys.argv[1]), int(sys.argv[2])
with fg.connect() as client, client.producer(stream, shape=(8, 8), dtype="uint8") as camera:
    camera.wait_consumers(1)
    for number in range(count):
        camera.publish(np.full((8, 8), number % 256, np.uint8))
        time.sleep(0.002)
    camera.end()
    print("ended", flush=True)
    time.sleep(3600)
"""
"""A producer that ends its stream and goes on living."""


def running(bed: Bed, name: str, left: int, right: int, hz: int = 500) -> tuple[Process, list[Process], Path]:
    """A join with rows, and two producers that go on for as long as they are left."""
    config = bed.lockstep(name, [left, right])
    join = bed.join(config)
    producers = [bed.rate(left, hz, 1_000_000)]
    apart(0.4)
    producers.append(bed.rate(right, hz, 1_000_000))
    until(lambda: len(read_rows(bed.journal(name))) > 50, "rows", 30)
    return join, producers, config


def more_rows(bed: Bed, name: str) -> None:
    there = len(read_rows(bed.journal(name)))
    until(lambda: len(read_rows(bed.journal(name))) > there + 50, "more rows", 60)


def all_ended(join: Process, producers: list[Process]) -> None:
    for each in producers:
        each.send(signal.SIGINT)
    for each in producers:
        each.ended()
    apart(0.5)
    join.interrupted()


def media_driver_of(driver: Process) -> int:
    """The process that the driver started to carry messages."""
    found = Path(f"/proc/{driver.pid}/task").glob("*/children")
    [pid] = [int(word) for each in found for word in each.read_text().split()]
    return pid


def test_the_media_driver_is_killed_and_every_frame_has_a_fate(own_bed: Bed) -> None:
    driver = own_bed.driver()
    left, right = own_bed.streams()
    join, producers, _ = running(own_bed, "media", left, right)
    os.kill(media_driver_of(driver), signal.SIGKILL)
    driver.ended()
    own_bed.driver()
    more_rows(own_bed, "media")
    all_ended(join, producers)
    own_bed.audit("media", left, right)


def test_the_driver_is_killed_and_every_frame_has_a_fate(own_bed: Bed) -> None:
    driver = own_bed.driver()
    left, right = own_bed.streams()
    join, producers, _ = running(own_bed, "lease", left, right)
    driver.kill()
    own_bed.driver()
    more_rows(own_bed, "lease")
    all_ended(join, producers)
    own_bed.audit("lease", left, right)


def test_the_driver_stands_still_for_twelve_seconds_and_everything_goes_on(own_bed: Bed) -> None:
    driver = own_bed.driver()
    left, right = own_bed.streams()
    join, producers, _ = running(own_bed, "pause", left, right)
    driver.stop()
    apart(12)
    driver.go_on()
    more_rows(own_bed, "pause")
    assert not driver.has_ended
    all_ended(join, producers)
    own_bed.audit("pause", left, right)


def test_a_join_that_stood_still_goes_on_and_says_what_it_missed(bed: Bed) -> None:
    left, right = bed.streams()
    join, producers, _ = running(bed, "still", left, right)
    join.stop()
    apart(1.5)
    join.go_on()
    more_rows(bed, "still")
    all_ended(join, producers)
    bed.audit("still", left, right)


def test_a_producer_that_stood_still_comes_back_and_is_joined(bed: Bed) -> None:
    left, right = bed.streams()
    join, producers, _ = running(bed, "producer-still", left, right)
    producers[0].stop()
    apart(1.5)
    producers[0].go_on()
    more_rows(bed, "producer-still")
    all_ended(join, producers)
    bed.audit("producer-still", left, right)


def test_a_join_that_is_killed_takes_what_passed_meanwhile_from_the_rings(bed: Bed) -> None:
    """A ring of small frames lasts for seconds: a join that is back before it has come round loses nothing."""
    left, right = bed.streams()
    join, producers, config = running(bed, "back", left, right)
    for _ in range(3):
        join.kill()
        join = bed.join(config)
        more_rows(bed, "back")
    all_ended(join, producers)
    books = bed.audit("back", left, right)
    assert [one["unmatched"].get("agent_down", 0) for one in books["inputs"].values()] == [0, 0], books


def test_streams_that_end_while_a_killed_join_is_away_are_joined_to_their_last_frame(bed: Bed) -> None:
    """The producers say that nothing follows, and keep their rings for a while."""
    left, right = bed.streams()
    config = bed.lockstep("ended-away", [left, right])
    join = bed.join(config)
    producers = [bed.python(ENDS_AND_STAYS, stream, 1000) for stream in (left, right)]
    until(lambda: len(read_rows(bed.journal("ended-away"))) > 50, "rows", 30)
    join.kill()
    until(lambda: all("ended" in each.lines for each in producers), "the ends of both streams")
    bed.join(config).summary()
    assert len(read_rows(bed.journal("ended-away"))) == 1000


def test_a_join_that_comes_back_when_its_producers_have_left_has_a_fate_for_every_frame(bed: Bed) -> None:
    """One stream's end is enough to finish the join: the other's frames are written down all the same."""
    left, right = bed.streams()
    config = bed.lockstep("left-alone", [left, right])
    join = bed.join(config)
    producers = [bed.rate(stream, 500, 600) for stream in (left, right)]
    until(lambda: len(read_rows(bed.journal("left-alone"))) > 50, "rows", 30)
    join.kill()
    for each in producers:
        each.summary()
    apart(1)
    bed.join(config).summary()
    books = bed.audit("left-alone", left, right)
    assert all(one["unmatched"].keys() <= {"agent_down"} for one in books["inputs"].values()), books


@pytest.mark.parametrize("times", [3])
def test_a_join_that_is_killed_again_and_again_has_a_fate_for_every_frame(bed: Bed, times: int) -> None:
    left, right = bed.streams()
    join, producers, config = running(bed, "kills", left, right)
    for _ in range(times):
        join.kill()
        join = bed.join(config)
        more_rows(bed, "kills")
    all_ended(join, producers)
    bed.audit("kills", left, right)


def test_a_producer_that_is_killed_and_started_again_opens_an_output_epoch(bed: Bed) -> None:
    left, right = bed.streams()
    join, producers, _ = running(bed, "restarted", left, right)
    for each in producers:
        each.kill()
    again = [bed.rate(stream, 500, 100) for stream in (left, right)]
    for each in again:
        each.summary()
    join.summary()
    rows = read_rows(bed.journal("restarted"))
    assert len({row["out_epoch"] for row in rows}) >= 2
    newest = [row for row in rows if row["out_epoch"] == rows[-1]["out_epoch"]]
    assert len(newest) == 100
    bed.audit("restarted", left, right)


def test_an_epoch_that_began_while_a_join_stood_still_is_joined_or_explained_from_its_first_frame(bed: Bed) -> None:
    left, right = bed.streams(2)
    join, producers, _ = running(bed, "away", left, right, 100)
    join.stop()
    producers[1].kill()
    producers[1] = bed.rate(right, 100, 1_000_000, consumers=0, is_ready=True)
    # Longer than any client may stand still: the join has to begin anew with everything.
    apart(14)
    join.go_on()
    more_rows(bed, "away")
    all_ended(join, producers)
    bed.audit("away", left, right)
