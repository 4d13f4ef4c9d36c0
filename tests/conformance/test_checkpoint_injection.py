# SPDX-License-Identifier: Apache-2.0
"""Barriers, the channel that carries them, and the injector: one suite over both implementations."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.checkpoint import (
    BarrierInjectionFailed,
    BarrierInjectorHandle,
    CheckpointBarrier,
    CheckpointBarrierInjector,
    Event,
    Watermark,
)
from framegate.joinbarrier.checkpoint.injector import require_atomics
from framegate.schema.errors import AtomicsMissing, CommandWordRefused, InvalidValue
from framegate.spec.checkpoint.command_word import EMPTY, pack, unpack

from tests.conformance.checkpoint_world import SECOND, Pieces, barrier


@pytest.fixture(params=["reference", "native"])
def make(request: pytest.FixtureRequest) -> Pieces:
    return Pieces(request.param)


# --- Barriers and messages ------------------------------------------------------------------------------


def test_checkpoint_barrier_new_creates_aligned() -> None:
    made = CheckpointBarrier(12, 3)
    assert (made.checkpoint_id, made.epoch, made.unaligned, made.is_aligned, made.flags) == (12, 3, False, True, 0)


def test_checkpoint_barrier_new_unaligned_flag() -> None:
    made = CheckpointBarrier(12, 3, unaligned=True)
    assert (made.unaligned, made.is_aligned, made.flags) == (True, False, 1)
    assert CheckpointBarrier(12, 3).flagged() == made


@pytest.mark.parametrize("wrong", [(0, 1), (-1, 1), (2**64, 1), (1, -1), (1, 2**48), ("1", 1)], ids=repr)
def test_what_no_barrier_can_carry_is_refused(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidValue):
        CheckpointBarrier(*wrong)


def test_an_event_knows_what_it_holds() -> None:
    np = pytest.importorskip("numpy")
    sizes = [Event(b"abc"), Event(np.zeros((2, 3), "u2")), Event("text"), Event(b"abc", 9), Event(memoryview(b"ab"))]
    assert [event.size for event in sizes] == [3, 12, 0, 9, 2]
    with pytest.raises(InvalidValue):
        Event(b"", size=-1)


# --- The command word -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [0, 1, 2**48 - 1])
@pytest.mark.parametrize("checkpoint_id", [1, 2**64 - 1])
@pytest.mark.parametrize("unaligned", [False, True])
def test_packed_barrier_cmd_round_trip(make: Pieces, checkpoint_id: int, epoch: int, unaligned: bool) -> None:
    wanted = CheckpointBarrier(checkpoint_id, epoch, unaligned)
    assert unpack(pack(checkpoint_id, epoch, unaligned=unaligned)) == wanted
    injector = make.injector()
    injector.handle().inject(checkpoint_id, epoch, unaligned)
    assert injector.poll(0) == wanted


def test_packed_barrier_cmd_empty_sentinel(make: Pieces) -> None:
    assert pack(1, 0, unaligned=False) != EMPTY
    assert make.injector().poll(0) is None


def test_packed_barrier_cmd_epoch_48bit_max(make: Pieces) -> None:
    injector = make.injector()
    injector.handle().inject(1, 2**48 - 1)
    assert injector.poll(0) == CheckpointBarrier(1, 2**48 - 1)
    with pytest.raises(InvalidValue, match="field=epoch"):
        injector.handle().inject(2, 2**48)


# --- The injector ---------------------------------------------------------------------------------------


def test_injector_periodic_fires_after_interval(make: Pieces) -> None:
    injector = make.injector(10)
    assert injector.poll(5) is None
    assert injector.poll(5 + 10 * SECOND) == barrier(1, 1)


def test_injector_periodic_does_not_fire_early(make: Pieces) -> None:
    injector = make.injector(10)
    assert [injector.poll(now) for now in (5, 6, 4 + 10 * SECOND)] == [None] * 3


def test_injector_coordinator_trigger_overrides_periodic(make: Pieces) -> None:
    injector = make.injector(10)
    injector.poll(0)
    injector.handle().inject(7, 2)
    assert injector.poll(10 * SECOND) == barrier(7, 2)
    assert injector.poll(20 * SECOND - 1) is None
    assert injector.poll(20 * SECOND) == barrier(8, 3)


def test_injector_coordinator_handle_inject(make: Pieces) -> None:
    injector = make.injector()
    asking = threading.Thread(target=injector.handle().inject, args=(3, 1, True))
    asking.start()
    asking.join()
    assert (injector.poll(0), injector.poll(1)) == (barrier(3, 1, True), None)


def test_injector_poll_barrier_fast_path_no_alloc(make: Pieces) -> None:
    """The native allocations are counted in native/checkpoint/tests; here, idle polls count nothing."""
    injector = make.injector()
    assert [injector.poll() for _ in range(200)] == [None] * 200
    assert injector.metrics() == {"barriers_injected": 0, "duplicates_ignored": 0, "epochs_raised": 0}


def test_injector_increments_epoch_on_periodic(make: Pieces) -> None:
    injector = make.injector(1)
    injector.handle().inject(5, 9)
    found = [injector.poll(now * SECOND) for now in range(4)]
    assert found == [barrier(5, 9), barrier(6, 10), barrier(7, 11), barrier(8, 12)]


def test_injector_barriers_injected_counter(make: Pieces) -> None:
    injector = make.injector(1)
    for now in range(4):
        injector.poll(now * SECOND)
    injector.handle().inject(9, 9)
    injector.poll(4 * SECOND)
    assert injector.barriers_injected == 4


def test_injector_duplicate_coordinator_signal_latest_wins(make: Pieces) -> None:
    injector = make.injector()
    for checkpoint_id in (1, 2, 3):
        injector.handle().inject(checkpoint_id, 1)
    assert (injector.poll(0), injector.poll(0)) == (barrier(3, 1), None)


def test_inject_poll_concurrent_consistency(make: Pieces) -> None:
    injector, last = make.injector(), 20_000
    handle = injector.handle()

    def ask() -> None:
        for number in range(1, last + 1):
            handle.inject(number, number, unaligned=number % 2 == 1)

    asking = threading.Thread(target=ask)
    asking.start()
    found = list[CheckpointBarrier]()
    while asking.is_alive():
        found += [each for each in [injector.poll(0)] if each is not None]
    found += [each for each in [injector.poll(0)] if each is not None]
    assert all(each == barrier(each.epoch, each.epoch, each.epoch % 2 == 1) for each in found)
    ids = [each.checkpoint_id for each in found]
    assert ids == sorted(set(ids))
    assert ids[-1] == last


def test_a_missed_interval_gives_one_barrier(make: Pieces) -> None:
    injector = make.injector(1)
    injector.poll(0)
    assert injector.poll(10 * SECOND) == barrier(1, 1)
    assert injector.poll(10 * SECOND + 1) is None
    assert injector.poll(11 * SECOND) == barrier(2, 2)


def test_a_triggered_id_that_is_over_is_ignored_and_counted(make: Pieces) -> None:
    injector = make.injector()
    for checkpoint_id in (5, 5, 4):
        injector.handle().inject(checkpoint_id, 1)
        injector.poll(0)
    assert (injector.barriers_injected, injector.metrics()["duplicates_ignored"]) == (1, 2)


def test_a_lower_epoch_is_raised_to_the_current_one(make: Pieces) -> None:
    injector = make.injector()
    for checkpoint_id, epoch in ((1, 8), (2, 3)):
        injector.handle().inject(checkpoint_id, epoch)
        assert injector.poll(0) == barrier(checkpoint_id, 8)
    assert injector.metrics()["epochs_raised"] == 1


def test_ids_and_epochs_end_where_their_numbers_do(make: Pieces) -> None:
    injector = make.injector(1)
    injector.handle().inject(2**64 - 2, 2**48 - 1)
    assert [injector.poll(now * SECOND) for now in range(3)] == [
        barrier(2**64 - 2, 2**48 - 1),
        barrier(2**64 - 1, 2**48 - 1),
        None,
    ]


def test_a_clock_that_is_set_back_fires_nothing(make: Pieces) -> None:
    injector = make.injector(1)
    injector.poll(5 * SECOND)
    assert injector.poll(1 * SECOND) is None
    assert injector.poll(6 * SECOND) == barrier(1, 1)


def test_a_machine_without_128_bit_atomics_is_refused() -> None:
    require_atomics()
    with pytest.raises(AtomicsMissing):
        require_atomics(is_lock_free=False)


# --- The word in shared memory --------------------------------------------------------------------------


@pytest.fixture
def word(tmp_path: Path) -> Path:
    return tmp_path / "camera.command"


def test_another_process_triggers_through_the_file(word: Path) -> None:
    injector = CheckpointBarrierInjector("camera", word=word)
    asking = multiprocessing.get_context("spawn").Process(target=_ask_often, args=(str(word), 2000))
    asking.start()
    found = list[CheckpointBarrier]()
    while asking.is_alive():
        polled = injector.poll(0)
        if polled is not None:
            found.append(polled)
    asking.join()
    last = injector.poll(0)
    found += [] if last is None else [last]
    assert asking.exitcode == 0
    assert found[-1].checkpoint_id == 2000
    assert all(each == barrier(each.epoch, each.epoch, each.epoch % 2 == 1) for each in found)


def _ask_often(word: str, count: int) -> None:
    handle = BarrierInjectorHandle.open(word)
    for number in range(1, count + 1):
        handle.inject(number, number, unaligned=number % 2 == 1)


def test_the_last_id_survives_a_restart_of_the_injector(word: Path) -> None:
    first = CheckpointBarrierInjector("camera", word=word)
    first.handle().inject(5, 2)
    first.poll(0)
    first.handle().inject(6, 2)
    del first
    again = CheckpointBarrierInjector("camera", periodic_interval_s=1, word=word)
    assert again.poll(0) == barrier(6, 2)
    again.handle().inject(5, 2)
    assert (again.poll(1), again.metrics()["duplicates_ignored"]) == (None, 1)
    assert again.poll(SECOND) == barrier(7, 3)


def test_one_source_at_a_time_has_a_word(word: Path) -> None:
    first = CheckpointBarrierInjector("camera", word=word)
    with pytest.raises(CommandWordRefused, match="another source"):
        CheckpointBarrierInjector("other", word=word)
    del first
    CheckpointBarrierInjector("other", word=word)


def test_what_is_no_command_word_is_refused(word: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandWordRefused):
        BarrierInjectorHandle.open(word)
    CheckpointBarrierInjector("camera", word=word)
    whole = word.read_bytes()
    for number, wrong in enumerate(
        [b"", b"x", b"x" * 4096, bytes(4096), whole[:8] + b"\x02" + whole[9:], whole + b"x"]
    ):
        other = tmp_path / f"wrong-{number}"
        other.write_bytes(wrong)
        with pytest.raises(CommandWordRefused):
            BarrierInjectorHandle.open(other)
    link = tmp_path / "link"
    link.symlink_to(word)
    with pytest.raises(CommandWordRefused):
        BarrierInjectorHandle.open(link)
    with pytest.raises(CommandWordRefused):
        BarrierInjectorHandle.open(tmp_path)


def test_the_file_is_for_this_user_alone(word: Path) -> None:
    CheckpointBarrierInjector("camera", word=word)
    assert word.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("junk", [b"\x01" + bytes(15), b"\xff" * 8 + bytes(8), b"\xff" * 16])
def test_junk_in_the_word_is_no_reason_to_fail(word: Path, junk: bytes) -> None:
    injector = CheckpointBarrierInjector("camera", word=word)
    with word.open("r+b") as file:
        file.seek(64)
        file.write(junk)
    found = injector.poll(0)
    assert found is None or found.checkpoint_id == 2**64 - 1


# --- The channel ----------------------------------------------------------------------------------------


def test_messages_come_out_in_order_and_as_they_were(make: Pieces) -> None:
    channel, event = make.channel(4), Event("payload")
    for message in (event, Watermark(-5), barrier(3, 1, True)):
        assert channel.push(message)
    assert len(channel) == 3
    assert channel.pop() is event
    assert [channel.pop() for _ in range(3)] == [Watermark(-5), barrier(3, 1, True), None]


def test_one_place_is_kept_for_a_barrier(make: Pieces) -> None:
    channel = make.channel(2)
    assert [channel.push(Event(number)) for number in range(3)] == [True, True, False]
    assert not channel.push(Watermark(1))
    assert channel.push(barrier(1))
    assert not channel.push(barrier(2))
    channel.pop()
    assert not channel.push(Event("the barrier has its place"))
    assert channel.push(barrier(2))


def test_a_closed_channel_refuses_a_barrier_aloud_and_gives_out_the_rest(make: Pieces) -> None:
    channel = make.channel(2)
    channel.push(Watermark(1))
    channel.close()
    assert channel.is_closed
    assert not channel.push(Event(1))
    with pytest.raises(BarrierInjectionFailed, match="checkpoint_id=7"):
        channel.push(barrier(7))
    assert (channel.pop(), channel.pop()) == (Watermark(1), None)
