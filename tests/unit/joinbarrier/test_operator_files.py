# SPDX-License-Identifier: Apache-2.0
"""What a join stores of itself, and the thread that does."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from framegate.joinbarrier.checkpoint.operator.state import MAGIC, decode_state, encode_head
from framegate.joinbarrier.checkpoint.operator.writer import (
    STEPS_WAITING_MAX,
    NotStored,
    OperatorWriter,
    Result,
    Stored,
)
from framegate.schema.errors import CheckpointDamaged, CheckpointNewer, StoreFailed

from tests.unit.watchdog import WATCHDOG_NS

WATCHDOG_S = WATCHDOG_NS / 1e9
RECORDS = bytes.fromhex("03000000616263") + bytes.fromhex("00000000")
STATE = encode_head({"frames": 2, "checkpoint_id": 7}) + RECORDS


# --- state.bin ---


def test_a_state_comes_back_as_it_was() -> None:
    image = decode_state(STATE)
    assert (image.head["checkpoint_id"], image.frames) == (7, (b"abc", b""))


def test_every_cut_and_every_surplus_of_a_state_is_found() -> None:
    for end in range(len(STATE)):
        with pytest.raises(CheckpointDamaged):
            decode_state(STATE[:end])
    with pytest.raises(CheckpointDamaged):
        decode_state(STATE + b"\0")


def test_no_byte_of_a_state_makes_it_fail_otherwise() -> None:
    for at in range(len(STATE)):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            data = STATE[:at] + bytes([value]) + STATE[at + 1 :]
            try:
                decode_state(data)
            except (CheckpointDamaged, CheckpointNewer):
                continue


def test_a_state_of_a_later_version_is_told_apart() -> None:
    later = MAGIC + (2).to_bytes(4, "little") + STATE[12:]
    with pytest.raises(CheckpointNewer):
        decode_state(later)


# --- the writer ---


@pytest.fixture
def writer() -> Iterator[OperatorWriter]:
    writer = OperatorWriter()
    yield writer
    writer.close()


def done(writer: OperatorWriter) -> list[Result]:
    writer.close(WATCHDOG_S)
    return writer.results()


def test_steps_are_done_in_their_order_while_the_operator_goes_on(writer: OperatorWriter) -> None:
    may_go_on = threading.Event()
    order: list[str] = []

    def first() -> int:
        assert may_go_on.wait(WATCHDOG_S)
        order.append("first")
        return 10

    def second() -> int:
        order.append("second")
        return 20

    writer.put(1, first, is_complete=False)
    writer.put(1, second, is_complete=True)
    assert writer.results() == []
    may_go_on.set()
    assert done(writer) == [Stored(1, False, 10), Stored(1, True, 20)]
    assert order == ["first", "second"]


def test_a_step_that_fails_takes_the_later_ones_of_its_checkpoint_with_it(writer: OperatorWriter) -> None:
    def full() -> int:
        raise StoreFailed("no space left on device", store="there")

    writer.put(1, full, is_complete=False)
    writer.put(1, lambda: 1, is_complete=True)
    writer.put(2, lambda: 2, is_complete=False)
    failed, stored = done(writer)
    assert isinstance(failed, NotStored)
    assert failed.checkpoint_id == 1
    assert failed.reason.startswith("STORE_FAILED: no space left on device")
    assert stored == Stored(2, False, 2)


def test_what_nobody_foresaw_fails_the_checkpoint_and_not_the_thread(
    writer: OperatorWriter, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> int:
        raise ZeroDivisionError("broken")

    writer.put(1, broken, is_complete=False)
    writer.put(2, lambda: 2, is_complete=False)
    failed, stored = done(writer)
    assert isinstance(failed, NotStored)
    assert failed.reason.startswith("SERIALISATION_FAILED: ")
    assert stored == Stored(2, False, 2)
    assert "checkpoint 1 is not stored" in caplog.text


def test_what_was_given_up_before_it_began_is_not_stored(writer: OperatorWriter) -> None:
    writer.give_up(1)
    writer.put(1, lambda: 1, is_complete=False)
    writer.put(2, lambda: 2, is_complete=False)
    assert done(writer) == [Stored(2, False, 2)]


def test_a_disk_that_hangs_makes_later_steps_fail_and_holds_a_bounded_number(writer: OperatorWriter) -> None:
    may_go_on, has_begun = threading.Event(), threading.Event()

    def hang() -> int:
        has_begun.set()
        assert may_go_on.wait(WATCHDOG_S)
        return 1

    writer.put(1, hang, is_complete=False)
    assert has_begun.wait(WATCHDOG_S)
    for checkpoint_id in range(2, 100):
        writer.put(checkpoint_id, lambda: 1, is_complete=False)
    refused = writer.results()
    assert [each.checkpoint_id for each in refused] == list(range(2 + STEPS_WAITING_MAX, 100))
    assert all(isinstance(each, NotStored) and "wait for the disk" in each.reason for each in refused)
    may_go_on.set()
    assert [each.checkpoint_id for each in done(writer)] == list(range(1, 2 + STEPS_WAITING_MAX))
