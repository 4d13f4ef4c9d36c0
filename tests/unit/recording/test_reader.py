# SPDX-License-Identifier: Apache-2.0
"""A recording is read to its last whole message, whatever was done to the file."""

from __future__ import annotations

import io
import os
import random
import struct
from pathlib import Path

import pytest
import zstandard
from framegate.recording.framing import Damage, inner_records
from framegate.recording.reader import Recording
from framegate.recording.recorded import Topic
from framegate.schema.errors import RecordingDamaged
from framegate.schema.wire import FrameDescriptor
from mcap.records import Chunk
from mcap.writer import CompressionType

from tests.unit.recording.recording_world import LEFT, START_NS, Made, descriptor, frames

IS_LONG = os.environ.get("FRAMEGATE_TEST_LANE") == "long"
PACKED = [CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4]


def read(data: bytes) -> tuple[Recording, list[bytes]]:
    recording = Recording(io.BytesIO(data))
    return recording, [recorded.data for recorded in recording]


@pytest.mark.parametrize("compression", PACKED, ids=lambda each: each.name)
def test_messages_come_typed_and_in_order(compression: CompressionType) -> None:
    recording = Recording(io.BytesIO(Made(compression=compression).file(frames(100))))
    found = list(recording)
    descriptors = [each.message() for each in found if each.topic.kind == "FrameDescriptor"]
    assert descriptors == [descriptor(seq) for seq in range(100)]
    payloads = [each for each in found if each.is_payload]
    assert [each.data for each in payloads] == [bytes([seq]) * 64 for seq in range(100)]
    assert {each.topic.stream for each in found} == {LEFT}
    assert found[1].log_time_ns == START_NS + 1_000
    assert recording.damage is None
    assert recording.is_complete is True
    assert recording.about["version"] == "1"


def test_channels_of_other_writers_are_bytes_and_say_nothing_of_completeness() -> None:
    data = Made(is_ours=False).file([("/camera/image", b"jpeg"), ("stream/99999999999/payload", b"x")])
    recording = Recording(io.BytesIO(data))
    found = list(recording)
    assert [(each.topic.name, each.topic.stream, each.data) for each in found] == [
        ("/camera/image", None, b"jpeg"),
        ("stream/99999999999/payload", None, b"x"),
    ]
    assert recording.is_complete is None


def test_a_recording_that_was_not_ended_is_incomplete() -> None:
    recording, found = read(Made().file(frames(100), finish=False))
    assert 0 < len(found) < 300
    assert recording.damage is not None
    assert recording.is_complete is False


def test_every_cut_gives_the_messages_of_the_whole_chunks_before_it() -> None:
    whole = Made(compression=CompressionType.ZSTD).file(frames(60))
    _, everything = read(whole)
    counts = []
    for length in range(8, len(whole), 41):
        _, found = read(whole[:length])
        assert found == everything[: len(found)]
        counts.append(len(found))
    assert counts == sorted(counts)
    assert counts[-1] == len(everything)


def test_a_damaged_chunk_costs_its_own_messages_only() -> None:
    whole = Made().file(frames(100))
    _, everything = read(whole)
    at = whole.index(bytes([50]) * 64)
    recording, found = read(whole[:at] + b"\xee" + whole[at + 1 :])
    assert recording.damaged_chunks == 1
    assert recording.is_complete is False
    assert 0 < len(found) < len(everything)
    assert found[-1] == everything[-1]


@pytest.mark.parametrize("data", [b"", b"\x89MCAP0\r", b"not an MCAP file at all", b"\x89MCAP0\r\n"])
def test_what_does_not_even_begin_is_an_error_of_its_own(data: bytes) -> None:
    recording, found = read(data)
    assert not found
    with pytest.raises(RecordingDamaged):
        recording.require_start()


def test_a_chunk_that_says_it_unpacks_to_more_than_anything_takes_no_memory() -> None:
    whole = bytearray(Made(compression=CompressionType.ZSTD).file(frames(100)))
    # The chunk record: opcode, length, two times, then its size unpacked.
    at = whole.index(b"\x04\x00\x00\x00zstd") - 12
    whole[at : at + 8] = (1 << 62).to_bytes(8, "little")
    recording, found = read(bytes(whole))
    assert recording.damaged_chunks == 1
    assert found


@pytest.mark.parametrize("claimed", [0, 99, 1 << 40])
def test_a_packed_chunk_whose_two_sizes_differ_is_damaged_before_it_is_unpacked(claimed: int) -> None:
    packed = zstandard.ZstdCompressor().compress(bytes(100))
    # A frame that says its size in eight bytes: magic, descriptor, size; memory is taken by what stands there.
    packed = packed[:4] + b"\xe0" + struct.pack("<Q", claimed) + packed[6:]
    assert zstandard.frame_content_size(packed) == claimed
    with pytest.raises(Damage, match="contradicts itself"):
        inner_records(Chunk("zstd", packed, 0, 0, 0, 100))


@pytest.mark.parametrize("said", [0, 11, 13])
def test_a_chunk_is_as_long_as_it_says(said: int) -> None:
    with pytest.raises(Damage, match="as long"):
        inner_records(Chunk("", b"\x0f" + bytes(11), 0, 0, 0, said))


def test_a_recording_of_ours_without_its_final_record_is_incomplete_whatever_it_ends_with() -> None:
    recording = Recording(io.BytesIO())
    assert recording.is_complete is None
    recording.about = {"version": "1"}
    assert recording.is_complete is False


def test_a_stream_number_is_one_of_32_bits() -> None:
    assert Topic.of("stream/4294967295/payload", "raw", "").stream == 4_294_967_295
    assert Topic.of("stream/4294967296/payload", "raw", "").stream is None


@pytest.mark.parametrize("compression", PACKED, ids=lambda each: each.name)
def test_no_mutation_gives_anything_but_messages_and_what_was_damaged(compression: CompressionType) -> None:
    whole = Made(compression=compression).file(frames(30))
    chance = random.Random(4711)
    for _ in range(20_000 if IS_LONG else 300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        recording = Recording(io.BytesIO(bytes(data)))
        for recorded in recording:
            assert isinstance(recorded.data, bytes)
        assert recording.damage is None or recording.damage


def test_the_reader_and_the_native_recovery_agree(tmp_path: Path) -> None:
    from framegate._native import recording_recover

    whole = Made(compression=CompressionType.ZSTD).file(frames(80))
    cut, out = tmp_path / "cut.mcap", tmp_path / "out.mcap"
    cut.write_bytes(whole[: len(whole) // 2])
    _, wanted = read(cut.read_bytes())
    with Recording.open(cut) as recording:
        places = [(place.at, place.end) for place in recording.places]
    found = recording_recover(cut, out, places, gaps=0, cut_bytes=1)
    recovered = Recording(io.BytesIO(out.read_bytes()))
    assert [each.data for each in recovered] == wanted
    assert found["messages"] == len(wanted) > 0
    assert recovered.damage is None
    assert recovered.is_complete is False
    assert recovered.loss is not None
    descriptors = sum(len(data) == FrameDescriptor.BLOCK_LENGTH + 8 for data in wanted)
    assert recovered.loss["streams"][str(LEFT)]["frames"] == descriptors
