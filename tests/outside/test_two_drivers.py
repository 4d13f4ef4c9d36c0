# SPDX-License-Identifier: Apache-2.0
"""A second driver on one media driver: it says who is there and ends, whatever base directory it was given."""

from __future__ import annotations

from tests.outside.bed import ENVIRONMENT, Bed, Process, until


def beside(bed: Bed, name: str) -> Process:
    """Start a driver on the bed's media driver, with a base directory of its own."""
    return bed.run("driver", "--base-dir", bed.folder / name, "--json")


def refusal(driver: Process) -> str:
    """What a driver says that must end because another one is there."""
    assert driver.ended() == ENVIRONMENT, driver
    said = driver.says(event="error")
    assert said["code"] == 220, driver
    return str(said["facts"]["heard"])


def test_a_second_driver_names_the_first_and_its_clients_do_not_notice(own_bed: Bed) -> None:
    own_bed.driver()
    (stream,) = own_bed.streams(1)
    producer = own_bed.rate(stream, 100, 400, consumers=0, is_ready=True)
    second = beside(own_bed, "other")
    assert str(own_bed.folder / "pool") in refusal(second)
    assert not (own_bed.folder / "other").exists()
    assert producer.summary()["frames"] == 400
    assert "lost its lease" not in producer.errors


def test_of_two_drivers_that_start_at_once_one_serves(own_bed: Bed) -> None:
    drivers = [beside(own_bed, name) for name in ("a", "b", "c")]
    until(lambda: sum(driver.has_ended for driver in drivers) == 2, "all but one end")
    (serving,) = [driver for driver in drivers if not driver.has_ended]
    base_dir = serving.says(event="ready")["base_dir"]
    for driver in drivers:
        assert driver is serving or base_dir in refusal(driver)
    own_bed.environment["FRAMEGATE_BASE_DIR"] = base_dir
    assert own_bed.rate(own_bed.streams(1)[0], 100, 10, consumers=0).summary()["frames"] == 10


def test_a_driver_takes_the_place_of_one_that_was_killed(own_bed: Bed) -> None:
    first = own_bed.driver()
    first.kill()
    beside(own_bed, "other").says(event="ready")
