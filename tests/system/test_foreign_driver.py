# SPDX-License-Identifier: Apache-2.0
"""framegate's programs under a lease driver of the family that leaves the activity of regions to their producers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.driver.mediadriver import MediaDriver

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

STREAM = 10_001
RATE = 100
FRAMES = 9 * RATE
"""For longer than regions stay mapped that nobody vouches for."""
JOIN = """
[join]
out_stream = 20001
policy = "sequence"
journal = "joined"
[[input]]
name = "camera"
stream = 10001
"""


@pytest.fixture
def place(shm: Path, system: System) -> Iterator[dict[str, str]]:
    """What programs need to know of a media driver and the foreign driver on it."""
    with MediaDriver(aeron_dir=str(shm / "aeron")):
        system.own_program("foreign_driver", str(shm / "aeron"), str(shm / "pool")).says(event="ready")
        yield {"FRAMEGATE_AERON_DIR": str(shm / "aeron"), "FRAMEGATE_BASE_DIR": str(shm / "pool")}


def produced(system: System, place: dict[str, str], consumers: int) -> Program:
    words = ("--rate", str(RATE), "--count", str(FRAMES), "--shape", "8x8", "--wait-consumers", str(consumers), "--end")
    return system.framegate("produce", "--stream", str(STREAM), *words, "--json", **place)


def test_readers_of_every_kind_keep_their_regions_and_get_every_frame(
    place: dict[str, str], shm: Path, system: System
) -> None:
    (shm / "join.toml").write_text(JOIN)
    consumer = system.framegate("consume", "--stream", str(STREAM), "--json", **place)
    join = system.framegate("join", "--config", str(shm / "join.toml"), "--json", **place)
    recorder = system.framegate(
        "record", str(shm / "out.mcap"), "--streams", str(STREAM), "--frames", str(FRAMES), "--json", **place
    )
    producer = produced(system, place, 3)
    assert producer.says(event="summary")["frames"] == FRAMES
    assert consumer.says(event="summary")["frames"] == FRAMES
    assert join.says(event="summary")["rows"] == FRAMES
    assert recorder.says(event="summary")["frames"] == FRAMES
    assert "unmapped" not in consumer.stderr + join.stderr + recorder.stderr


def test_a_reader_comes_back_when_a_producer_that_stood_still_goes_on(place: dict[str, str], system: System) -> None:
    consumer = system.framegate("consume", "--stream", str(STREAM), "--json", **place)
    producer = produced(system, place, 1)
    producer.says(event="ready")
    producer.send(signal.SIGSTOP)
    consumer.until(lambda: "unmapped" in consumer.stderr, "rid of its regions")
    producer.send(signal.SIGCONT)
    # It may have lost its lease meanwhile, and makes up for what it missed before the reader hears an announce.
    assert producer.says(event="summary")["frames"] > FRAMES // 2
    summary = consumer.says(event="summary")
    assert summary["frames"] > RATE, consumer
