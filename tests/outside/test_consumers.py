# SPDX-License-Identifier: Apache-2.0
"""A consumer counts every frame that was published for it: those that it read, and those of which it never heard."""

from __future__ import annotations

import pytest

from tests.outside.bed import Bed, Process, apart, until

LEASE_S = 12.0
"""Longer than a consumer may stand still and keep its lease and its place in the streams."""
BEGINS_MS = 9000
"""So long after its consumer was heard of does a producer begin that is to find it standing still."""


def consumer(bed: Bed, stream: int, *words: object) -> Process:
    return bed.run("consume", "--stream", stream, "--verify", "--json", *words, is_ready=True)


def test_frames_that_were_published_while_a_consumer_stood_still_are_gaps_at_its_end(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    reader = consumer(bed, stream)
    producer = bed.rate(stream, 200, 600)
    until(lambda: bed.sent_frames(stream) >= 100, "100 frames published")
    reader.stop()
    producer.summary()
    apart(LEASE_S)
    reader.go_on()
    summary = reader.summary()
    assert summary["frames"] > 0
    assert summary["frames"] + summary["gap_drops"] + summary["late_drops"] == 600, reader
    assert summary["gap_drops"] > 0


def test_a_stream_that_passed_unheard_as_a_whole_is_a_gap(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    # What a schedule publishes has no pattern that could be verified.
    reader = bed.run("consume", "--stream", stream, "--json", is_ready=True)
    # It waits for nobody: on a busy machine the reader stands still before the producer could count it.
    steps = [(BEGINS_MS + 5 * seq, seq, None) for seq in range(300)]
    producer = bed.play(stream, steps, consumers=0)
    apart(BEGINS_MS / 3000)
    reader.stop()
    producer.summary()
    apart(LEASE_S)
    reader.go_on()
    summary = reader.summary()
    assert summary["frames"] + summary["gap_drops"] + summary["late_drops"] == 300, reader


def test_a_consumer_that_comes_when_all_is_over_has_missed_nothing(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    first = consumer(bed, stream)
    producer = bed.produce(stream, "--rate", 2000, "--count", 100, "--shape", "8x8")
    assert producer.summary()["frames"] == first.summary()["frames"] == 100
    late = consumer(bed, stream)
    apart(2.0)
    assert late.interrupted()["gap_drops"] == 0, late


def test_fewer_frames_than_were_asked_for_is_a_failure_with_both_numbers(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    reader = consumer(bed, stream, "--count", 50)
    bed.produce(stream, "--rate", 2000, "--count", 20, "--shape", "8x8")
    assert reader.ended() == 1
    assert reader.says(event="summary")["frames"] == 20
    error = reader.says(event="error")
    assert error["name"] == "TOO_FEW_FRAMES"
    assert (error["facts"]["have"], error["facts"]["want"]) == (20, 50)


@pytest.mark.parametrize("reader", ["consume", "record", "join"])
def test_what_ended_before_a_reader_came_is_not_its_end_though_somebody_has_not_read_it_yet(
    bed: Bed, reader: str
) -> None:
    unread, stream = bed.streams(2)
    bed.deaf(unread)
    bed.rate(stream, 100, 20, consumers=0).summary()
    if reader == "consume":
        process = consumer(bed, stream)
    elif reader == "record":
        recording = bed.folder / "recorded.mcap"
        process = bed.run("record", recording, "--streams", stream, "--json", is_ready=True)
    else:
        process = bed.join(bed.lockstep("joined", [stream]))
    assert bed.rate(stream, 100, 50).summary()["frames"] == 50
    assert process.summary()["rows" if reader == "join" else "frames"] == 50
