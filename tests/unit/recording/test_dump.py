# SPDX-License-Identifier: Apache-2.0
"""Raw dumps of other implementations: what is a frame comes out as one, nothing is made up, and cuts are said."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from framegate.recording.dump import Dump
from framegate.recording.frames import Between, FrameOfRecording, LeftOut
from framegate.recording.reader import Recording
from framegate.recording.source import open_source
from framegate.schema.codec import HEADER
from framegate.schema.control import Watermark
from framegate.schema.errors import RecordingMissing, UnknownContent

from tests.unit.recording.dump_world import behind_lengths, dumped, parts, write_folder
from tests.unit.recording.recording_world import EPOCH, LEFT, RIGHT, Made, descriptor, frames, slot_header
from tests.unit.recording.replay_frames import numbered

FOREIGN = HEADER.pack(53, 1, 902, 1) + bytes(53)


def told(path: Path) -> list[tuple[str, int, int]]:
    """What comes of a dump, in few words."""
    return [(type(item).__name__, item.stream, item.seq) for item in dumped(path)[1] if not isinstance(item, Between)]


@pytest.mark.parametrize("form", ["<I", ">I", "<Q"])
def test_messages_behind_their_lengths_are_frames(tmp_path: Path, form: str) -> None:
    file = tmp_path / "a.dump"
    file.write_bytes(
        behind_lengths([*parts(7, numbered(7), timestamp_ns=5), *parts(7, numbered(8), stream=RIGHT)], form)
    )
    passage, (left, right) = dumped(file)
    assert isinstance(left, FrameOfRecording)
    assert isinstance(right, FrameOfRecording)
    assert (left.stream, left.epoch, left.seq) == (LEFT, EPOCH, 7)
    assert (left.timestamp_ns, left.descriptor_timestamp_ns, left.log_time_ns) == (5, 7_000, 7_000)
    assert np.array_equal(left.array, numbered(7))
    assert (right.stream, right.array.tobytes()) == (RIGHT, numbered(8).tobytes())
    assert (passage.position, left.position, passage.recording.damage) == (6, 3, None)


def test_a_folder_has_a_message_in_each_file_and_goes_by_the_numbers_in_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    write_folder(folder, [message for seq in range(5) for message in parts(seq, numbered(seq))])
    (folder / ".hidden").write_bytes(descriptor(9).encode())
    (folder / "deeper").mkdir()
    assert told(folder) == [("FrameOfRecording", LEFT, seq) for seq in range(5)]


def test_a_descriptor_without_payload_is_left_out_as_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    file.write_bytes(
        behind_lengths(
            [
                descriptor(0).encode(),
                *parts(1, numbered(1)),
                *parts(2, numbered(2))[:2],
                # Of another frame: nothing says whose payload it is.
                descriptor(3).encode(),
                *parts(4, numbered(4))[1:],
                FOREIGN,
                # Cut by whoever wrote it: these bytes are nobody's.
                *parts(5, numbered(5))[:2],
                b"short",
            ]
        )
    )
    passage, items = dumped(file)
    assert [(type(item), item.seq) for item in items if not isinstance(item, Between)] == [
        (LeftOut, 0),
        (FrameOfRecording, 1),
        (LeftOut, 2),
        (LeftOut, 3),
        (LeftOut, 5),
    ]
    assert {item.cause for item in items if isinstance(item, LeftOut)} == {"not_recorded"}
    assert isinstance(passage.recording, Dump)
    assert passage.recording.unknown == 3


def test_a_message_as_long_as_the_missing_payload_is_a_message(tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    array = np.zeros(48, np.uint8)
    file.write_bytes(behind_lengths([*parts(0, array)[:2], *parts(1, array)]))
    assert told(file) == [("LeftOut", LEFT, 0), ("FrameOfRecording", LEFT, 1)]


def test_an_empty_payload_is_one(tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    file.write_bytes(behind_lengths(parts(0, np.zeros((0, 3), np.uint8))))
    _, (found,) = dumped(file)
    assert isinstance(found, FrameOfRecording)
    assert found.array.shape == (0, 3)


def test_frames_are_due_at_the_times_they_say_and_never_before_what_precedes_them(tmp_path: Path) -> None:
    null = (1 << 64) - 1
    file = tmp_path / "a.dump"
    both, neither, first = numbered(1), numbered(2), numbered(0)
    absent = [replace(descriptor(seq), timestamp_ns=None).encode() for seq in range(4)]
    file.write_bytes(
        behind_lengths(
            [
                *parts(1, both, timestamp_ns=500),
                absent[2],
                *parts(2, neither, timestamp_ns=2_500)[1:],
                absent[3],
                *parts(3, neither, timestamp_ns=null)[1:],
                *parts(0, first, timestamp_ns=1),
            ]
        )
    )
    _, items = dumped(file)
    assert [item.log_time_ns for item in items] == [1_000, 2_500, 2_500, 2_500]
    assert [item.timestamp_ns for item in items if isinstance(item, FrameOfRecording)] == [500, 2_500, None, 1]


def test_watermarks_keep_their_places(tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    watermark = Watermark(timestamp_ms=5, stream_id=LEFT, source_epoch=EPOCH)
    file.write_bytes(behind_lengths([*parts(0, numbered(0)), watermark.encode(), *parts(1, numbered(1))]))
    assert [type(item) for item in dumped(file)[1]] == [FrameOfRecording, Between, FrameOfRecording]


@pytest.mark.parametrize("cut", [1, 3, 5, 20])
def test_a_dump_that_was_cut_gives_its_whole_messages_and_says_so(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "a.dump"
    whole = behind_lengths([descriptor(seq).encode() for seq in range(3)])
    last = struct.calcsize("<I") + len(descriptor(0).encode())
    file.write_bytes(whole[: len(whole) - last + cut])
    passage, items = dumped(file)
    assert [item.seq for item in items if isinstance(item, LeftOut)] == [0, 1]
    assert passage.recording.damage
    assert passage.recording.is_complete is False


def test_a_length_that_lies_ends_the_dump(tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    file.write_bytes(behind_lengths([descriptor(0).encode()]) + b"\xff" * 100)
    passage, items = dumped(file)
    assert len(items) == 1
    assert "longer than any" in str(passage.recording.damage)


def test_a_single_message_is_a_dump_too_and_an_mcap_file_is_none(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes(descriptor(3).encode())
    assert told(file) == [("LeftOut", LEFT, 3)]
    file.write_bytes(Made().file(frames(1)))
    with open_source(file) as source:
        assert isinstance(source, Recording)
    # What is nothing is told as before.
    file.write_bytes(b"\0" * 100)
    with open_source(file) as source:
        assert list(source) == []
        assert source.damage


def test_what_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingMissing):
        open_source(tmp_path / "none")
    with pytest.raises(UnknownContent):
        open_source(tmp_path)


def test_the_slot_of_a_message_is_the_frames_and_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "a.dump"
    # Its tensor header is nothing but zeros.
    file.write_bytes(behind_lengths([descriptor(0).encode(), slot_header(0, 4, 1).encode(), b"abcd"]))
    _, (found,) = dumped(file)
    assert isinstance(found, LeftOut)
    assert found.cause == "unreadable"
