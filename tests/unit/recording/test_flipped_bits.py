# SPDX-License-Identifier: Apache-2.0
"""Any single bit of a recording without chunks costs one message at most, and no message is made of what is left."""

from __future__ import annotations

import io

import pytest
from framegate.recording.reader import Recording
from mcap.writer import Writer

MESSAGE = 5
HEAD_BYTES = 9
MESSAGES = 12
A_PROGRAMS_OWN = 7
"""The bit of a record's kind that makes a record of its own of it, which readers pass over."""
Found = list[tuple[int, bytes]]


def _file(payload_bytes: int, *, is_finished: bool) -> bytes:
    stream = io.BytesIO()
    writer = Writer(stream, use_chunking=False)
    writer.start("", "another program")
    channel = writer.register_channel("/cam", "raw", 0)
    for number in range(MESSAGES):
        payload = number.to_bytes(4, "little") + bytes(payload_bytes - 4 + number % 3)
        writer.add_message(channel, 1_000 + number, payload, 1_000 + number, number)
    if is_finished:
        writer.finish()  # type: ignore[no-untyped-call]  # the package forgot this one
    return stream.getvalue()


def _read(data: bytes) -> tuple[Found, Recording]:
    recording = Recording(io.BytesIO(data))
    return [(each.log_time_ns, each.data) for each in recording], recording


def _messages(data: bytes) -> list[int]:
    """Where they begin."""
    at, found = 8, []
    while at + HEAD_BYTES <= len(data) and data[at] != 15:
        if data[at] == MESSAGE:
            found.append(at)
        at += HEAD_BYTES + int.from_bytes(data[at + 1 : at + HEAD_BYTES], "little")
    return found


@pytest.mark.parametrize("is_finished", [True, False])
@pytest.mark.parametrize("payload_bytes", [4, 12, 33, 48, 97, 250])
def test_a_bit_of_a_messages_head_costs_that_message(payload_bytes: int, is_finished: bool) -> None:
    data = _file(payload_bytes, is_finished=is_finished)
    whole, _ = _read(data)
    assert len(whole) == MESSAGES
    for number, at in enumerate(_messages(data)):
        for bit in set(range(8 * HEAD_BYTES)) - {A_PROGRAMS_OWN}:
            spoilt = bytearray(data)
            spoilt[at + bit // 8] ^= 1 << bit % 8
            found, recording = _read(bytes(spoilt))
            assert found == [*whole[:number], *whole[number + 1 :]], (number, bit)
            assert recording.lost, (number, bit)
            assert recording.lost[0].at == at, (number, bit)


@pytest.mark.parametrize("is_finished", [True, False])
def test_whatever_is_cut_off_every_message_before_it_is_read(is_finished: bool) -> None:
    data = _file(33, is_finished=is_finished)
    whole, _ = _read(data)
    starts = _messages(data)
    ends = [*starts[1:], starts[-1] + HEAD_BYTES + 22 + 33 + (MESSAGES - 1) % 3]
    for length in range(8, ends[-1] + 1):
        found, _ = _read(data[:length])
        assert found == whole[: sum(end <= length for end in ends)], length
