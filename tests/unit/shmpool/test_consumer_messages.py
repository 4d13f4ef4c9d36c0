# SPDX-License-Identifier: Apache-2.0
"""What a consumer says and hears beside its frames: hello and QoS, announces, streams of its own, progress, the end."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from framegate.schema.control import CheckpointBarrier, ControlSignal, SignalCategory, SignalKind, Watermark
from framegate.schema.driver import Role
from framegate.schema.wire import (
    Bool,
    ConsumerConfig,
    ConsumerHello,
    DataSourceMeta,
    FrameProgress,
    FrameProgressState,
    Mode,
    QosConsumer,
)
from framegate.shmpool.consumer.consumer import Consumer
from framegate.shmpool.consumer.control_inbox import QUEUE_BOUND, Control
from framegate.shmpool.marks.ended import mark_ended

from tests.unit.shmpool.client_world import LEASE, STREAM, STRIDE, World, consumer_world
from tests.unit.shmpool.lease_messages import revoked

OWN = "aeron:ipc?term-length=64k"


@pytest.fixture
def world(shm: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World[Consumer]]:
    with consumer_world(shm, monkeypatch) as world:
        world.attach(5)
        yield world


def hellos(world: World[Consumer]) -> list[ConsumerHello]:
    return [message for message in world.control() if isinstance(message, ConsumerHello)]


def reports(world: World[Consumer]) -> list[QosConsumer]:
    return [message for message in world.heard(world.streams.qos) if isinstance(message, QosConsumer)]


def config(world: World[Consumer], **changes: Any) -> ConsumerConfig:
    fields: dict[str, Any] = {
        "stream_id": STREAM,
        "consumer_id": world.member.lease.client_id,
        "use_shm": Bool.TRUE,
        "mode": Mode.STREAM,
        "descriptor_stream_id": 0,
        "control_stream_id": 0,
    }
    return ConsumerConfig(**{**fields, **changes})


def own_descriptors(world: World[Consumer], stream: int = 31_007) -> ConsumerConfig:
    return config(world, descriptor_channel=OWN, descriptor_stream_id=stream)


def frame(epoch: int, seq: int = 0) -> Any:
    return SimpleNamespace(epoch=epoch, seq=seq, is_valid=lambda: True)


# --- hello and QoS -------------------------------------------------------------------------------------------


def test_a_hello_and_a_qos_go_out_as_soon_as_the_regions_are_mapped_and_then_once_a_second(
    world: World[Consumer],
) -> None:
    (hello,) = hellos(world)
    (report,) = reports(world)
    assert (hello.stream_id, hello.consumer_id) == (STREAM, world.member.lease.client_id)
    assert (report.consumer_id, report.epoch) == (hello.consumer_id, 5)
    world.tick(0.999)
    assert [*hellos(world), *reports(world)] == []
    world.tick(0.001)
    assert (len(hellos(world)), len(reports(world))) == (1, 1)


def test_a_plain_consumer_asks_for_nothing(world: World[Consumer]) -> None:
    (hello,) = hellos(world)
    assert (hello.descriptor_channel, hello.descriptor_stream_id) == ("", 0)
    assert (hello.control_channel, hello.control_stream_id) == ("", 0)
    assert (hello.mode, hello.max_rate_hz, hello.supports_progress) == (Mode.STREAM, 0, Bool.FALSE)
    assert (hello.supports_shm, hello.expected_layout_version) == (Bool.TRUE, 1)


@pytest.mark.parametrize("own_stream", [False, True])
@pytest.mark.parametrize("with_progress", [False, True])
def test_channels_and_ids_are_always_sent_in_pairs(
    shm: Path, monkeypatch: pytest.MonkeyPatch, own_stream: bool, with_progress: bool
) -> None:
    on_progress = (lambda _message: None) if with_progress else None
    with consumer_world(shm, monkeypatch, own_stream=own_stream, on_progress=on_progress) as world:
        world.attach(5)
        (hello,) = hellos(world)
        assert bool(hello.descriptor_channel) == bool(hello.descriptor_stream_id) == own_stream
        assert bool(hello.control_channel) == bool(hello.control_stream_id) == (own_stream and with_progress)
        assert hello.supports_progress == Bool(with_progress)


def test_a_rate_is_asked_for_and_held_locally(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with consumer_world(shm, monkeypatch, max_rate_hz=30) as world:
        world.attach(5)
        (hello,) = hellos(world)
        assert (hello.mode, hello.max_rate_hz) == (Mode.RATE_LIMITED, 30)
        assert world.native.rate_hz == 30


def test_a_rate_that_was_granted_on_a_stream_of_its_own_is_not_held_twice(
    shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with consumer_world(shm, monkeypatch, max_rate_hz=30, own_stream=True) as world:
        world.attach(5)
        world.peer.add_publication(OWN, 31_007)
        world.peer.add_publication(world.streams.channel, world.streams.descriptor)
        world.tell(replace(own_descriptors(world), mode=Mode.RATE_LIMITED))
        assert world.native.rate_hz == 30
        world.member.poll()
        assert world.native.rate_hz == 0
        world.tell(config(world))
        world.member.poll()
        assert world.native.rate_hz == 30


def test_a_rate_that_was_declined_is_held_locally(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with consumer_world(shm, monkeypatch, max_rate_hz=30, own_stream=True) as world:
        world.attach(5)
        world.peer.add_publication(OWN, 31_007)
        world.tell(own_descriptors(world))
        world.member.poll()
        assert len(world.native.heard) == 1
        assert world.native.rate_hz == 30


def test_gaps_and_late_frames_are_reported_apart(world: World[Consumer]) -> None:
    reports(world)
    world.native.values.update(gap_drops=3, late_drops=4)
    world.native.last_seq = 99
    world.tick(1)
    (report,) = reports(world)
    assert (report.drops_gap, report.drops_late, report.last_seq_seen) == (3, 4, 99)


# --- announces -----------------------------------------------------------------------------------------------


def test_an_announce_of_a_higher_epoch_is_followed_and_said_at_once(world: World[Consumer]) -> None:
    reports(world)
    world.make(6)
    world.announce(6)
    assert world.member.mapping.epoch == world.native.epoch == 6
    assert [report.epoch for report in reports(world)] == [6]


def test_an_announce_of_another_stream_is_not_ours(world: World[Consumer]) -> None:
    world.make(6)
    message = world.announce(5)
    world.tell(replace(message, stream_id=STREAM + 1, epoch=6))
    assert world.member.mapping.epoch == 5


def test_a_superblock_that_changed_under_its_announce_is_let_go(world: World[Consumer], shm: Path) -> None:
    _overwrite(shm / "5" / "header.ring", 12, (9).to_bytes(8, "little"))
    world.announce(5)
    assert world.member.epoch is None
    assert world.member.detach_reasons == ["the superblock changed under the announce"]


def test_a_magic_that_is_gone_is_seen_without_an_announce(world: World[Consumer], shm: Path) -> None:
    _overwrite(shm / "5" / "header.ring", 0, bytes(8))
    world.tick()
    assert world.member.epoch is None
    assert world.member.detach_reasons == ["its superblock is gone"]


def _overwrite(path: Path, offset: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.pwrite(descriptor, data, offset)
    finally:
        os.close(descriptor)


def test_another_layout_of_the_same_epoch_is_let_go(world: World[Consumer]) -> None:
    world.announce(5, header_nslots=16)
    assert world.member.epoch is None


def test_regions_whose_owner_fell_silent_are_let_go(world: World[Consumer]) -> None:
    world.now_ns += 5_500_000_000
    world.announce(5)
    world.tick()
    assert world.member.detach_reasons == ["nobody vouches for the regions any more"]
    assert world.native.regions is None


def test_an_announce_of_regions_with_stale_activity_is_as_if_it_had_not_come(world: World[Consumer]) -> None:
    regions = world.make(6)
    regions.refresh_activity(world.now_ns - 4_000_000_000)
    world.announce(6)
    assert (world.member.epoch, world.member.mapping.ignored_stale) == (5, 1)
    regions.refresh_activity(world.now_ns)
    world.announce(6)
    assert world.member.epoch == 6


@pytest.mark.parametrize("what", ["absent", "outside", "scheme", "layout"])
def test_regions_that_cannot_be_used_leave_nothing_mapped_and_the_reason_in_the_log(
    world: World[Consumer], what: str, caplog: pytest.LogCaptureFixture
) -> None:
    ring, _ = world.uris(6)
    uri = {
        "absent": ring,
        "outside": "shm:file?path=/etc/passwd",
        "scheme": "memfd:3",
        "layout": ring,
    }[what]
    with caplog.at_level(logging.WARNING):
        world.announce(6, header_region_uri=uri, **({"layout_version": 2} if what == "layout" else {}))
    assert world.native.regions is None
    assert world.member.mapping.epoch is None
    assert "cannot map what was announced" in caplog.text
    world.announce(5)
    assert world.member.epoch is None


def test_after_the_end_of_the_producer_the_old_epoch_is_read_until_the_next_is_announced(
    world: World[Consumer],
) -> None:
    world.tell(revoked(Role.PRODUCER, lease_id=1, stream_id=STREAM))
    assert world.member.epoch == 5
    world.make(6)
    world.announce(6)
    assert world.member.epoch == 6
    assert world.member.attaches == 1


def test_sequences_that_go_back_are_followed_by_mapping_anew(world: World[Consumer]) -> None:
    world.native.values["regressions"] = 1
    world.tick(1)
    assert world.member.detach_reasons == ["a sequence went back within its epoch"]
    world.announce(5)
    assert world.member.epoch == 5
    world.tick(1)
    assert world.member.epoch == 5


def test_the_end_of_the_own_lease_unmaps_and_the_next_one_maps_again(world: World[Consumer]) -> None:
    world.tell(revoked(Role.CONSUMER, lease_id=LEASE, stream_id=STREAM))
    assert world.native.regions is None
    world.announce(5)
    assert world.native.regions is None
    world.control()
    world.tick(1)
    world.make(6)
    world.answer(6, lease_id=LEASE + 1)
    assert (world.member.epoch, world.member.attaches) == (6, 2)


def test_announces_of_before_the_stream_was_joined_are_replays(world: World[Consumer]) -> None:
    world.make(6)
    world.link.joined_at_ns = world.now_ns + 1
    world.announce(6)
    assert world.member.epoch == 5
    world.link.joined_at_ns = world.now_ns
    world.announce(6)
    assert world.member.epoch == 6


@pytest.mark.parametrize("ring", ["outside", "link"])
def test_the_drivers_word_does_not_weaken_the_rules_for_paths(
    shm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ring: str
) -> None:
    with consumer_world(shm, monkeypatch) as world:
        world.tick()
        regions = world.make(5)
        outside = tmp_path / "header.ring"
        outside.write_bytes(Path(regions.paths[0]).read_bytes())
        link = shm / "link.ring"
        link.symlink_to(outside)
        world.answer(5, header_region_uri=f"shm:file?path={link if ring == 'link' else outside}")
        assert world.native.regions is None
        assert not world.member.is_attached


def test_a_consumer_makes_changes_and_removes_no_file_and_maps_what_it_was_told(
    world: World[Consumer], shm: Path
) -> None:
    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(shm.rglob("*")) if path.is_file()}

    world.make(6)
    before = files()
    world.announce(6)
    world.tick(1)
    assert world.native.regions is not None
    assert set(world.native.regions.paths) == {str(shm / "6" / "header.ring"), str(shm / "6" / "1.pool")}
    world.member.close()
    assert files() == before


def test_metadata_with_keys_that_nobody_knows_disturbs_nobody(world: World[Consumer]) -> None:
    attribute = DataSourceMeta.Attribute(key="of the future", format="application/unheard-of", value=b"?")
    world.tell(DataSourceMeta(stream_id=STREAM, meta_version=1, timestamp_ns=1, attributes=(attribute,)))
    world.tick()
    assert (world.member.epoch, world.member.is_attached) == (5, True)


# --- streams of its own --------------------------------------------------------------------------------------


def test_a_granted_descriptor_stream_is_taken_up_once_it_is_there_and_the_old_one_was_read(
    world: World[Consumer],
) -> None:
    world.tell(own_descriptors(world))
    world.tell(own_descriptors(world))
    shared = world.member.streams.hears
    assert shared is not None
    assert world.member.poll() == []
    assert world.native.heard == []
    publication = world.peer.add_publication(OWN, 31_007)
    world.native.frames = [frame(5, seq) for seq in range(3)]
    assert [each.seq for each in world.member.poll(1)] == [0]
    assert world.native.heard == []
    assert [each.seq for each in world.member.poll()] == [1, 2]
    assert world.member.poll() == []
    (taken_up,) = world.native.heard
    assert (taken_up.stream_id, taken_up.is_connected) == (31_007, True)
    assert shared.is_closed
    assert not publication.is_closed


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"descriptor_channel": OWN},
        {"descriptor_stream_id": 31_007},
        {"descriptor_channel": "aeron:udp?endpoint=localhost:9", "descriptor_stream_id": 31_007},
        {"payload_fallback_uri": "bridge://somewhere"},
    ],
)
def test_a_declined_consumer_stays_on_the_shared_stream(world: World[Consumer], changes: dict[str, Any]) -> None:
    world.tell(config(world, **changes))
    world.member.poll()
    assert world.native.heard == []
    assert world.member.epoch == 5


def test_a_config_for_another_stream_or_consumer_is_ignored(world: World[Consumer]) -> None:
    grant = own_descriptors(world)
    world.tell(replace(grant, stream_id=STREAM + 1))
    world.tell(replace(grant, consumer_id=grant.consumer_id ^ 1))
    assert world.member.streams.will_hear is None


def test_a_descriptor_stream_that_is_configured_is_the_shared_one_of_its_stream(
    shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with consumer_world(shm, monkeypatch, descriptor_stream=1_101, own_stream=True) as world:
        world.attach(5)
        assert [getattr(each, "stream_id", None) for each in world.native.made_with] == [1_101, None]
        world.peer.add_publication(OWN, 31_007)
        world.peer.add_publication(world.streams.channel, 1_101)
        world.tell(own_descriptors(world))
        world.member.poll()
        world.make(6)
        world.announce(6)
        world.member.poll()
        assert [each.stream_id for each in world.native.heard] == [31_007, 1_101]


def test_with_a_new_epoch_the_shared_stream_is_heard_again(world: World[Consumer]) -> None:
    """A new producer knows of no streams of consumers' own until it has heard them."""
    world.peer.add_publication(OWN, 31_007)
    world.peer.add_publication(world.streams.channel, world.streams.descriptor)
    world.tell(own_descriptors(world))
    world.member.poll()
    world.make(6)
    world.announce(6)
    world.member.poll()
    assert [each.stream_id for each in world.native.heard] == [31_007, world.streams.descriptor]


def test_what_an_own_stream_repeats_after_the_switch_is_not_a_second_writer(world: World[Consumer]) -> None:
    world.peer.add_publication(OWN, 31_007)
    world.tell(own_descriptors(world))
    world.member.poll()
    world.native.values["regressions"] = 5
    world.tick(1)
    assert world.member.epoch == 5


# --- progress --------------------------------------------------------------------------------------------------


def said(filled: int, epoch: int = 5, state: FrameProgressState = FrameProgressState.PROGRESS) -> FrameProgress:
    return FrameProgress(stream_id=STREAM, epoch=epoch, seq=3, payload_bytes_filled=filled, state=state)


def test_who_did_not_ask_ignores_progress(world: World[Consumer]) -> None:
    world.tell(said(10))
    assert world.member.progress.admits(said(1))


def test_progress_is_checked_before_it_is_told_and_makes_no_frame_available(
    shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    with consumer_world(
        shm, monkeypatch, on_progress=lambda message: heard.append(message.payload_bytes_filled)
    ) as world:
        world.attach(5)
        for message in (said(10), said(5), said(20, epoch=4), said(STRIDE + 1), said(30)):
            world.tell(message)
        assert heard == [10, 30]
        world.tell(said(30, state=FrameProgressState.COMPLETE))
        assert heard == [10, 30, 30]
        assert world.member.poll() == []
        assert world.member.counters()["frames"] == 0


def test_a_control_stream_of_its_own_brings_progress_and_nothing_else(
    shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    with consumer_world(
        shm,
        monkeypatch,
        own_stream=True,
        on_progress=lambda message: heard.append(message.payload_bytes_filled),
    ) as world:
        world.attach(5)
        grant = config(world, control_channel=OWN, control_stream_id=32_000)
        world.tell(grant)
        world.tell(grant)
        producer = world.peer.add_publication(OWN, 32_000)
        producer.offer(said(10).encode())
        producer.offer(revoked(Role.CONSUMER, lease_id=LEASE, stream_id=STREAM).encode())
        producer.offer(b"rubbish")
        world.tick()
        world.tell(said(20))
        assert heard == [10, 20]
        assert world.member.is_attached
        world.tell(config(world))
        producer.offer(said(30).encode())
        world.tick()
        assert heard == [10, 20]


def test_an_on_progress_that_raises_costs_neither_lease_nor_thread(
    shm: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_message: FrameProgress) -> None:
        raise ValueError("the user's own")

    with consumer_world(shm, monkeypatch, on_progress=fail) as world, caplog.at_level(logging.ERROR):
        world.attach(5)
        world.tell(said(10))
        assert world.member.is_attached
    assert "the user's own" in caplog.text


# --- control messages between the frames ----------------------------------------------------------------------


def watermark(timestamp_ms: int, epoch: int = 5) -> bytes:
    return Watermark(timestamp_ms=timestamp_ms, stream_id=STREAM, source_epoch=epoch).encode()


def test_what_stands_between_the_frames_is_kept_with_its_place_until_it_is_asked_for(world: World[Consumer]) -> None:
    barrier = CheckpointBarrier(checkpoint_id=7, epoch=1, flags=0, stream_id=STREAM, source_epoch=5, after_seq=4)
    world.native.event_queue = [
        read_between(watermark(1), last_seq=3),
        read_between(barrier.encode(), last_seq=4),
        read_between(end_of(5), last_seq=9),
    ]
    assert world.member.control() == []
    world.member.poll()
    found = world.member.control()
    assert [type(each.message) for each in found] == [Watermark, CheckpointBarrier, ControlSignal]
    assert [(each.epoch, each.after_seq) for each in found] == [(5, 3), (5, 4), (5, 9)]
    assert world.member.control() == []


@pytest.mark.parametrize(("epoch", "last_seq"), [(4, 99), (5, None), (None, None)])
def test_a_message_before_the_first_frame_of_its_epoch_has_no_frame_before_it(
    world: World[Consumer], epoch: int | None, last_seq: int | None
) -> None:
    world.native.event_queue = [read_between(watermark(1), epoch, last_seq)]
    world.member.poll()
    (found,) = world.member.control()
    assert found.after_seq is None


def test_messages_that_nobody_asks_for_make_room_for_newer_ones_and_are_counted(world: World[Consumer]) -> None:
    world.native.values["events_dropped"] = 5
    world.native.event_queue = [read_between(watermark(number)) for number in range(QUEUE_BOUND + 3)]
    world.member.poll()
    found = [each.message for each in world.member.control()]
    assert found == [
        Watermark(timestamp_ms=number, stream_id=STREAM, source_epoch=5) for number in range(3, QUEUE_BOUND + 3)
    ]
    assert world.member.counters()["events_dropped"] == 5 + 3


def test_on_control_hears_them_as_they_are_read_and_what_it_raises_costs_nothing(
    shm: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Control] = []

    def hear(control: Control) -> None:
        heard.append(control)
        raise ValueError("the user's own")

    with consumer_world(shm, monkeypatch, on_control=hear) as world, caplog.at_level(logging.ERROR):
        world.attach(5)
        world.native.frames = [frame(5)]
        world.native.event_queue = [read_between(watermark(1)), read_between(b"rubbish"), read_between(end_of(5))]
        assert len(world.member.poll()) == 1
        assert [type(each.message) for each in heard] == [Watermark, ControlSignal]
        assert world.member.control() == []
        assert world.member.has_finished()
    assert "the user's own" in caplog.text


# --- the end, iterating, closing -------------------------------------------------------------------------------


def end_of(epoch: int) -> bytes:
    return ControlSignal(
        category=SignalCategory.BARRIER,
        kind=SignalKind.STREAM_GRACEFUL_END,
        barrier_id=0,
        stream_id=STREAM,
        source_epoch=epoch,
        after_seq=0,
        pipeline="",
    ).encode()


def read_between(message: bytes, epoch: int | None = 5, last_seq: int | None = None) -> Any:
    """A control message, and what had been read when it came."""
    return message, epoch, last_seq


def test_iterating_gives_what_was_read_and_ends_at_the_end(world: World[Consumer]) -> None:
    world.native.frames = [frame(5, seq) for seq in range(100)]
    world.native.event_queue = [read_between(end_of(5)), read_between(b"rubbish")]
    assert [each.seq for each in world.member] == list(range(100))


def test_a_frame_that_was_overwritten_before_its_turn_came_is_late_and_not_given_out(world: World[Consumer]) -> None:
    fresh = {0, 3, 5, 6, 7}
    frames = [SimpleNamespace(epoch=5, seq=seq, is_valid=lambda seq=seq: seq in fresh) for seq in range(8)]
    world.native.frames = list(frames)
    world.native.values.update(frames=8, late_drops=1)
    world.native.event_queue = [read_between(end_of(5))]
    # Frame 1 is gone, so half a ring from there on is too old, whether it is still there or not.
    assert [each.seq for each in world.member] == [0, 5, 6, 7]
    counters = world.member.counters()
    assert (counters["frames"], counters["late_drops"]) == (4, 5)


def test_a_loop_that_was_left_goes_on_where_it_stood(world: World[Consumer]) -> None:
    world.native.frames = [frame(5, seq) for seq in range(10)]
    world.native.event_queue = [read_between(end_of(5))]
    assert next(iter(world.member)).seq == 0
    assert [each.seq for each in world.member.poll(3)] == [1, 2, 3]
    assert [each.seq for each in world.member] == list(range(4, 10))


def test_awaiting_gives_the_same(world: World[Consumer]) -> None:
    world.native.frames = [frame(5, seq) for seq in range(100)]
    world.native.event_queue = [read_between(end_of(5))]

    async def collect() -> list[int]:
        return [each.seq async for each in world.member]

    assert asyncio.run(collect()) == list(range(100))


def test_a_cancelled_wait_loses_no_frame(world: World[Consumer]) -> None:
    async def wait_for_nothing() -> None:
        async for _ in world.member:
            raise AssertionError("there is nothing")

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait_for_nothing(), 0.05)
        world.native.frames = [frame(5, seq) for seq in range(3)]

    world.member.timeout_s = 60
    asyncio.run(cancel())
    assert [each.seq for each in world.member.poll()] == [0, 1, 2]


def test_iterating_ends_when_no_frame_came_in_time(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with consumer_world(shm, monkeypatch, timeout_s=0.01) as world:
        world.attach(5)
        assert list(world.member) == []
        assert not world.member.has_finished()


def test_a_frame_of_a_later_epoch_takes_the_end_back(world: World[Consumer]) -> None:
    world.native.event_queue = [read_between(end_of(5))]
    world.member.poll()
    assert world.member.has_finished()
    world.native.frames = [frame(6)]
    world.member.poll()
    assert not world.member.has_finished()


def test_who_comes_after_the_signal_learns_of_the_end_from_the_mark(world: World[Consumer], shm: Path) -> None:
    assert not world.member.has_finished()
    mark_ended(str(shm / "5"), 5, 9)
    assert world.member.has_finished()
    world.native.last_seq = 8
    assert not world.member.has_finished()
    world.native.last_seq = 9
    assert world.member.has_finished()


def test_an_end_that_was_missed_is_known_when_the_next_epoch_comes(world: World[Consumer], shm: Path) -> None:
    mark_ended(str(shm / "5"), 5, 9)
    world.make(6)
    world.announce(6)
    assert world.member.has_finished()


def test_the_mark_of_another_epoch_ends_nothing(world: World[Consumer], shm: Path) -> None:
    mark_ended(str(shm / "5"), 4, 9)
    assert not world.member.has_finished()


def test_close_ends_a_loop_and_its_streams(world: World[Consumer]) -> None:
    hears = world.member.streams.hears
    world.member.close()
    assert list(world.member) == []
    assert hears is not None
    assert hears.is_closed
    assert world.member.is_closed


def test_counters_outlive_the_media_driver(world: World[Consumer]) -> None:
    world.native.values.update(frames=10, gap_drops=2)
    world.member.on_link_lost("the media driver is gone")
    assert world.member.poll() == []
    assert world.member.counters()["frames"] == 10
    world.member.on_link(world.link)  # type: ignore[arg-type]  # a played one
    world.native.values.update(frames=5)
    assert (world.member.counters()["frames"], world.member.counters()["gap_drops"]) == (15, 2)


def test_frames_that_passed_while_the_regions_were_away_are_gaps(world: World[Consumer]) -> None:
    world.native.values.update(frames=10)
    world.native.last_seq = 9
    world.tell(revoked(Role.CONSUMER, lease_id=LEASE, stream_id=STREAM))
    world.native.last_seq = None
    world.control()
    world.tick(1)
    world.answer(5, lease_id=LEASE + 1)
    assert world.member.counters()["gap_drops"] == 0
    # Two more frames are read, and one between them is lost as usual.
    world.native.values.update(frames=12, gap_drops=1)
    world.native.last_seq = 102
    assert world.member.counters()["gap_drops"] == 1 + 90
    world.native.values.update(frames=13)
    world.native.last_seq = 103
    assert world.member.counters()["gap_drops"] == 1 + 90


def test_frames_of_a_new_epoch_are_counted_from_the_first_that_is_seen(world: World[Consumer]) -> None:
    world.native.values.update(frames=10)
    world.native.last_seq = 9
    world.tell(revoked(Role.CONSUMER, lease_id=LEASE, stream_id=STREAM))
    world.native.last_seq = None
    world.control()
    world.tick(1)
    world.make(6)
    world.answer(6, lease_id=LEASE + 1)
    world.native.values.update(frames=11)
    world.native.last_seq = 500
    assert world.member.counters()["gap_drops"] == 0
