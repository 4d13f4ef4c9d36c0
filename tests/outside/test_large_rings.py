# SPDX-License-Identifier: Apache-2.0
"""Gigabytes of ring take a while to be made: that is said, and nobody else is kept from working by it."""

from __future__ import annotations

import re

from tests.outside.bed import Bed, until
from tests.outside.terminal import on_terminal

GIBIBYTES = ("--slots", 2048, "--frame-bytes", 1 << 20)
"""A ring of 2 GiB, and a little more."""


def test_a_producer_waits_for_a_ring_of_gigabytes_and_others_keep_their_leases(own_bed: Bed) -> None:
    driver = own_bed.driver(*GIBIBYTES)
    first, second = own_bed.streams(2)
    other = own_bed.run("consume", "--stream", second, "--json")
    until(lambda: other.objects(), "the consumer waits for frames")
    producer = own_bed.rate(first, 20, 3, consumers=0, is_ready=True)
    assert producer.summary()["frames"] == 3
    assert "makes regions of 2." in driver.errors
    assert "lost its lease" not in other.errors + producer.errors
    assert "no lease driver answered" not in producer.text


def test_a_driver_that_is_told_to_end_while_it_makes_a_ring_leaves_nothing(own_bed: Bed) -> None:
    driver = own_bed.driver(*GIBIBYTES)
    (stream,) = own_bed.streams(1)
    producer = own_bed.rate(stream, 20, 3, consumers=0)
    until(lambda: "makes regions of 2." in driver.errors, "the driver makes the ring")
    driver.interrupted()
    assert not (own_bed.folder / "pool").exists()
    producer.close()


def test_a_ring_of_gigabytes_shows_how_it_grows(own_bed: Bed) -> None:
    own_bed.driver(*GIBIBYTES)
    words = ("produce", "--stream", 10001, "--shape", 1 << 20, "--count", 3, "--max-rate")
    shown = on_terminal(words, own_bed.folder, own_bed.environment)
    assert shown.code == 0, shown
    assert re.search(r"attach stream 10001 .* [\d.]+ [MG]iB .*s so far", shown.text), shown.text
