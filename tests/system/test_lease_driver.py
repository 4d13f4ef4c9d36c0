# SPDX-License-Identifier: Apache-2.0
"""``framegate driver`` and clients that speak schema 901 to it, byte by byte over Aeron, as a foreign client would."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from framegate.driver.mediadriver import MediaDriver
from framegate.schema import Message, decode_any
from framegate.schema.driver import (
    HugepagesPolicy,
    LeaseRevokeReason,
    PublishMode,
    ResponseCode,
    Role,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachRequest,
    ShmDetachResponse,
    ShmDriverShutdown,
    ShmDriverShutdownRequest,
    ShmLeaseKeepalive,
    ShmLeaseRevoked,
    ShutdownReason,
)
from framegate.schema.wire import Bool, ConsumerConfig, ConsumerHello, Mode, ShmPoolAnnounce, ShmRegionSuperblock
from framegate.shmpool.transport.aeron import AeronTransport

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

CHANNEL = "aeron:ipc?term-length=4m"
STREAM = 10_001
TOKEN = "open sesame"  # noqa: S105  (of the configuration below)
_Kind = TypeVar("_Kind", bound=Message)
CONFIG = """
[policies]
announce_period_ms = 100
lease_keepalive_interval_ms = 5000
shutdown_timeout_ms = 50
shutdown_token = "open sesame"
[driver]
control_stream_id_range = "32000-32009"
[profiles.small]
header_nslots = 8
payload_pools = [{ pool_id = 1, stride_bytes = 4096 }]
"""


class Client:
    """Speaks and listens; remembers everything that it heard."""

    def __init__(self, aeron_dir: str, system: System) -> None:
        self._system = system
        self.transport = AeronTransport(aeron_dir)
        self._heard = [self.transport.add_subscription(f"{CHANNEL}|tether=false", stream) for stream in (1000, 1001)]
        self._speaks = self.transport.add_publication(CHANNEL, 1000)
        system.until(lambda: self._speaks.is_connected, "connected to the control stream")
        self.messages: list[Message] = []
        self._correlation_id = 1_000

    def listen(self) -> None:
        for subscription in self._heard:
            self.messages += [decode_any(received.data) for received in subscription.poll()]

    def say(self, message: Message) -> None:
        assert self._speaks.offer(message.encode()) > 0

    def await_(self, kind: type[_Kind], is_it: Callable[[_Kind], bool] = lambda _: True) -> _Kind:
        """The first such message, heard before or from now on."""

        def look() -> _Kind | None:
            self.listen()
            return next((each for each in self.messages if isinstance(each, kind) and is_it(each)), None)

        return self._system.until(look, f"a {kind.__name__}")

    def attach(
        self,
        client_id: int,
        role: Role = Role.PRODUCER,
        stream_id: int = STREAM,
        mode: PublishMode | None = PublishMode.EXISTING_OR_CREATE,
    ) -> ShmAttachResponse:
        self._correlation_id += 1
        request = ShmAttachRequest(
            correlation_id=self._correlation_id,
            stream_id=stream_id,
            client_id=client_id,
            role=role,
            expected_layout_version=0,
            publish_mode=mode,
            require_hugepages=HugepagesPolicy.UNSPECIFIED,
        )
        self.say(request)
        return self.await_(ShmAttachResponse, lambda found: found.correlation_id == request.correlation_id)

    def keep_alive(self, lease_id: int | None, client_id: int, role: Role = Role.PRODUCER) -> None:
        assert lease_id is not None
        self.say(
            ShmLeaseKeepalive(
                lease_id=lease_id, stream_id=STREAM, client_id=client_id, role=role, client_timestamp_ns=0
            )
        )

    def detach(self, lease_id: int | None, client_id: int, role: Role = Role.PRODUCER) -> ShmDetachResponse:
        assert lease_id is not None
        self._correlation_id += 1
        correlation_id = self._correlation_id
        self.say(
            ShmDetachRequest(
                correlation_id=correlation_id, lease_id=lease_id, stream_id=STREAM, client_id=client_id, role=role
            )
        )
        return self.await_(ShmDetachResponse, lambda found: found.correlation_id == correlation_id)

    def revocation_of(self, lease_id: int | None) -> ShmLeaseRevoked:
        return self.await_(ShmLeaseRevoked, lambda found: found.lease_id == lease_id)


@pytest.fixture
def words(shm: Path, tmp_path: Path) -> list[str]:
    """How the driver is started: small regions, short times, everything in this test's folder."""
    config = tmp_path / "driver.toml"
    config.write_text(CONFIG)
    return [
        "driver", "--json", "--config", str(config), "--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool")
    ]  # fmt: skip


@pytest.fixture
def driver(words: list[str], system: System) -> Program:
    program = system.framegate(*words)
    program.says(event="ready")
    return program


@pytest.fixture
def client(driver: Program, shm: Path, system: System) -> Iterator[Client]:
    client = Client(str(shm / "aeron"), system)
    with client.transport:
        yield client


@pytest.fixture
def impatient(words: list[str], shm: Path, system: System) -> Iterator[Client]:
    """A client of a driver whose leases are short."""
    program = system.framegate(*words, FRAMEGATE_POLICIES_LEASE_KEEPALIVE_INTERVAL_MS="500")
    program.says(event="ready")
    client = Client(str(shm / "aeron"), system)
    with client.transport:
        yield client


def file_of(uri: str) -> Path:
    return Path(uri.removeprefix("shm:file?path="))


def test_attach_gives_regions_that_are_there_and_announced(client: Client, shm: Path) -> None:
    response = client.attach(42)
    assert response.code == ResponseCode.OK
    ring = file_of(response.header_region_uri)
    assert ring.is_relative_to(shm / "pool")
    block = ShmRegionSuperblock.decode_body(ring.read_bytes()[:64])
    assert (block.epoch, block.stream_id, block.nslots) == (response.epoch, STREAM, response.header_nslots)
    announce = client.await_(ShmPoolAnnounce, lambda found: found.epoch == response.epoch)
    assert (announce.producer_id, announce.header_region_uri) == (42, response.header_region_uri)


def test_a_lease_lives_by_its_keepalives_and_expires_without(impatient: Client, system: System) -> None:
    client = impatient
    kept, lost = client.attach(1), client.attach(2, Role.CONSUMER)

    def other_is_revoked() -> bool:
        client.keep_alive(kept.lease_id, 1)
        client.listen()
        return any(isinstance(each, ShmLeaseRevoked) for each in client.messages)

    system.until(other_is_revoked, "the lease without keepalive revoked")
    revoked = client.revocation_of(lost.lease_id)
    assert (revoked.reason, revoked.role) == (LeaseRevokeReason.EXPIRED, Role.CONSUMER)
    assert client.detach(kept.lease_id, 1).code == ResponseCode.OK
    assert client.revocation_of(kept.lease_id).reason == LeaseRevokeReason.DETACHED


def test_a_producer_process_that_is_killed_expires_and_a_higher_epoch_is_announced(
    impatient: Client, shm: Path, system: System
) -> None:
    """The producer is a process of its own; its lease is kept alive in its name as long as it lives."""
    client = impatient
    program = system.start("sleep", "1000")
    response = client.attach(program.pid)
    for _ in range(20):
        client.keep_alive(response.lease_id, program.pid)
        client.await_(ShmPoolAnnounce)
        client.messages = [each for each in client.messages if not isinstance(each, ShmPoolAnnounce)]
    program.send(signal.SIGKILL)
    program.wait()
    revoked = client.revocation_of(response.lease_id)
    assert revoked.reason == LeaseRevokeReason.EXPIRED
    announce = client.await_(ShmPoolAnnounce, lambda found: found.epoch > (response.epoch or 0))
    assert (announce.stream_id, announce.producer_id) == (STREAM, 0)
    assert file_of(announce.header_region_uri).is_file()
    follower = client.attach(99)
    assert (follower.epoch or 0) > announce.epoch


def test_the_rules_of_attaching_hold_over_the_wire(client: Client) -> None:
    assert client.attach(1).code == ResponseCode.OK
    assert client.attach(2).code == ResponseCode.REJECTED
    assert client.attach(1, Role.CONSUMER).error_message == "client_id already attached"
    assert client.attach(3, stream_id=9).code == ResponseCode.REJECTED
    assert client.attach(4, stream_id=STREAM + 1, mode=None).code == ResponseCode.REJECTED
    assert client.attach(5, Role.CONSUMER, mode=None).code == ResponseCode.OK


def test_a_consumer_is_granted_a_control_stream_and_declined_a_descriptor_stream(client: Client) -> None:
    client.attach(7, Role.CONSUMER)
    hello = ConsumerHello(
        stream_id=STREAM,
        consumer_id=7,
        supports_shm=Bool.TRUE,
        supports_progress=Bool.TRUE,
        mode=Mode.STREAM,
        max_rate_hz=0,
        expected_layout_version=1,
        descriptor_channel="aeron:ipc",
        descriptor_stream_id=5,
        control_channel="aeron:ipc",
        control_stream_id=6,
    )
    client.say(hello)
    config = client.await_(ConsumerConfig, lambda found: found.consumer_id == 7)
    assert (config.descriptor_channel, config.descriptor_stream_id) == ("", 0)
    assert (config.control_channel, config.control_stream_id) == ("aeron:ipc", 32_000)


@pytest.mark.usefixtures("media_driver")  # It outlives the lease driver, so what was said last can be read.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_revokes_announces_the_end_and_leaves_nothing_under_the_base(
    number: signal.Signals, client: Client, driver: Program, shm: Path
) -> None:
    leases = [client.attach(1), client.attach(2, Role.CONSUMER)]
    driver.send(number)
    assert driver.wait() == 0, driver
    for lease in leases:
        assert client.revocation_of(lease.lease_id).reason == LeaseRevokeReason.REVOKED
    assert client.await_(ShmDriverShutdown).reason == ShutdownReason.NORMAL
    assert not (shm / "pool").exists()
    assert driver.objects()[-1]["event"] == "summary"


def test_a_base_that_was_there_stays_and_is_empty(words: list[str], shm: Path, system: System) -> None:
    (shm / "pool").mkdir()
    program = system.framegate(*words)
    program.says(event="ready")
    client = Client(str(shm / "aeron"), system)
    with client.transport:
        client.attach(1)
        program.send(signal.SIGINT)
        assert program.wait() == 0, program
    assert list((shm / "pool").iterdir()) == []


@pytest.mark.usefixtures("media_driver")
def test_a_shutdown_request_needs_the_token(client: Client, driver: Program) -> None:
    for token in ("", "wrong"):
        client.say(ShmDriverShutdownRequest(correlation_id=1, reason=ShutdownReason.ADMIN, token=token))
    lease = client.attach(1)
    assert lease.code == ResponseCode.OK
    client.say(ShmDriverShutdownRequest(correlation_id=1, reason=ShutdownReason.ADMIN, token=TOKEN))
    assert client.await_(ShmDriverShutdown).reason == ShutdownReason.ADMIN
    assert driver.wait() == 0, driver
    assert client.revocation_of(lease.lease_id).reason == LeaseRevokeReason.REVOKED


def test_a_driver_that_was_killed_and_restarted_uses_no_epoch_again_and_removes_what_was_left(
    words: list[str], driver: Program, shm: Path, system: System
) -> None:
    old_client = Client(str(shm / "aeron"), system)
    with old_client.transport:
        first = old_client.attach(1)
        old_ring = file_of(first.header_region_uri)
        driver.send(signal.SIGKILL)
        driver.wait()
        assert old_ring.is_file()
    restarted = system.framegate(*words)
    restarted.says(event="ready")
    client = Client(str(shm / "aeron"), system)
    with client.transport:
        assert client.detach(first.lease_id, 1).code == ResponseCode.REJECTED
        again = client.attach(1)
        assert again.code == ResponseCode.OK
        assert (again.epoch or 0) > (first.epoch or 0)
        assert again.lease_id != first.lease_id
        client.detach(again.lease_id, 1)
        system.until(lambda: not old_ring.exists(), "the dead driver's epoch collected")


def test_an_epoch_folder_above_the_clock_is_counted_from(words: list[str], shm: Path, system: System) -> None:
    """As after a reboot, with a base directory that survived it."""
    high = 2**62
    user = system.framegate(*words)
    user.says(event="ready")
    (root,) = (shm / "pool").glob("tensorpool-*/default")
    user.send(signal.SIGKILL)
    user.wait()
    (root / str(STREAM) / str(high)).mkdir(parents=True)
    program = system.framegate(*words)
    program.says(event="ready")
    client = Client(str(shm / "aeron"), system)
    with client.transport:
        assert client.attach(1).epoch == high + 1


def test_a_second_driver_on_the_same_base_is_refused_and_the_first_goes_on(
    words: list[str], driver: Program, client: Client, shm: Path, system: System
) -> None:
    second = system.framegate(*words, "--aeron-dir", str(shm / "another"))
    assert second.wait() == 3, second
    error = second.objects()[-1]
    assert (error["event"], error["name"], error["facts"]["pid"]) == ("error", "LEASE_DRIVER_PRESENT", str(driver.pid))
    assert not (shm / "another").exists()
    assert client.attach(1).code == ResponseCode.OK


@pytest.mark.usefixtures("driver")
def test_a_second_driver_in_another_namespace_is_welcome(words: list[str], shm: Path, system: System) -> None:
    other = system.framegate(*words, "--aeron-dir", str(shm / "another"), FRAMEGATE_SHM_NAMESPACE="other")
    other.says(event="ready")


@pytest.fixture
def small_base(shm: Path) -> Iterator[Path]:
    """A file system of 8 MiB, in place of a /dev/shm that is full."""
    base = shm / "small"
    base.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", base], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount; the same is played by tests/unit/driver/test_lease_driver_agent.py")
    try:
        yield base
    finally:
        subprocess.run(["umount", "--lazy", base], check=True)


def test_a_full_file_system_is_an_internal_error_with_the_reason_and_nothing_half_made(
    small_base: Path, shm: Path, system: System
) -> None:
    """The built-in profile wants 136 MiB; the file system has 8."""
    aeron_dir = str(shm / "aeron")
    with MediaDriver(aeron_dir=aeron_dir):
        program = system.framegate("driver", "--json", "--aeron-dir", aeron_dir, "--base-dir", str(small_base))
        program.says(event="ready")
        client = Client(aeron_dir, system)
        with client.transport:
            response = client.attach(1)
            assert response.code == ResponseCode.INTERNAL_ERROR
            assert "NO_ROOM" in response.error_message
            (root,) = small_base.glob("tensorpool-*/default")
            assert [path.name for path in root.iterdir()] == ["driver.lock"]
            waiting = client.attach(2, Role.CONSUMER)
            assert waiting.code == ResponseCode.OK
            assert client.attach(3).code == ResponseCode.INTERNAL_ERROR
            assert file_of(waiting.header_region_uri).is_file()
            program.send(signal.SIGINT)
            assert program.wait() == 0, program
    assert list(small_base.iterdir()) == []
    assert os.statvfs(small_base).f_bfree == os.statvfs(small_base).f_blocks


def test_regions_of_another_base_than_those_allowed_are_refused_at_the_start(
    words: list[str], shm: Path, system: System, tmp_path: Path
) -> None:
    config = tmp_path / "other.toml"
    config.write_text(f"[shm]\nbase_dir = '{shm}/pool'\nallowed_base_dirs = ['{shm}/elsewhere']\n")
    program = system.framegate("driver", "--json", "--config", str(config), "--aeron-dir", str(shm / "aeron"))
    assert program.wait() == 2, program
    assert program.objects()[-1]["code"] == 906
    assert list(shm.iterdir()) == []


def test_huge_pages_that_are_required_and_missing_are_an_environment_problem(shm: Path, system: System) -> None:
    words = ["driver", "--json", "--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool")]
    program = system.framegate(*words, FRAMEGATE_SHM_REQUIRE_HUGEPAGES="true")
    assert program.wait() == 3, program
    assert program.objects()[-1]["name"] == "HUGEPAGES_MISSING"
    assert list(shm.iterdir()) == []
