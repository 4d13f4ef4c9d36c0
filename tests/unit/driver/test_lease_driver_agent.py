# SPDX-License-Identifier: Apache-2.0
"""The agent over the in-memory network: bytes in, bytes out, regions on disk."""

from __future__ import annotations

import gc
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from framegate.driver.agent import TURN_MESSAGES_MAX, DriverStreams, LeaseDriverAgent
from framegate.driver.epochs import EpochCounter
from framegate.driver.lease_actions import PoolShape, Provision, StreamProfile
from framegate.driver.lease_rules import LeaseRules
from framegate.driver.leases import LeaseAuthority
from framegate.driver.region_folders import RegionFolders
from framegate.driver.regions import MappedRegions, NativeMaker, RegionStore
from framegate.schema import Message, control, decode_any
from framegate.schema.control import StreamDeclaration
from framegate.schema.driver import (
    LeaseRevokeReason,
    ResponseCode,
    Role,
    ShmAttachResponse,
    ShmDetachResponse,
    ShmDriverShutdown,
    ShmDriverShutdownRequest,
    ShmLeaseRevoked,
    ShutdownReason,
)
from framegate.schema.errors import NoRoom, OfferFailed
from framegate.schema.wire import Bool, ClockDomain, ConsumerConfig, Mode, ShmPoolAnnounce, ShmRegionSuperblock
from framegate.shmpool.clock import ManualClock
from framegate.shmpool.consumer.mapping import Decision, Mapping
from framegate.shmpool.transport.interface import Outcome, Received
from framegate.shmpool.transport.loopback import LoopbackNetwork
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.driver.lease_world import DYNAMIC, SECOND, START, STREAM, Held, attach, held, only

CHANNEL = "aeron:ipc"
TOKEN = "token"  # noqa: S105  (a test's)
STREAMS = DriverStreams(
    control_channel=CHANNEL, control_stream_id=1000, announce_channel=CHANNEL, announce_stream_id=1001
)
RULES = replace(DYNAMIC, default_profile=StreamProfile(2, (PoolShape(1, 64),)), shutdown_token=TOKEN)
_Kind = TypeVar("_Kind", bound=Message)


class Maker:
    """The native one, which can be told to find no room."""

    def __init__(self, allowed: Path) -> None:
        self.native = NativeMaker(allowed=allowed)
        self.is_full = False

    def make(self, folder: Path, order: Provision, now_ns: int) -> MappedRegions:
        if self.is_full:
            raise NoRoom("played by the test", path=folder)
        return self.native.make(folder, order, now_ns)


class Scene:
    """A driver and the clients around it, on one clock."""

    def __init__(self, base: Path, rules: LeaseRules = RULES) -> None:
        self.clock = ManualClock(START)
        self.network = LoopbackNetwork(clock=self.clock, term_bytes=1 << 20)
        client = self.network.client()
        self.heard = client.add_subscription(CHANNEL, 1000)
        self.announced = client.add_subscription(CHANNEL, 1001)
        self.speaks = client.add_publication(CHANNEL, 1000)
        self.folders = RegionFolders(base, "default")
        self.maker = Maker(base)
        self.store = RegionStore(self.folders, self.maker, clock=self.clock)
        authority = LeaseAuthority(rules, EpochCounter(), first_lease_id=START)
        self.wall = ManualClock(1_700_000_000 * SECOND)
        self.agent = LeaseDriverAgent(
            self.network.client(), STREAMS, authority, self.store, clock=self.clock, realtime=self.wall
        )

    def say(self, *messages: Message | bytes) -> list[Message]:
        """What the driver says on the control stream when it is told this."""
        for message in messages:
            assert self.speaks.offer(message if isinstance(message, bytes) else message.encode()) > 0
        return self.turn()

    def turn(self, delta_ns: int = 0) -> list[Message]:
        self.clock.advance(delta_ns)
        while self.agent.do_work():
            pass
        spoken = [(message.session_id, message.data) for message in self.heard.poll(10_000)]
        return [decode_any(data) for session, data in spoken if session != self.speaks.session_id]

    def announces(self) -> list[ShmPoolAnnounce]:
        return [ShmPoolAnnounce.decode(message.data) for message in self.announced.poll(10_000)]

    def grant(self, client_id: int = 42, role: Role = Role.PRODUCER, stream_id: int = STREAM) -> Held:
        request = attach(client_id, role, stream_id)
        response = one(self.say(request), ShmAttachResponse)
        assert response.code == ResponseCode.OK, response
        return held(request, response)


def one(messages: list[Message], kind: type[_Kind]) -> _Kind:
    return only(message for message in messages if isinstance(message, kind))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path.resolve())
    yield scene
    scene.store.close(remove=True)


@pytest.fixture
def shm_scene() -> Iterator[Scene]:
    """As ``scene``, where making a file costs no disk access."""
    with tempfile.TemporaryDirectory(prefix="framegate-unit-", dir="/dev/shm") as folder:
        scene = Scene(Path(folder))
        yield scene
        scene.store.close(remove=True)


def file_of(uri: str) -> Path:
    return Path(uri.removeprefix("shm:file?path="))


def test_an_attach_gives_files_that_are_there_and_the_announce_says_the_same(scene: Scene) -> None:
    response = one(scene.say(attach()), ShmAttachResponse)
    announce = only(scene.announces())
    ring = ShmRegionSuperblock.decode_body(file_of(response.header_region_uri).read_bytes()[:64])
    assert (ring.epoch, ring.stream_id, ring.nslots) == (response.epoch, STREAM, response.header_nslots)
    assert (announce.epoch, announce.producer_id, announce.header_region_uri) == (
        response.epoch,
        42,
        response.header_region_uri,
    )
    assert (announce.announce_clock_domain, announce.layout_version, announce.header_slot_bytes) == (
        ClockDomain.MONOTONIC,
        1,
        256,
    )
    pools = [(pool.pool_id, pool.pool_nslots, pool.stride_bytes, pool.region_uri) for pool in announce.payload_pools]
    assert pools == [
        (pool.pool_id, pool.pool_nslots, pool.stride_bytes, pool.region_uri) for pool in response.payload_pools
    ]
    assert all(file_of(pool.region_uri).is_file() for pool in response.payload_pools)


def test_every_announce_refreshes_the_activity_and_carries_the_time(scene: Scene) -> None:
    lease = scene.grant()
    scene.announces()
    for n in range(1, 6):
        scene.turn(SECOND)
        scene.say(lease.keepalive())
        announce = only(scene.announces())
        assert announce.announce_timestamp_ns == START + n * SECOND
        block = ShmRegionSuperblock.decode_body(file_of(announce.header_region_uri).read_bytes()[:64])
        assert (block.activity_timestamp_ns, block.start_timestamp_ns) == (START + n * SECOND, START)


def test_a_stream_of_the_realtime_clock_is_announced_by_it_also_over_a_step(scene: Scene) -> None:
    """The activity of its regions stays monotonic; consumers find each announce fresh but those before a step."""
    mapping = Mapping(STREAM)
    scene.say(
        StreamDeclaration(
            stream_id=STREAM,
            client_id=42,
            clock_domain=control.ClockDomain.REALTIME_SYNCED,
            frame_bytes=None,
            nslots=None,
        )
    )
    lease = scene.grant()
    stamps = []
    for step_ns in (0, 600 * SECOND, -1200 * SECOND):
        scene.wall.advance(step_ns)
        scene.turn(SECOND)
        scene.say(lease.keepalive())
        *_, announce = scene.announces()
        assert announce.announce_clock_domain is ClockDomain.REALTIME_SYNCED
        stamps.append(announce.announce_timestamp_ns - scene.wall())
        block = ShmRegionSuperblock.decode_body(file_of(announce.header_region_uri).read_bytes()[:64])
        assert block.activity_timestamp_ns == scene.clock()
        assert mapping.on_announce(announce, scene.clock(), scene.wall()) is not Decision.IGNORE
        mapping.on_mapped(announce.epoch, scene.clock())
    assert stamps == [0, 0, 0]
    assert mapping.on_announce(announce, scene.clock(), scene.wall() + 600 * SECOND) is Decision.IGNORE


def test_a_declaration_is_heard_beside_the_coordinators(scene: Scene) -> None:
    """Both are of schema 920. What cannot be read is counted, and answered by nobody."""
    for data in (declaration().encode(), declaration().encode()[:-1], b""):
        assert scene.say(data) == []
    counts = scene.agent.counters()
    assert (counts["declarations"], counts["malformed"]) == (1, 2)


def declaration() -> StreamDeclaration:
    return StreamDeclaration(stream_id=STREAM, client_id=42, clock_domain=None, frame_bytes=48, nslots=None)


def test_a_producer_that_falls_silent_is_revoked_and_a_higher_epoch_announced(scene: Scene) -> None:
    lease = scene.grant()
    scene.announces()
    revoked = one(scene.turn(RULES.lease_ns), ShmLeaseRevoked)
    assert (revoked.lease_id, revoked.reason) == (lease.lease_id, LeaseRevokeReason.EXPIRED)
    announce = only(scene.announces())
    assert (announce.stream_id, announce.producer_id) == (STREAM, 0)
    assert announce.epoch > lease.epoch
    assert file_of(announce.header_region_uri).is_file()


def test_detach_is_answered_then_revoked_then_announced(scene: Scene) -> None:
    lease = scene.grant()
    scene.announces()
    kinds = [type(message) for message in scene.say(lease.detach())]
    assert kinds == [ShmDetachResponse, ShmLeaseRevoked]
    assert only(scene.announces()).epoch > lease.epoch


def test_a_revocation_that_the_stream_does_not_take_holds_the_announce_back(scene: Scene) -> None:
    """They travel on two streams, and their order must hold across them."""
    lease = scene.grant()
    scene.announces()
    scene.network.force_outcome(Outcome.BACK_PRESSURED, times=5, stream_id=1000)
    scene.clock.advance(RULES.lease_ns)
    scene.agent.do_work()
    assert scene.announces() == []
    spoken = scene.turn()
    for _ in range(10):
        spoken += scene.turn()
    assert one(spoken, ShmLeaseRevoked).lease_id == lease.lease_id
    assert scene.announces()[0].epoch > lease.epoch
    assert scene.agent.counters()["send_blocked"] == 5


def test_a_driver_that_was_cut_off_keeps_its_leases_and_says_what_waited(scene: Scene) -> None:
    """Its Aeron client was given up while it stood still; the keepalives of that time are lost with it."""
    kept, leaving = scene.grant(1), scene.grant(2, Role.CONSUMER)
    scene.announces()
    assert scene.speaks.offer(leaving.detach().encode()) > 0
    scene.network.force_outcome(Outcome.CLOSED, times=1, stream_id=1000)
    with pytest.raises(OfferFailed):
        scene.turn()
    scene.clock.advance(10 * RULES.lease_ns)
    scene.agent.go_on(scene.network.client())
    kinds = [type(message) for message in scene.turn()]
    assert kinds == [ShmDetachResponse, ShmLeaseRevoked]
    assert list(scene.agent.authority.leases) == [kept.lease_id]
    assert only(scene.announces()).epoch == kept.epoch
    scene.turn(RULES.lease_ns // 2)
    assert scene.say(kept.keepalive()) == []
    revoked = one(scene.turn(RULES.lease_ns), ShmLeaseRevoked)
    assert (revoked.lease_id, revoked.reason) == (kept.lease_id, LeaseRevokeReason.EXPIRED)


def test_a_stream_that_is_lost_while_a_grant_is_said_loses_nothing_of_what_follows(scene: Scene) -> None:
    """The regions were made and nobody could be told: the client hears of them over the next streams."""
    assert scene.speaks.offer(attach().encode()) > 0
    scene.network.force_outcome(Outcome.CLOSED, times=1, stream_id=1000)
    with pytest.raises(OfferFailed):
        scene.turn()
    scene.agent.go_on(scene.network.client())
    response = one(scene.turn(), ShmAttachResponse)
    assert response.code == ResponseCode.OK
    assert only(scene.announces()).epoch == response.epoch


def test_a_full_disk_is_an_internal_error_with_the_reason_and_leaves_nothing(scene: Scene) -> None:
    scene.maker.is_full = True
    response = one(scene.say(attach(correlation_id=5)), ShmAttachResponse)
    assert (response.correlation_id, response.code) == (5, ResponseCode.INTERNAL_ERROR)
    assert "NO_ROOM" in response.error_message
    assert not (scene.folders.root / str(STREAM)).exists()
    assert scene.announces() == []
    scene.maker.is_full = False
    scene.grant()


@pytest.mark.parametrize("kind", [1, 3])
def test_a_request_of_a_newer_version_is_answered_unsupported(scene: Scene, kind: int) -> None:
    message = attach(correlation_id=-77) if kind == 1 else Held(1, 2, 3, Role.PRODUCER, 4, 5).detach(-77)
    newer = bytearray(message.encode())
    newer[6:8] = (2).to_bytes(2, "little")
    answer = only(scene.say(bytes(newer)))
    assert isinstance(answer, (ShmAttachResponse, ShmDetachResponse))
    assert (answer.correlation_id, answer.code) == (-77, ResponseCode.UNSUPPORTED)
    assert answer.error_message


def test_a_newer_version_whose_correlation_id_cannot_be_read_is_not_answered(scene: Scene) -> None:
    head = b"".join(number.to_bytes(2, "little") for number in (4, 1, 901, 2))
    for message in (head, head + b"1234567", head + b"1234567890"):
        assert scene.say(message) == []
    assert scene.agent.counters()["unsupported_version"] == 3


@pytest.mark.parametrize(
    ("offset", "value", "code"),
    [
        (16, 0, ResponseCode.INVALID_PARAMS),
        (16, 9, ResponseCode.INVALID_PARAMS),
        (22, 3, ResponseCode.INVALID_PARAMS),
        (21, 3, ResponseCode.UNSUPPORTED),
    ],
    ids=["role 0", "role 9", "hugepages 3", "publish mode 3"],
)
def test_a_value_without_a_name_is_refused(scene: Scene, offset: int, value: int, code: ResponseCode) -> None:
    request = bytearray(attach(correlation_id=8).encode())
    request[8 + offset] = value
    answer = one(scene.say(bytes(request)), ShmAttachResponse)
    assert (answer.correlation_id, answer.code) == (8, code)


def test_a_cut_request_is_invalid_as_long_as_its_correlation_id_is_there(scene: Scene) -> None:
    request = attach(correlation_id=8).encode()
    for length in range(len(request)):
        answers = scene.say(request[:length])
        assert len(answers) == (length >= 16), length
        for answer in answers:
            assert isinstance(answer, ShmAttachResponse)
            assert (answer.correlation_id, answer.code) == (8, ResponseCode.INVALID_PARAMS)
    assert scene.agent.counters()["malformed"] == len(request)
    assert len(scene.agent.authority.leases) == 0


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("noise").resolve())


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=120),
        st.tuples(
            st.integers(0, 300),
            st.integers(0, 60),
            st.sampled_from([900, 901, 903, 920, 7]),
            st.integers(0, 3),
            st.binary(max_size=100),
        ).map(lambda parts: b"".join(part.to_bytes(2, "little") for part in parts[:4]) + parts[4]),
    )
)
def test_nothing_that_a_peer_sends_raises_or_grants_a_lease(noisy: Scene, data: bytes) -> None:
    for message in noisy.say(data):
        code = getattr(message, "code", ResponseCode.REJECTED)
        assert code != ResponseCode.OK or noisy.agent.authority.leases
    noisy.heard.poll(1000)


def test_every_single_byte_of_a_request_flipped_is_answered_or_counted_and_never_raises(scene: Scene) -> None:
    """Some flips are still requests; whatever comes of them, the driver lives and its tables stay small."""
    request = attach(correlation_id=8).encode()
    for place in range(len(request)):
        for bit in range(8):
            flipped = bytearray(request)
            flipped[place] ^= 1 << bit
            scene.say(bytes(flipped))
    assert len(scene.agent.authority.leases) <= len(request) * 8
    scene.turn(RULES.lease_ns)
    assert len(scene.agent.authority.leases) == 0


def test_messages_of_others_on_the_control_stream_are_passed_over(scene: Scene) -> None:
    before = scene.agent.counters().get("other_messages", 0)
    config = ConsumerConfig(
        stream_id=1,
        consumer_id=2,
        use_shm=Bool.TRUE,
        mode=Mode.STREAM,
        descriptor_stream_id=0,
        control_stream_id=0,
    )
    notice = ShmDriverShutdown(timestamp_ns=1, reason=ShutdownReason.NORMAL)
    assert scene.say(config, notice) == []
    assert scene.agent.counters()["other_messages"] == before + 2
    scene.grant()


def test_at_the_end_leases_are_revoked_then_the_notice_goes_out(scene: Scene) -> None:
    scene.grant(1)
    scene.grant(2, Role.CONSUMER)
    scene.agent.shutdown(ShutdownReason.ERROR)
    messages = scene.turn()
    assert [type(message) for message in messages] == [ShmLeaseRevoked, ShmLeaseRevoked, ShmDriverShutdown]
    assert one(messages, ShmDriverShutdown).reason == ShutdownReason.ERROR
    assert scene.agent.has_ended
    assert scene.say(attach(3), bytes(3)) == []


def test_a_request_with_the_token_ends_it_and_one_without_does_not(scene: Scene) -> None:
    for token in ("", "wrong"):
        request = ShmDriverShutdownRequest(correlation_id=1, reason=ShutdownReason.ADMIN, token=token)
        assert scene.say(request) == []
    assert not scene.agent.authority.is_draining
    assert scene.say(ShmDriverShutdownRequest(correlation_id=1, reason=ShutdownReason.ADMIN, token=TOKEN)) == []
    assert one(scene.say(attach()), ShmAttachResponse).code == ResponseCode.REJECTED
    assert one(scene.turn(RULES.shutdown_timeout_ns), ShmDriverShutdown).reason == ShutdownReason.ADMIN
    assert scene.agent.has_ended


def test_keepalives_that_queued_up_while_the_driver_stood_still_are_heard_before_anybody_expires(scene: Scene) -> None:
    """More are waiting than one turn hears, and the one that matters is the last."""
    lease = scene.grant()
    noise = Held(1, 2, 3, Role.PRODUCER, 4, 5).keepalive().encode()
    for _ in range(3 * TURN_MESSAGES_MAX):
        assert scene.speaks.offer(noise) > 0
    scene.speaks.offer(lease.keepalive().encode())
    assert not any(isinstance(message, ShmLeaseRevoked) for message in scene.turn(2 * RULES.lease_ns))
    assert list(scene.agent.authority.leases) == [lease.lease_id]


def test_requests_that_waited_while_the_driver_stood_still_are_not_granted_to_nobody(scene: Scene) -> None:
    """Whoever asked has asked again since, maybe over another link on which the old answer is not heard."""
    for client_id in range(2 * TURN_MESSAGES_MAX):
        assert scene.speaks.offer(attach(1 + client_id).encode()) > 0
    assert scene.turn(5 * SECOND) == []
    assert list(scene.agent.authority.leases) == []
    assert scene.agent.counters()["attach_given_up"] == 2 * TURN_MESSAGES_MAX
    assert one(scene.say(attach()), ShmAttachResponse).code == ResponseCode.OK


def test_a_pause_within_the_wait_for_requests_is_one_too(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of its time a driver waits for a message, and that is where a pause finds it."""
    poll = scene.agent._requests.poll

    def paused(limit: int, timeout_ns: int) -> list[Received]:
        monkeypatch.undo()
        scene.clock.advance(5 * SECOND)
        return poll(limit, timeout_ns)

    assert scene.speaks.offer(attach().encode()) > 0
    monkeypatch.setattr(scene.agent._requests, "poll", paused)
    assert scene.turn() == []
    assert list(scene.agent.authority.leases) == []
    assert one(scene.say(attach()), ShmAttachResponse).code == ResponseCode.OK


def test_a_stream_that_is_never_quiet_does_not_keep_dead_leases_alive(scene: Scene) -> None:
    scene.grant()
    scene.clock.advance(RULES.lease_ns)
    noise = Held(1, 2, 3, Role.PRODUCER, 4, 5).keepalive().encode()
    for _ in range(100):
        for _ in range(TURN_MESSAGES_MAX):
            scene.speaks.offer(noise)
        scene.agent.do_work()
        scene.heard.poll(10_000)
    assert len(scene.agent.authority.leases) == 0


def test_nobody_hears_the_announces_and_the_driver_goes_on(scene: Scene) -> None:
    scene.announced.close()
    scene.grant()
    assert scene.agent.counters()["unheard"] == 1


def test_a_duplicated_request_is_answered_twice_and_granted_once(scene: Scene) -> None:
    answers = scene.say(attach(), attach())
    codes = [answer.code for answer in answers if isinstance(answer, ShmAttachResponse)]
    assert codes == [ResponseCode.OK, ResponseCode.REJECTED]
    assert len(scene.agent.authority.leases) == 1


def measured(scene: Scene) -> tuple[int, int, int, int]:
    gc.collect()
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    return threading.active_count(), descriptors, len(gc.get_objects()), len(scene.store)


def cycle(scene: Scene, client_id: int) -> None:
    """Attach and detach as fast as a client can; time goes on, so rests end and announces go out."""
    scene.clock.advance(SECOND // 100)
    scene.say(scene.grant(client_id, stream_id=STREAM + client_id % 4).detach())
    scene.announced.poll(1000)


def attach_and_detach(scene: Scene, cycles: int) -> None:
    for n in range(200):
        cycle(scene, 1 + n)
    before = measured(scene)
    for n in range(cycles):
        cycle(scene, 1 + n % 1000)
    after = measured(scene)
    assert after[:2] == before[:2]
    # Cool-downs and counters breathe; a leak of one object per cycle would be far above this.
    assert after[2] - before[2] < cycles // 4
    scene.turn(10 * SECOND)
    scene.turn(10 * SECOND)
    assert (len(scene.store), len(scene.agent.authority.streams)) == (0, 0)
    assert list(scene.folders.root.iterdir()) == []


def test_attach_and_detach_again_and_again_leave_memory_descriptors_and_threads_as_they_were(
    shm_scene: Scene,
) -> None:
    attach_and_detach(shm_scene, 2_000)


@pytest.mark.long
def test_attach_and_detach_a_hundred_thousand_times(shm_scene: Scene) -> None:
    attach_and_detach(shm_scene, 100_000)
