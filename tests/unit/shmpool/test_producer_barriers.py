# SPDX-License-Identifier: Apache-2.0
"""When a producer sends checkpoint barriers, and what it says of those that it could not send."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.checkpoint.coordinator.actions import CoordinatorRules
from framegate.joinbarrier.checkpoint.coordinator.messages import Voice
from framegate.schema.control import AckStatus, BarrierAck, InjectBarrier
from framegate.schema.driver import Role
from framegate.schema.errors import AtomicsMissing, BarrierInjectionFailed, InvalidValue, MediaDriverGone, NotAttached
from framegate.shmpool.marks.continued import NAME as CONTINUED
from framegate.shmpool.producer import command_word
from framegate.shmpool.producer.command_word import NAME, ProducersWord
from framegate.shmpool.producer.producer import Producer
from framegate.shmpool.producer.requested_barriers import SENT_BARRIERS_KEPT
from framegate.shmpool.producer.sent_barrier import SentBarrier

from framegate._native import BarrierInjector, CommandWord
from tests.unit.shmpool.client_world import LEASE, STREAM, World, producer_world
from tests.unit.shmpool.lease_messages import revoked


@pytest.fixture
def folder(shm: Path) -> Path:
    """The stream's: epochs lie below it as a driver makes them."""
    found = shm / str(STREAM)
    found.mkdir()
    return found


@pytest.fixture
def world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World[Producer]]:
    with producer_world(folder, monkeypatch) as world:
        world.attach(5)
        world.control()
        yield world


def asked(checkpoint_id: int = 3, epoch: int = 1, flags: int = 0, pipeline: str = "default") -> InjectBarrier:
    return InjectBarrier(checkpoint_id=checkpoint_id, epoch=epoch, flags=flags, pipeline=pipeline)


def due(world: World[Producer]) -> tuple[int, int, bool] | None:
    """What the word that the native side goes by asks for."""
    word, interval_ns = world.native.words[-1]
    return BarrierInjector(word, interval_ns).poll(0)


# --- the command word ------------------------------------------------------------------------------------------


def test_the_word_lies_in_the_streams_folder_for_its_user_alone(world: World[Producer], folder: Path) -> None:
    about = (folder / NAME).stat()
    assert (stat.S_IMODE(about.st_mode), about.st_size) == (0o600, 4096)
    CommandWord.open(str(folder / NAME)).inject(9, 2, False)
    assert due(world) == (9, 2, False)


def test_an_epoch_more_goes_on_with_the_same_word(world: World[Producer]) -> None:
    words = len(world.native.words)
    world.tell(revoked(Role.PRODUCER, lease_id=LEASE, stream_id=STREAM))
    world.tick(1)
    world.make(6)
    world.answer(6, lease_id=LEASE + 1)
    assert world.member.epoch == 6
    assert len(world.native.words) == words


def test_a_word_that_was_removed_is_made_anew(world: World[Producer], folder: Path) -> None:
    (folder / NAME).unlink()
    words = len(world.native.words)
    world.tick(2)
    assert (folder / NAME).exists()
    assert len(world.native.words) == words + 1


def test_a_closed_producer_lets_its_word_go(world: World[Producer], folder: Path) -> None:
    native = world.native
    world.member.close()
    assert native.words[-1] == (None, None)
    native.words.clear()
    # Whoever comes next polls it.
    CommandWord.create(str(folder / NAME))


def test_regions_that_lie_elsewhere_have_no_file_beside_them(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with producer_world(shm, monkeypatch) as world:
        world.attach(5)
        assert list(shm.rglob(NAME)) == []
        world.tell(asked())
        assert due(world) == (3, 1, False)


def test_a_word_that_another_holds_is_taken_when_it_is_free(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    predecessor = CommandWord.create(str(folder / NAME))
    with producer_world(folder, monkeypatch) as world, caplog.at_level(logging.WARNING):
        world.attach(5)
        assert len(world.native.words) == 1
        world.tick(2)
        world.tick(2)
        assert len([each for each in caplog.records if "another source uses it" in each.message]) == 1
        world.tell(asked())
        assert due(world) == (3, 1, False)
        del predecessor
        world.tick(2)
        assert len(world.native.words) == 2
        CommandWord.open(str(folder / NAME)).inject(8, 1, False)
        assert due(world) == (8, 1, False)


def test_something_else_in_the_words_place_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / NAME).write_bytes(b"notes")
    with producer_world(folder, monkeypatch) as world:
        world.attach(5)
        world.tell(asked())
        assert due(world) == (3, 1, False)
    assert (folder / NAME).read_bytes() == b"notes"


def test_a_machine_without_wide_atomics_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Narrow:
        @staticmethod
        def is_lock_free() -> bool:
            return False

    monkeypatch.setattr(command_word, "CommandWord", Narrow)
    with pytest.raises(AtomicsMissing):
        ProducersWord(STREAM)


# --- the coordinator ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("flags", "unaligned"), [(0, False), (1, True)])
def test_what_the_coordinator_asks_for_is_put_into_the_word(
    world: World[Producer], flags: int, unaligned: bool
) -> None:
    world.tell(asked(flags=flags))
    assert due(world) == (3, 1, unaligned)


def test_of_two_commands_the_newest_wins(world: World[Producer]) -> None:
    world.tell(asked(3))
    world.tell(asked(4))
    assert due(world) == (4, 1, False)


@pytest.mark.parametrize("wrong", [{"pipeline": "other"}, {"checkpoint_id": 0}, {"epoch": 1 << 48}], ids=str)
def test_what_is_not_for_this_producer_or_no_barrier_is_ignored(world: World[Producer], wrong: dict[str, Any]) -> None:
    world.tell(asked(**wrong))
    assert due(world) is None


def test_two_pipelines_on_one_control_stream_do_not_disturb_each_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with producer_world(folder, monkeypatch, pipeline="second") as world:
        world.attach(5)
        world.tell(asked(7, pipeline="second"))
        world.tell(asked(3))
        assert due(world) == (7, 1, False)


def test_a_producer_of_no_pipeline_hears_nobody_and_has_no_word(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with producer_world(folder, monkeypatch, pipeline=None) as world:
        world.attach(5)
        world.tell(asked())
        assert (world.native.words, list(folder.glob(NAME))) == ([], [])
        assert world.member.barrier(3, 1)
        assert world.native.barriers == [(3, 1, False)]


def test_a_coordinator_that_is_heard_ends_the_interval(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with producer_world(folder, monkeypatch, barrier_interval_s=0.5) as world:
        world.attach(5)
        assert world.native.words[-1][1] == 500_000_000
        assert not world.native.has_coordinator
        world.tell(asked())
        assert world.native.has_coordinator


@pytest.mark.parametrize(("pipeline", "is_ours"), [("default", True), ("other", False)])
def test_a_coordinator_that_announces_its_pipeline_ends_the_interval(
    folder: Path, monkeypatch: pytest.MonkeyPatch, pipeline: str, is_ours: bool
) -> None:
    rules = CoordinatorRules(pipeline=pipeline, store="/data/checkpoints")
    with producer_world(folder, monkeypatch, barrier_interval_s=0.5) as world:
        world.attach(5)
        world.tell(Voice(rules, epoch=3).announce(0, 0, is_aligned_only=False))
        assert world.native.has_coordinator is is_ours


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), 1e10])
def test_an_interval_that_is_none_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    with (
        pytest.raises(InvalidValue, match="barrier_interval_s"),
        producer_world(folder, monkeypatch, barrier_interval_s=wrong),
    ):
        pass


# --- sending -----------------------------------------------------------------------------------------------------


def test_every_turn_of_the_clients_thread_looks_for_what_is_due(world: World[Producer]) -> None:
    world.tick(0.01)
    assert world.native.looked_at_ns == world.now_ns


def test_a_barrier_that_could_not_be_sent_is_told_to_the_coordinator_once(world: World[Producer]) -> None:
    world.native.lost_barrier = (7, 2)
    world.tick()
    world.tick()
    (failure,) = [message for message in world.control() if isinstance(message, BarrierAck)]
    assert (failure.checkpoint_id, failure.epoch, failure.status) == (7, 2, AckStatus.FAILED)
    assert (failure.pipeline, failure.operator_id) == ("default", f"source-{STREAM}")
    assert str(STREAM) in failure.reason


def test_a_barrier_that_was_lost_with_the_media_driver_is_told_on_the_next_one(world: World[Producer]) -> None:
    world.native.lost_barrier = (7, 2)
    world.member.on_link_lost("gone")
    assert [message for message in world.control() if isinstance(message, BarrierAck)] == []
    world.play(world.member)
    world.tick()
    assert [message.checkpoint_id for message in world.control() if isinstance(message, BarrierAck)] == [7]


def test_a_barrier_that_was_lost_with_the_lease_is_told_when_the_producer_closes(world: World[Producer]) -> None:
    world.native.lost_barrier = (7, 2)
    world.member.close()
    assert [message.checkpoint_id for message in world.control() if isinstance(message, BarrierAck)] == [7]


@pytest.mark.parametrize("outcome", ["barriers_sent", "barrier_duplicates_ignored"])
def test_a_coordinator_whose_ids_began_anew_is_told_of_in_the_log_once(
    world: World[Producer], caplog: pytest.LogCaptureFixture, outcome: str
) -> None:
    with caplog.at_level(logging.WARNING):
        world.tell(asked(3))
        world.tick()
        world.native.values[outcome] = 1
        for _ in range(3):
            world.tick()
            world.native.values["barrier_duplicates_ignored"] = (
                world.native.values.get("barrier_duplicates_ignored", 0) + 1
            )
            world.tell(asked(3))
    said = [each for each in caplog.records if "barrier 3 is not sent" in each.getMessage()]
    assert len(said) == (0 if outcome == "barriers_sent" else 1)


def test_too_many_messages_are_refused_and_one_that_waits_is_not_sent_yet(world: World[Producer]) -> None:
    world.native.answer = False
    assert world.member.barrier(3) is False
    assert world.member.send_between(b"message") is False
    world.native.answer = None
    with pytest.raises(BarrierInjectionFailed, match=f"stream={STREAM}"):
        world.member.watermark(1)


@pytest.mark.parametrize("wrong", [(0, 0), (1 << 64, 0), (1, 1 << 48), (1, -1)], ids=str)
def test_no_barrier_is_sent_that_cannot_be(world: World[Producer], wrong: tuple[int, int]) -> None:
    with pytest.raises(InvalidValue):
        world.member.barrier(*wrong)
    assert world.native.barriers == []


def test_without_its_media_driver_no_barrier_is_sent(world: World[Producer]) -> None:
    world.native.failure = MediaDriverGone("gone")
    with pytest.raises(NotAttached):
        world.member.barrier(3)


# --- where barriers went -----------------------------------------------------------------------------------------


def test_barriers_that_went_are_told_once_and_those_of_a_lost_media_driver_too(world: World[Producer]) -> None:
    sent = [(3, 1, 5, 41, 120), (4, 1, 5, None, 0)]
    world.native.sent_barriers = [sent[0]]
    world.member.on_link_lost("the media driver is gone")
    world.member.on_link(world.link)  # type: ignore[arg-type]  # a played one
    world.native.sent_barriers = [sent[1]]
    assert world.member.sent_barriers() == [SentBarrier(*each) for each in sent]
    assert world.member.sent_barriers() == []


def test_of_barriers_that_nobody_asks_after_the_newest_are_kept_over_media_drivers(world: World[Producer]) -> None:
    for checkpoint_id in range(1, SENT_BARRIERS_KEPT + 4):
        world.native.sent_barriers = [(checkpoint_id, 1, 5, None, 0)]
        world.member.on_link_lost("the media driver is gone")
        world.member.on_link(world.link)  # type: ignore[arg-type]  # a played one
    assert [each.checkpoint_id for each in world.member.sent_barriers()] == [*range(4, SENT_BARRIERS_KEPT + 4)]


def test_a_source_stands_on_the_next_media_driver_where_it_stood_on_the_last(world: World[Producer]) -> None:
    world.member.publish(b"", position=17)
    world.member.on_link_lost("the media driver is gone")
    world.member.on_link(world.link)  # type: ignore[arg-type]  # a played one
    assert world.native.position == 17


def test_a_source_that_goes_on_says_so_of_its_epoch_before_anything_can_be_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with producer_world(folder, monkeypatch, continues=True) as world:
        found: list[bool] = []
        monkeypatch.setattr(world.native, "attach", lambda _: found.append((folder / "5" / CONTINUED).exists()))
        world.attach(5)
        assert found == [True]
    with producer_world(folder, monkeypatch) as world:
        world.attach(6)
        assert not (folder / "6" / CONTINUED).exists()
