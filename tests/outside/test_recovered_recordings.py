# SPDX-License-Identifier: Apache-2.0
"""`framegate record --recover` keeps every message that is whole, byte for byte, whoever wrote the recording."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

import pytest
from mcap.reader import make_reader
from mcap.records import Channel, Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import CompressionType

from tests.outside.bed import Bed, Object
from tests.outside.recordings import MS, ticks, write_recording
from tests.outside.test_damaged_recordings import TOPICS, records

FRAMES = 300
HEAD_BYTES = 9
Kept = tuple[str, int, int, bytes]
"""Topic, log time, publish time and bytes of a message."""
Unit = tuple[int, int, list[Kept]]


@dataclass(frozen=True)
class Way:
    """How a recording is written."""

    compression: CompressionType = CompressionType.NONE
    is_chunked: bool = True
    is_finished: bool = True


WAYS = {
    "lz4": Way(CompressionType.LZ4),
    "lz4, without an end": Way(CompressionType.LZ4, is_finished=False),
    "zstd": Way(CompressionType.ZSTD),
    "no chunks": Way(is_chunked=False),
    "no chunks, without an end": Way(is_chunked=False, is_finished=False),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A bed without a driver: nobody is asked."""
    with Bed() as bed:
        yield bed


def recording(bed: Bed, way: Way, payload_bytes: int = 48) -> bytes:
    topics = {topic: ticks(FRAMES, 10 * MS, payload_bytes=payload_bytes) for topic in ("/cam", "/imu")}
    path = write_recording(
        bed.folder / "in.mcap",
        topics,
        chunk_bytes=4 << 10,
        compression=way.compression,
        is_chunked=way.is_chunked,
        is_finished=way.is_finished,
    )
    return path.read_bytes()


def units(data: bytes) -> list[Unit]:
    """First byte, end and messages of every chunk, and of every message outside of chunks, of an undamaged file."""
    topics: dict[int, str] = {}
    found = []
    # The places first: they end with the data, where a file without an end ends too.
    for (_, at, end), record in zip(records(data), StreamReader(BytesIO(data), emit_chunks=True).records, strict=False):
        messages = []
        for each in breakup_chunk(record) if isinstance(record, Chunk) else [record]:
            if isinstance(each, Channel):
                topics[each.id] = each.topic
            elif isinstance(each, Message):
                messages.append((topics[each.channel_id], each.log_time, each.publish_time, each.data))
        if messages:
            found.append((at, end, messages))
    return found


def recovered(bed: Bed, data: bytes | bytearray) -> tuple[list[Kept], Object]:
    """What another program's reader finds in the recovered file, and what the recovery said."""
    file, whole = bed.folder / "spoilt.mcap", bed.folder / "whole.mcap"
    file.write_bytes(data)
    whole.unlink(missing_ok=True)
    recover = bed.run("record", whole, "--recover", file, "--json")
    summary = recover.summary()
    with whole.open("rb") as stream:
        read = list(make_reader(stream, validate_crcs=True).iter_messages(log_time_order=False))
    return [(channel.topic, each.log_time, each.publish_time, each.data) for _, channel, each in read], summary


def held(whole: Sequence[Unit]) -> list[Kept]:
    return [message for _, _, messages in whole for message in messages]


def flipped(data: bytes, at: int, bit: int) -> bytearray:
    spoilt = bytearray(data)
    spoilt[at] ^= 1 << bit
    return spoilt


@every_way
def test_of_an_undamaged_recording_every_message_is_recovered(bed: Bed, way: Way) -> None:
    data = recording(bed, way)
    kept, summary = recovered(bed, data)
    assert kept == held(units(data))
    assert (summary["was_whole"], summary["damaged_chunks"]) == (way.is_finished, 0)
    assert len(kept) == 2 * FRAMES or not way.is_finished


@every_way
def test_of_a_cut_recording_every_message_before_the_cut_is_recovered(bed: Bed, way: Way) -> None:
    data = recording(bed, way)
    end = len(data) // 2
    kept, summary = recovered(bed, data[:end])
    wanted = held([unit for unit in units(data) if unit[1] <= end])
    assert kept == wanted
    assert kept
    assert not summary["was_whole"]


@every_way
def test_a_flipped_bit_costs_what_it_lies_in_and_says_so(bed: Bed, way: Way) -> None:
    """What it lies in is one chunk, or one message outside of chunks: there in its head, the rest has no check sum."""
    data = recording(bed, way)
    whole = units(data)
    at, end, hit = whole[len(whole) // 2]
    kept, summary = recovered(bed, flipped(data, at + (80 if way.is_chunked else 1), 5))
    assert kept == [message for message in held(whole) if message not in hit]
    assert (summary["lost"][0]["at"], summary["lost"][0]["end"]) == (at, end)
    # Whoever else reads the damaged recording finds the same.
    file, config = bed.folder / "spoilt.mcap", bed.lockstep("joined", [10_001, 10_002])
    joined = bed.run("join", "--config", config, "--from", file, *TOPICS, "--json").summary()
    assert joined["frames"] == len(kept)
    assert joined["lost"] == summary["lost"]
    inspected = bed.run("inspect", file, "--stats")
    assert inspected.ended() == 0
    assert f"bytes {at} to {end} cannot be read" in inspected.text


def test_zeros_over_messages_outside_of_chunks_cost_no_others(bed: Bed) -> None:
    data = bytearray(recording(bed, WAYS["no chunks"]))
    whole = units(bytes(data))
    first, last = whole[200][0], whole[203][1]
    data[first:last] = bytes(last - first)
    kept, summary = recovered(bed, data)
    assert kept == held([*whole[:200], *whole[204:]])
    assert [(each["at"], each["end"]) for each in summary["lost"]] == [(first, last)]


def test_a_chunk_that_claims_an_absurd_size_is_passed_over_and_said(bed: Bed) -> None:
    data = bytearray(recording(bed, WAYS["lz4"]))
    whole = units(bytes(data))
    for number, claimed in ((3, 1 << 29), (5, 1 << 40)):
        struct.pack_into("<Q", data, whole[number][0] + HEAD_BYTES + 16, claimed)
    kept, summary = recovered(bed, data)
    assert kept == held([unit for number, unit in enumerate(whole) if number not in (3, 5)])
    assert [(each["at"], each["end"]) for each in summary["lost"]] == [whole[3][:2], whole[5][:2]]
