# SPDX-License-Identifier: Apache-2.0
"""Recordings with damaged bytes: every chunk that is whole is read, and what is lost is said by bytes and times."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType

from tests.outside.bed import Bed, Object, Process
from tests.outside.recordings import MS, ticks, write_recording
from tests.outside.rows import seqs

FRAMES = 1_000
CHUNK_BYTES = 4 << 10
CHUNK, MESSAGE_INDEX = 6, 7
MAGIC = b"\x89MCAP0\r\n"
TOPICS = ("--map", "/cam=10001", "--map", "/imu=10002")


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A bed without a driver: nobody is asked."""
    with Bed() as bed:
        yield bed


def recording(bed: Bed, compression: CompressionType = CompressionType.NONE, *, is_finished: bool = True) -> Path:
    topics = {topic: ticks(FRAMES, 10 * MS, payload_bytes=48) for topic in ("/cam", "/imu")}
    return write_recording(
        bed.folder / "in.mcap", topics, chunk_bytes=CHUNK_BYTES, compression=compression, is_finished=is_finished
    )


def records(data: bytes | bytearray) -> Iterator[tuple[int, int, int]]:
    """Kind, first byte and end of each record of the data."""
    at = len(MAGIC)
    while at + 9 <= len(data):
        kind, length = struct.unpack_from("<BQ", data, at)
        if kind == 0x0F:
            return
        yield kind, at, at + 9 + length
        at += 9 + length


def chunks(data: bytes | bytearray) -> list[tuple[int, int]]:
    return [(at, end) for kind, at, end in records(data) if kind == CHUNK]


def messages_in(data: bytes | bytearray, at: int) -> int:
    """How many frames the first records behind a chunk, its indexes, say that it has."""
    found = 0
    for kind, first, end in records(data):
        if first <= at:
            continue
        if kind != MESSAGE_INDEX:
            break
        found += (end - first - 9 - 6) // 16
    return found


def joined(bed: Bed, file: Path) -> Process:
    join = bed.run("join", "--config", bed.lockstep("joined", [10_001, 10_002]), "--from", file, *TOPICS, "--json")
    join.ended()
    return join


def lost_bytes(summary: Object) -> list[tuple[int, int]]:
    return [(each["at"], each["end"]) for each in summary["lost"]]


def check_the_rest(bed: Bed, data: bytearray, costs: int, touched: range) -> Object:
    """All frames but so many are read, the lost bytes hold those that were touched, and so says a recovered file."""
    file = bed.folder / "spoilt.mcap"
    file.write_bytes(data)
    join = joined(bed, file)
    summary = join.summary()
    assert summary["frames"] == 2 * FRAMES - costs, join
    rows = seqs(bed.journal("joined"), "s0", "s1")
    assert len(rows) >= FRAMES - costs
    if costs:
        assert any(at <= touched.start and touched.stop <= end for at, end in lost_bytes(summary)), summary["lost"]
        assert all(each["after_ns"] is not None or each["before_ns"] is not None for each in summary["lost"])
    recover = bed.run("record", bed.folder / "whole.mcap", "--recover", file, "--json")
    found = recover.summary()
    assert found["messages"] == summary["frames"]
    assert lost_bytes(found) == lost_bytes(summary)
    with (bed.folder / "whole.mcap").open("rb") as stream:
        read = [(channel.topic, message.data) for _, channel, message in make_reader(stream).iter_messages()]
    assert {topic for topic, _ in read} == {"/cam", "/imu"}
    assert len(read) == summary["frames"]
    return summary


def test_zeros_over_the_border_of_two_chunks_cost_these_two(bed: Bed) -> None:
    data = bytearray(recording(bed).read_bytes())
    all_chunks = chunks(data)
    first, second = all_chunks[10], all_chunks[11]
    costs = messages_in(data, first[0]) + messages_in(data, second[0])
    touched = range(first[1] - 200, second[0] + 200)
    data[touched.start : touched.stop] = bytes(len(touched))
    check_the_rest(bed, data, costs, range(first[1], second[0] + 9))


def test_five_thousand_zeros_cost_the_chunks_that_they_touch(bed: Bed) -> None:
    data = bytearray(recording(bed).read_bytes())
    at = len(data) // 2
    hit = [chunk for chunk in chunks(data) if chunk[0] < at + 5_000 and at < chunk[1]]
    costs = sum(messages_in(data, chunk[0]) for chunk in hit)
    data[at : at + 5_000] = bytes(5_000)
    summary = check_the_rest(bed, data, costs, range(at + 2_000, at + 2_001))
    assert summary["damaged_chunks"] >= 1


@pytest.mark.parametrize("compression", list(CompressionType), ids=lambda each: each.name)
def test_one_bit_in_the_first_chunk_costs_that_chunk_and_no_topic(bed: Bed, compression: CompressionType) -> None:
    data = bytearray(recording(bed, compression).read_bytes())
    at, end = chunks(data)[0]
    data[at + 9 + 60] ^= 1
    file = bed.folder / "spoilt.mcap"
    file.write_bytes(data)
    summary = joined(bed, file).summary()
    assert summary["frames"] == 2 * FRAMES - messages_in(data, at)
    assert lost_bytes(summary) == [(at, end)]
    assert summary["problems"][0]["code"] == 803
    told = bed.run("join", "--config", bed.lockstep("told", [10_001, 10_002]), "--from", file, *TOPICS)
    assert told.ended() == 0
    inspected = bed.run("inspect", file, "--stats")
    assert inspected.ended() == 0
    for said in (told, inspected):
        assert f"bytes {at} to {end} cannot be read" in said.text


@pytest.mark.parametrize("byte", range(9))
def test_a_damaged_head_of_a_chunk_costs_that_chunk(bed: Bed, byte: int) -> None:
    data = bytearray(recording(bed).read_bytes())
    at, end = chunks(data)[5]
    costs = messages_in(data, at)
    data[at + byte] ^= 0x20
    check_the_rest(bed, data, costs, range(at, end))


def test_a_damaged_end_of_the_file_costs_nothing(bed: Bed) -> None:
    data = bytearray(recording(bed).read_bytes())
    data[-300:] = bytes(300)
    check_the_rest(bed, data, 0, range(0))


def test_a_damaged_start_of_the_file_costs_nothing_either(bed: Bed) -> None:
    data = bytearray(recording(bed).read_bytes())
    data[:20] = bytes(20)
    check_the_rest(bed, data, 0, range(0))
