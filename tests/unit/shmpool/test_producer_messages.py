# SPDX-License-Identifier: Apache-2.0
"""What a producer says and hears beside its frames: QoS, metadata, consumers' own streams, progress."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from framegate.schema import decode_any
from framegate.schema.control import ControlSignal, SignalKind, Watermark
from framegate.schema.driver import Role, ShmDetachRequest
from framegate.schema.errors import (
    ClientStalled,
    InvalidValue,
    MediaDriverGone,
    NotAttached,
    RegionRefused,
    TransportClosed,
    TransportError,
)
from framegate.schema.wire import (
    Bool,
    ConsumerConfig,
    DataSourceAnnounce,
    DataSourceMeta,
    FrameProgress,
    FrameProgressState,
    Mode,
    QosProducer,
)
from framegate.shmpool.marks.ended import is_marked_ended
from framegate.shmpool.producer import granted_streams
from framegate.shmpool.producer.producer import Producer

from tests.unit.shmpool.client_world import LEASE, STREAM, World, producer_world
from tests.unit.shmpool.hello_messages import CONSUMER, hello, qos
from tests.unit.shmpool.lease_messages import revoked

OWN = "aeron:ipc?term-length=64k"


@pytest.fixture
def world(shm: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World[Producer]]:
    with producer_world(shm, monkeypatch, name="camera") as world:
        world.attach(5)
        world.control()
        yield world


def config(consumer_id: int = CONSUMER, **changes: Any) -> ConsumerConfig:
    fields: dict[str, Any] = {
        "use_shm": Bool.TRUE,
        "mode": Mode.STREAM,
        "descriptor_stream_id": 0,
        "control_stream_id": 0,
    }
    return ConsumerConfig(stream_id=STREAM, consumer_id=consumer_id, **{**fields, **changes})


def granted(world: World[Producer], consumer_id: int = CONSUMER, **changes: Any) -> None:
    world.tell(hello(consumer_id, **{key: changes.pop(key) for key in ("mode", "max_rate_hz") if key in changes}))
    world.tell(config(consumer_id, descriptor_channel=OWN, descriptor_stream_id=31_000, **changes))


# --- QoS and metadata ----------------------------------------------------------------------------------------


def test_qos_goes_out_once_a_second_with_the_last_sequence(world: World[Producer]) -> None:
    world.native.last_seq = 7
    world.tick()
    (message,) = world.heard(world.streams.qos)
    assert message == QosProducer(stream_id=STREAM, producer_id=world.member.lease.client_id, epoch=5, current_seq=7)
    world.tick(0.999)
    assert world.heard(world.streams.qos) == []
    world.tick(0.001)
    assert len(world.heard(world.streams.qos)) == 1


def test_before_the_first_frame_there_is_no_sequence_to_report(world: World[Producer]) -> None:
    world.native.last_seq = None
    world.tick()
    assert world.heard(world.streams.qos) == []


def test_the_source_is_announced_once_a_second(world: World[Producer]) -> None:
    for _ in range(3):
        world.tick(1)
    announces = world.heard(world.streams.metadata)
    assert len(announces) == 3
    assert isinstance(announces[0], DataSourceAnnounce)
    assert (announces[0].name, announces[0].epoch, announces[0].meta_version) == ("camera", 5, 0)


def test_every_change_of_the_metadata_raises_the_version_which_frames_then_carry(world: World[Producer]) -> None:
    versions = [world.member.describe({"gain": str(gain)}) for gain in range(3)]
    assert versions == [1, 2, 3]
    assert world.native.meta_version == 3
    metas = [message for message in world.heard(world.streams.metadata) if isinstance(message, DataSourceMeta)]
    assert [meta.meta_version for meta in metas] == [1, 2, 3]
    (attribute,) = metas[-1].attributes
    assert (attribute.key, attribute.format, attribute.value) == ("gain", "text/plain", b"2")
    world.tick(1)
    repeated = world.heard(world.streams.metadata)
    assert [message for message in repeated if isinstance(message, DataSourceMeta)] == [metas[-1]]


# --- consumers -----------------------------------------------------------------------------------------------


def test_consumers_count_once_they_have_mapped_this_epoch(world: World[Producer]) -> None:
    world.tell(hello())
    assert not world.member.wait_consumers(1, 0)
    world.tell(qos(epoch=4))
    assert not world.member.wait_consumers(1, 0)
    world.tell(qos(epoch=5))
    assert world.member.wait_consumers(1, 0)


def test_hellos_of_other_streams_are_not_heard(world: World[Producer]) -> None:
    world.tell(replace(hello(), stream_id=STREAM + 1))
    world.tell(replace(qos(), stream_id=STREAM + 1))
    assert CONSUMER not in world.member.audience


def test_a_granted_descriptor_stream_is_opened_once_however_often_it_is_granted(world: World[Producer]) -> None:
    for _ in range(5):
        granted(world)
    assert world.native.added == 1
    publication, rate_hz = world.native.branches[9]
    assert (publication.stream_id, rate_hz) == (31_000, 0)


@pytest.mark.parametrize(
    "half",
    [
        {"descriptor_channel": OWN, "descriptor_stream_id": 0},
        {"descriptor_channel": "", "descriptor_stream_id": 31_000},
        {"control_channel": OWN, "control_stream_id": 0},
        {"control_channel": "", "control_stream_id": 32_000},
        {"descriptor_channel": "aeron:udp?endpoint=localhost:9", "descriptor_stream_id": 31_000},
    ],
)
def test_half_a_pair_or_another_host_is_no_stream(world: World[Producer], half: dict[str, Any]) -> None:
    world.tell(hello())
    world.tell(config(**half))
    assert world.native.branches == {}
    assert len(world.member._own_streams) == 0


def test_who_never_said_hello_is_granted_nothing(world: World[Producer]) -> None:
    world.tell(config(descriptor_channel=OWN, descriptor_stream_id=31_000))
    assert world.native.branches == {}


def test_declined_again_the_stream_is_closed(world: World[Producer]) -> None:
    granted(world)
    publication, _ = world.native.branches[9]
    world.tell(config())
    assert world.native.branches == {}
    assert publication.is_closed


def test_a_rate_holds_on_a_stream_of_the_consumers_own_and_only_if_it_was_granted(world: World[Producer]) -> None:
    granted(world, mode=Mode.RATE_LIMITED, max_rate_hz=30)
    assert world.native.branches[9][1] == 0
    world.tell(
        config(descriptor_channel=OWN, descriptor_stream_id=31_000, mode=Mode.RATE_LIMITED),
    )
    assert world.native.branches[9][1] == 30


def test_a_rate_has_no_effect_on_the_shared_stream(world: World[Producer]) -> None:
    world.tell(hello(mode=Mode.RATE_LIMITED, max_rate_hz=30))
    world.tell(config())
    assert world.native.branches == {}


def test_the_streams_of_a_consumer_that_fell_silent_are_closed_and_no_sooner(world: World[Producer]) -> None:
    granted(world)
    publication, _ = world.native.branches[9]
    world.announce(5, world.member.lease.client_id)
    world.tick(4)
    world.tell(qos())
    world.announce(5, world.member.lease.client_id)
    world.tick(4)
    assert not publication.is_closed
    world.announce(5, world.member.lease.client_id)
    world.tick(1.1)
    assert publication.is_closed
    assert world.native.branches == {}


def test_the_streams_of_a_consumer_whose_lease_ended_are_closed_at_once(world: World[Producer]) -> None:
    granted(world)
    publication, _ = world.native.branches[9]
    world.tell(revoked(Role.CONSUMER, stream_id=STREAM, client_id=9))
    assert publication.is_closed
    assert CONSUMER not in world.member.audience


def test_two_consumers_have_streams_of_their_own(world: World[Producer]) -> None:
    granted(world, CONSUMER)
    granted(world, 10)
    world.tell(revoked(Role.CONSUMER, stream_id=STREAM, client_id=9))
    assert list(world.native.branches) == [10]


def test_consumers_beyond_the_bound_stay_on_the_shared_streams_are_counted_and_come_in_when_one_leaves(
    world: World[Producer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(granted_streams, "MAX_OWN_STREAMS", 1)
    granted(world, CONSUMER)
    granted(world, 10)
    assert list(world.native.branches) == [CONSUMER]
    assert world.member.counters()["own_streams_refused"] == 1
    world.tell(revoked(Role.CONSUMER, stream_id=STREAM, client_id=CONSUMER))
    granted(world, 10)
    assert list(world.native.branches) == [10]


# --- progress --------------------------------------------------------------------------------------------------


def claim_of(array: np.ndarray[Any, Any], seq: int = 0) -> Any:
    return SimpleNamespace(array=array, seq=seq)


def progress(world: World[Producer]) -> list[tuple[str, int]]:
    messages = [message for message in world.control() if isinstance(message, FrameProgress)]
    return [(message.state.name, message.payload_bytes_filled) for message in messages]


def test_nothing_is_said_of_progress_unless_somebody_asked(world: World[Producer]) -> None:
    claim = claim_of(np.zeros((10, 100), np.uint8))
    world.tell(hello())
    assert not world.member.progress(claim, 1_000)
    assert progress(world) == []
    world.tell(hello(supports_progress=Bool.TRUE))
    assert world.member.progress(claim, 1_000)
    assert progress(world) == [("STARTED", 1_000), ("COMPLETE", 1_000)]


def test_progress_names_stream_epoch_and_sequence_and_obeys_the_wishes(world: World[Producer]) -> None:
    claim = claim_of(np.zeros((100, 1_000), np.uint8), seq=6)
    wish = {"progress_interval_us": 100_000_000, "progress_bytes_delta": 50_000}
    world.tell(hello(supports_progress=Bool.TRUE, **wish))
    assert world.member.progress(claim, 0)
    assert not world.member.progress(claim, 60_000)
    (message,) = world.control()
    assert message == FrameProgress(
        stream_id=STREAM, epoch=5, seq=6, payload_bytes_filled=0, state=FrameProgressState.STARTED
    )
    with pytest.raises(InvalidValue):
        world.member.progress(claim, 100_001)


def test_progress_that_had_to_wait_goes_out_with_a_tick(world: World[Producer]) -> None:
    asks = hello(supports_progress=Bool.TRUE, progress_interval_us=10_000_000)
    world.tell(asks)
    claim = claim_of(np.zeros(200_000, np.uint8))
    world.member.progress(claim, 0)
    assert not world.member.progress(claim, 100_000)
    world.control()
    world.now_ns += 11_000_000_000
    world.tell(asks)
    world.announce(5, world.member.lease.client_id)
    world.tick()
    assert progress(world) == [("PROGRESS", 100_000)]


def test_only_progress_goes_on_a_consumers_own_control_stream_and_not_twice(world: World[Producer]) -> None:
    ear = world.listen(OWN, 32_000)
    world.tell(hello(supports_progress=Bool.TRUE))
    world.tell(config(control_channel=OWN, control_stream_id=32_000))
    world.native.last_seq = 4
    world.member.describe({"a": "b"})
    world.tick()
    assert ear.poll() == []
    world.member.progress(claim_of(np.zeros(10, np.uint8)), 10)
    assert progress(world) == []
    states = [message.state.name for message in world.heard(32_000) if isinstance(message, FrameProgress)]
    assert states == ["STARTED", "COMPLETE"]
    world.tell(hello(10, supports_progress=Bool.TRUE))
    world.member.progress(claim_of(np.zeros(10, np.uint8), seq=1), 10)
    assert progress(world) == [("STARTED", 10), ("COMPLETE", 10)]


# --- the end ---------------------------------------------------------------------------------------------------


def test_the_end_is_a_signal_in_the_stream_and_a_mark_beside_the_regions(world: World[Producer], shm: Path) -> None:
    world.native.last_seq = 2
    world.member.watermark(17)
    world.member.end()
    watermark, end = [decode_any(data) for data in world.native.sent]
    assert watermark == Watermark(timestamp_ms=17, stream_id=STREAM, source_epoch=5)
    assert isinstance(end, ControlSignal)
    assert (end.kind, end.stream_id, end.source_epoch, end.after_seq) == (SignalKind.STREAM_GRACEFUL_END, STREAM, 5, 2)
    assert is_marked_ended(str(shm / "5"), 5) == (True, 2)


def test_a_new_epoch_of_the_same_producer_begins_without_consumers(world: World[Producer]) -> None:
    world.tell(qos())
    world.tell(revoked(Role.PRODUCER, lease_id=LEASE, stream_id=STREAM))
    assert world.native.regions is None
    world.tick(1)
    world.make(6)
    world.answer(6, lease_id=LEASE + 1)
    assert world.member.epoch == 6
    assert not world.member.wait_consumers(1, 0)


def test_close_gives_the_lease_back_and_closes_what_was_opened(world: World[Producer]) -> None:
    granted(world)
    publication, _ = world.native.branches[9]
    opened = list(world.member._opened)
    world.member.close()
    (detach,) = [message for message in world.control() if isinstance(message, ShmDetachRequest)]
    assert detach.lease_id == LEASE
    assert publication.is_closed
    assert all(each.is_closed for each in opened)
    assert world.native.regions is None
    world.member.close()
    assert world.control() == []


def test_a_producer_that_cannot_map_its_regions_gives_the_lease_back_and_says_why(
    shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with producer_world(shm, monkeypatch) as world:
        world.tick()
        world.answer(5)
        (detach,) = [message for message in world.control() if isinstance(message, ShmDetachRequest)]
        assert detach.lease_id == LEASE
        assert not world.member.is_attached
        with pytest.raises(RegionRefused):
            world.member.wait_attached(0)


def test_without_its_link_a_producer_has_no_streams(world: World[Producer]) -> None:
    granted(world)
    native = world.native
    native.values["frames"] = 7
    world.member.on_link_lost("the media driver is gone")
    assert native.regions is None
    assert world.member.counters()["frames"] == 7
    assert world.member.last_seq is None
    assert len(world.member._own_streams) == 0
    assert not world.member.is_attached
    assert world.member.detach_reasons[-1] == "the media driver is gone"


@pytest.mark.parametrize("death", [MediaDriverGone, ClientStalled, TransportClosed])
def test_a_media_driver_that_died_just_now_is_told_as_after_the_thread_has_seen_it(
    world: World[Producer], death: type[TransportError]
) -> None:
    """So that a loop has one thing to wait out."""
    world.native.failure = death("gone")
    for call in (
        lambda: world.member.publish(b"frame"),
        lambda: world.member.publish_batch(b"frames"),
        lambda: world.member.watermark(1),
    ):
        with pytest.raises(NotAttached):
            call()
    world.member.on_link_lost("gone")
    world.member.describe({"a": "b"})
    with pytest.raises(NotAttached):
        world.member.publish(b"frame")


def test_descriptors_go_to_the_stream_that_is_configured(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with producer_world(shm, monkeypatch, descriptor_stream=1_101) as world:
        publication, stream_id = world.native.made_with
        assert (getattr(publication, "stream_id", None), stream_id) == (1_101, STREAM)
        assert not world.peer.add_subscription(world.streams.channel, world.streams.descriptor).is_connected


def test_a_producer_says_once_a_second_that_its_regions_are_alive(world: World[Producer]) -> None:
    """A driver may leave it to producers, and may have made the regions long ago."""
    (regions,) = world._opened
    for _ in range(3):
        world.tick(1)
        assert regions.activity() == (world.now_ns, os.getpid())


def test_a_producer_that_has_lost_its_lease_does_not_vouch_for_the_regions(world: World[Producer]) -> None:
    (regions,) = world._opened
    world.tick(1)
    before_ns = world.now_ns
    world.tell(revoked())
    world.tick(5)
    assert regions.activity() == (before_ns, os.getpid())
