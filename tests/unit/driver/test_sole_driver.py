# SPDX-License-Identifier: Apache-2.0
"""Whether another lease driver serves a media driver: by the lock, and by what is said on its streams."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from framegate.driver import sole_driver
from framegate.driver.configuration import DriverSection
from framegate.driver.sole_driver import MARK_FILE, SoleDriver, neighbour
from framegate.schema import Message, decode_any
from framegate.schema.driver import ResponseCode, ShmDetachRequest, ShmDetachResponse
from framegate.schema.errors import LeaseDriverPresent, MediaDriverGone
from framegate.shmpool.transport.interface import Transport
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.unit.shmpool.lease_messages import URI, announced

SECTION = DriverSection(control_channel="aeron:ipc")


@contextmanager
def peer(transport: Transport, says: Message | None = None) -> Iterator[None]:
    """Somebody on the streams: answers a detach as a driver does, or says something else all the time."""
    hears = transport.add_subscription(SECTION.control_channel, SECTION.control_stream_id)
    stream = SECTION.control_stream_id if says is None else SECTION.announce_stream_id
    speaks = transport.add_publication(SECTION.control_channel, stream)
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(0.005):
            for data in hears.poll(10):
                request = decode_any(data.data)
                if not isinstance(request, ShmDetachRequest):
                    continue
                answer = ShmDetachResponse(
                    correlation_id=request.correlation_id, code=ResponseCode.REJECTED, error_message="who?"
                )
                speaks.try_offer((says or answer).encode())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.fixture
def network() -> LoopbackNetwork:
    return LoopbackNetwork()


@pytest.fixture
def aeron_dir(tmp_path: Path) -> str:
    (tmp_path / MARK_FILE).touch()
    return str(tmp_path)


def test_a_driver_that_answers_is_heard(network: LoopbackNetwork) -> None:
    with peer(network.client()):
        assert neighbour(network.client(), SECTION) == "who?"


def test_a_driver_that_announces_a_stream_without_a_producer_is_heard(network: LoopbackNetwork) -> None:
    with peer(network.client(), announced(producer_id=0)):
        heard = neighbour(network.client(), SECTION)
    assert heard is not None
    assert URI in heard


def test_a_producer_without_a_driver_is_none(network: LoopbackNetwork) -> None:
    with peer(network.client(), announced(producer_id=42)):
        assert neighbour(network.client(), SECTION) is None


def test_where_a_driver_answers_another_waits_for_its_end_and_then_refuses(
    network: LoopbackNetwork, aeron_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sole_driver, "PATIENCE_NS", 100_000_000)
    with peer(network.client()), pytest.raises(LeaseDriverPresent, match="who"):
        SoleDriver(aeron_dir, SECTION).claim(network.client(), others_may_be_there=True)


def test_a_driver_that_says_its_last_words_is_waited_for(network: LoopbackNetwork, aeron_dir: str) -> None:
    leaving = peer(network.client())
    leaving.__enter__()
    timer = threading.Timer(0.3, leaving.__exit__, (None, None, None))
    timer.start()
    sole = SoleDriver(aeron_dir, SECTION)
    sole.claim(network.client(), others_may_be_there=True)
    timer.join()
    sole.close()


def claimed(aeron_dir: str, section: DriverSection = SECTION) -> SoleDriver:
    sole = SoleDriver(aeron_dir, section)
    try:
        sole.claim(LoopbackNetwork().client(), others_may_be_there=False)
    except BaseException:
        sole.close()
        raise
    return sole


def test_a_claim_holds_until_it_is_given_up_also_when_it_is_made_again(aeron_dir: str) -> None:
    first = claimed(aeron_dir)
    first.claim(LoopbackNetwork().client(), others_may_be_there=False)
    with pytest.raises(LeaseDriverPresent):
        claimed(aeron_dir)
    first.close()
    first.close()
    claimed(aeron_dir).close()


def test_another_control_stream_is_another_place(aeron_dir: str) -> None:
    first = claimed(aeron_dir)
    claimed(aeron_dir, DriverSection(control_channel="aeron:ipc", control_stream_id=2000)).close()
    first.close()


def test_the_lock_outlives_that_the_process_reads_the_mark(aeron_dir: str) -> None:
    """As it does each time that it looks whether the media driver lives."""
    first = claimed(aeron_dir)
    Path(aeron_dir, MARK_FILE).read_bytes()
    with pytest.raises(LeaseDriverPresent):
        claimed(aeron_dir)
    first.close()


def test_the_next_media_driver_is_claimed_anew(aeron_dir: str) -> None:
    first = claimed(aeron_dir)
    mark = Path(aeron_dir, MARK_FILE)
    mark.rename(mark.with_name("before"))
    mark.touch()
    second = claimed(aeron_dir)
    with pytest.raises(LeaseDriverPresent):
        first.claim(LoopbackNetwork().client(), others_may_be_there=False)
    second.close()
    first.close()


def test_without_a_media_driver_there_is_nothing_to_claim(tmp_path: Path) -> None:
    with pytest.raises(MediaDriverGone):
        claimed(str(tmp_path))
