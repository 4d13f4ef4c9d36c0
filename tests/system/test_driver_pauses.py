# SPDX-License-Identifier: Apache-2.0
"""Goal: drivers that stand still take up their work again when they wake, and no client needs a restart.

Method: the installed programs, as a person starts them; SIGSTOP and SIGCONT to the lease driver, the media driver, or
both, as a debugger or a laptop that sleeps does it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from framegate.shmpool.clock import monotonic_ns

from tests.system.pool import Pool

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

SECOND = 1_000_000_000
RATE_HZ = 50
LEASES_LOST_AFTER_S = {"lease driver": 5, "media driver": 10, "both": 5}
"""The media driver alone is missed by its time-out; a lease driver by the announces."""
PAUSES = [3, 7, 12, 20, 60]
ALWAYS = {("both", 3), ("lease driver", 7), ("media driver", 12), ("both", 20)}
"""Each kind of pause once; every other one is in the long lane."""
STOPS = [
    pytest.param(who, seconds, marks=() if (who, seconds) in ALWAYS else pytest.mark.long)
    for who in LEASES_LOST_AFTER_S
    for seconds in PAUSES
]


@pytest.fixture
def pool(system: System, shm: Path) -> Pool:
    return Pool(system, shm, slots=256, frame_bytes=64)


def frames_of(consumer: Program) -> list[dict[str, Any]]:
    return [each for each in consumer.objects() if "seq" in each]


@pytest.mark.parametrize(("who", "seconds"), STOPS)
def test_frames_flow_again_after_a_pause_and_what_was_refused_meanwhile_is_counted(
    who: str, seconds: int, pool: Pool, system: System, shm: Path
) -> None:
    driver = pool.start_driver()
    (media_driver,) = [system.adopt(pid) for pid in driver.children()]
    consumer = pool.consume("--json", "--verify")
    producer = pool.produce("--rate", str(RATE_HZ), "--shape", "48", "--wait-consumers", "1", "--json")
    consumer.until(lambda: len(frames_of(consumer)) > 10, "reading")
    stopped = {"lease driver": [driver.pid], "media driver": [media_driver], "both": [driver.pid, media_driver]}[who]
    for pid in stopped:
        system.suspend(pid)
    until_ns = monotonic_ns() + seconds * SECOND
    system.until(lambda: monotonic_ns() > until_ns, "the pause is over")
    before = len(frames_of(consumer))
    epoch = frames_of(consumer)[0]["epoch"]
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)

    is_epoch_over = seconds >= LEASES_LOST_AFTER_S[who]

    def new_frames() -> bool:
        found = frames_of(consumer)[before:]
        return sum(each["epoch"] > epoch for each in found) > 10 if is_epoch_over else len(found) > 10

    consumer.until(new_frames, "reading again")
    assert driver.children() == [media_driver]
    producer.send(signal.SIGINT)
    assert producer.wait() == 0, producer
    consumer.send(signal.SIGINT)
    assert consumer.wait() == 0, consumer
    driver.send(signal.SIGINT)
    assert driver.wait() == 0, driver
    made, read, served = (each.objects()[-1] for each in (producer, consumer, driver))
    assert read["verify_errors"] == 0
    assert (made["refused"] > 0) == is_epoch_over, producer
    # Seconds at the present, none made up for.
    assert made["frames"] + made["refused"] <= RATE_HZ * (made["seconds"] + 1)
    assert served["reconnects"] == (seconds >= 12)
    assert "leases_expired" not in served
    assert [path.name for path in shm.iterdir() if path.name != "base"] == []
    assert pool.region_files() == []


def test_a_lease_driver_that_is_told_to_end_while_its_media_driver_stands_still_ends(
    pool: Pool, system: System
) -> None:
    driver = pool.start_driver("--config", str(_impatient(Path(pool.base_dir).parent)))
    (media_driver,) = [system.adopt(pid) for pid in driver.children()]
    system.suspend(media_driver)
    driver.until(lambda: "MEDIA_DRIVER_GONE" in driver.stderr, "without its media driver")
    driver.send(signal.SIGINT)
    assert driver.wait() == 0, driver
    assert not system.is_alive(media_driver)


def _impatient(folder: Path) -> Path:
    config = folder / "driver.toml"
    config.write_text("[media_driver]\ndriver_timeout_ms = 1000\n")
    return config
