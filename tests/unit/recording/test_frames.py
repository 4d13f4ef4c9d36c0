# SPDX-License-Identifier: Apache-2.0
"""Frames put together again from a recording, and those that cannot be."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import numpy as np
import pytest
from framegate.recording.frames import (
    LOST,
    NOT_RECORDED,
    UNREADABLE,
    Between,
    FrameOfRecording,
    Item,
    LeftOut,
    LostPayloads,
    Passage,
)
from framegate.recording.reader import Recording
from framegate.recording.recorded import Recorded, Topic
from framegate.recording.topic_map import parse_topics
from framegate.schema import Message
from framegate.schema.control import CheckpointBarrier, Watermark
from framegate.schema.errors import WrongUsage

from tests.unit.recording.recording_world import EPOCH, LEFT, RIGHT, START_NS, Made, descriptor
from tests.unit.recording.replay_frames import frame, numbered, passage


def only(items: list[Item]) -> FrameOfRecording:
    (found,) = items
    assert isinstance(found, FrameOfRecording)
    return found


def test_a_frame_is_what_its_slot_and_descriptor_said() -> None:
    # One log time for the three messages of a frame, as a recorder writes them.
    file = Made(is_one_time_a_frame=True).file(frame(7, numbered(7), timestamp_ns=123))
    found = only(passage(file)[1])
    assert (found.stream, found.epoch, found.seq) == (LEFT, EPOCH, 7)
    assert (found.timestamp_ns, found.descriptor_timestamp_ns, found.trace_id) == (123, 7_000, 0)
    assert (found.log_time_ns, found.position) == (START_NS, 3)
    assert found.array.dtype == np.uint16
    assert np.array_equal(found.array, numbered(7))


def test_column_order_and_null_times_stay_as_they_are() -> None:
    array = np.asfortranarray(numbered(1, (3, 4)))
    found = only(passage(Made(is_one_time_a_frame=True).file(frame(1, array, timestamp_ns=2**64 - 1)))[1])
    assert found.timestamp_ns is None
    assert found.array.flags.f_contiguous
    assert np.array_equal(found.array, array)


def test_a_frame_whose_payload_was_lost_is_left_out_in_its_place_and_the_file_says_why() -> None:
    place = {"stream": LEFT, "epoch": EPOCH, "first": 1, "last": 1, "count": 1}
    lost = {**place, "part": "payload", "cause": "overwritten"}
    messages = [
        *frame(0, numbered(0)),
        frame(1, numbered(1))[0],
        *frame(2, numbered(2)),
        ("framegate/loss", json.dumps(lost).encode()),
    ]
    found, items = passage(Made(is_one_time_a_frame=True).file(messages))
    assert [(type(item), item.seq) for item in items if not isinstance(item, Between)] == [
        (FrameOfRecording, 0),
        (LeftOut, 1),
        (FrameOfRecording, 2),
    ]
    assert isinstance(items[1], LeftOut)
    assert items[1].cause == "lost"
    assert found.losses == [LostPayloads(LEFT, EPOCH, 1, 1, "overwritten")]


def test_a_last_frame_without_payload_is_left_out_too() -> None:
    _, items = passage(Made(is_one_time_a_frame=True).file(frame(0, numbered(0))[:2]))
    assert [(type(item), item.stream) for item in items] == [(LeftOut, LEFT)]


@pytest.mark.parametrize("payload", [b"short", bytes(13), b""])
def test_a_slot_that_contradicts_its_payload_is_unreadable(payload: bytes) -> None:
    messages = frame(0, numbered(0))
    messages[2] = (messages[2][0], payload)
    _, items = passage(Made(is_one_time_a_frame=True).file(messages))
    assert [item.cause for item in items if isinstance(item, LeftOut)] == ["unreadable"]


def test_positions_count_messages_whatever_is_mapped() -> None:
    file = Made(is_one_time_a_frame=True).file([*frame(0, numbered(0)), *frame(0, numbered(0), stream=RIGHT)])
    plain, moved = passage(file)[1], passage(file, **{f"stream/{RIGHT}": 30})[1]
    assert [item.position for item in plain] == [item.position for item in moved] == [3, 6]
    assert [item.stream for item in moved] == [LEFT, 30]


def test_barriers_and_watermarks_come_between_the_frames() -> None:
    barrier = CheckpointBarrier(checkpoint_id=3, epoch=1, flags=0, stream_id=LEFT, source_epoch=EPOCH, after_seq=0)
    watermark = Watermark(timestamp_ms=5, stream_id=LEFT, source_epoch=EPOCH)
    messages = [
        *frame(0, numbered(0)),
        (f"stream/{LEFT}/CheckpointBarrier", barrier),
        (f"stream/{LEFT}/Watermark", watermark),
        *frame(1, numbered(1)),
    ]
    _, items = passage(Made(is_one_time_a_frame=True).file(messages))
    assert [item.message for item in items if isinstance(item, Between)] == [barrier, watermark]
    assert [type(item) for item in items] == [FrameOfRecording, Between, Between, FrameOfRecording]


def test_a_message_that_is_not_what_its_topic_says_gives_nothing() -> None:
    messages: list[tuple[str, Message | bytes]] = [
        (f"stream/{LEFT}/FrameDescriptor", b"nonsense"),
        (f"stream/{LEFT}/Watermark", descriptor(1)),
    ]
    assert passage(Made().file(messages))[1] == []


@pytest.mark.parametrize("word", ["10001", "=10001", "/camera=", "/camera=X", "/camera=0", "/camera=4294967295"])
def test_a_mapping_that_makes_no_sense_is_refused(word: str) -> None:
    with pytest.raises(WrongUsage):
        parse_topics([word])


def test_a_stream_has_one_source() -> None:
    with pytest.raises(WrongUsage):
        parse_topics(["/a=1", "/b=1"])


def test_a_recording_without_payloads_lost_none_of_them() -> None:
    messages = [frame(seq, numbered(seq))[0] for seq in range(3)]
    _, items = passage(Made(about={"payload": "false"}).file(messages))
    assert [item.cause for item in items if isinstance(item, LeftOut)] == [NOT_RECORDED] * 3
    _, items = passage(Made(about={"payload": "true"}).file(messages))
    assert [item.cause for item in items if isinstance(item, LeftOut)] == [LOST] * 3


@pytest.mark.parametrize("length", [0, 8, 40, 263])
def test_a_slot_header_that_was_cut_is_unreadable(length: int) -> None:
    messages = frame(0, numbered(0))
    topic, slot = messages[1]
    assert not isinstance(slot, bytes)
    messages[1] = (topic, slot.encode()[:length])
    _, items = passage(Made(is_one_time_a_frame=True).file(messages))
    assert [item.cause for item in items if isinstance(item, LeftOut)] == [UNREADABLE]


class _Told(Recording):
    """A recording of messages that are said here."""

    def __init__(self, messages: list[Recorded]) -> None:
        super().__init__(io.BytesIO())
        self._said = messages

    def by_time(self) -> Iterator[Recorded]:
        return iter(self._said)


@pytest.mark.parametrize("late", [1, 2], ids=["slot header", "payload"])
def test_what_was_received_at_another_time_belongs_to_another_frame(late: int) -> None:
    told = []
    for place, (topic, message) in enumerate(frame(0, numbered(0))):
        at_ns = START_NS + (place == late)
        data = message if isinstance(message, bytes) else message.encode()
        told.append(Recorded(Topic.of(topic, "sbe", ""), 0, at_ns, at_ns, data))
    (left_out,) = Passage(_Told(told))
    assert isinstance(left_out, LeftOut)
    assert left_out.cause == LOST
