# SPDX-License-Identifier: Apache-2.0
"""Clients whose media driver is killed, clients that are suspended, and clients that are closed while in use."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from framegate.driver.mediadriver import MediaDriver, MediaDriverOptions
from framegate.schema.errors import MediaDriverGone, MediaDriverNotFound
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Outcome

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

DRIVER_TIMEOUT_MS = 3000
CLIENT_LIVENESS_MS = 1500
STREAM = 77
ANSWERS_WHILE_IT_LIVES = {
    "offer": {"position", "BACK_PRESSURED", "ADMIN_ACTION", "NOT_CONNECTED"},
    "poll": {"list"},
    # Room in the log is still there when nobody moves it on.
    "claim": set[str](),
}


def start_client(system: System, role: str, aeron_dir: str, driver_timeout_ms: int = DRIVER_TIMEOUT_MS) -> Program:
    client = system.own_program("client", role, "--aeron-dir", aeron_dir, "--driver-timeout-ms", str(driver_timeout_ms))
    client.says(event="ready")
    return client


def assert_each_call_raised(client: Program, name: str) -> dict[str, Any]:
    """Every call of a client ended with this error, with honest answers before it, and its ``close()`` returned."""
    ended = dict(client.says(event="ended"))
    del ended["event"]
    assert {call: result["error"] for call, result in ended.items()} == dict.fromkeys(ended, name), client
    for call, result in ended.items():
        assert set(result["answers"]) <= ANSWERS_WHILE_IT_LIVES.get(call, set()), client
    assert client.says(event="closed")["is_closed"] is True
    assert client.wait() == 0, client
    return ended


def test_driver_killed_every_client_learns_it_and_a_new_driver_serves_new_clients(
    aeron_dir: str, system: System
) -> None:
    with MediaDriver(aeron_dir=aeron_dir) as driver:
        roles = ("publisher", "subscriber", "waiter", "adder")
        clients = {role: start_client(system, role, aeron_dir) for role in roles}
        driver.kill()
        clients["adder"].tell("now")
        for client in clients.values():
            ended = assert_each_call_raised(client, "MEDIA_DRIVER_GONE")
            assert all(f"aeron_dir={aeron_dir} " in result["text"] for result in ended.values())
        with pytest.raises(MediaDriverNotFound):
            AeronTransport(aeron_dir, DRIVER_TIMEOUT_MS)
    with MediaDriver(aeron_dir=aeron_dir):
        assert system.serves(aeron_dir)


def test_driver_killed_and_replaced_before_anyone_noticed_its_clients_still_learn_it(
    aeron_dir: str, system: System
) -> None:
    """The directory is the same and alive again, but it is not theirs: their driver's is gone."""
    with MediaDriver(aeron_dir=aeron_dir) as killed:
        clients = [start_client(system, role, aeron_dir) for role in ("publisher", "subscriber")]
        killed.kill()
        with MediaDriver(aeron_dir=aeron_dir):
            for client in clients:
                assert_each_call_raised(client, "MEDIA_DRIVER_GONE")
            assert system.serves(aeron_dir)


def test_driver_stopped_in_good_order_its_clients_learn_it(aeron_dir: str, system: System) -> None:
    with MediaDriver(aeron_dir=aeron_dir) as driver:
        clients = [start_client(system, role, aeron_dir) for role in ("publisher", "waiter")]
        driver.stop()
        for client in clients:
            assert_each_call_raised(client, "MEDIA_DRIVER_GONE")


def test_driver_killed_no_offer_says_closed_of_a_publication_that_nobody_closed(aeron_dir: str, system: System) -> None:
    """Many clients offer without a pause, so that some offer falls into the moment in which Aeron gives up."""
    with MediaDriver(aeron_dir=aeron_dir) as driver, ExitStack() as stack:
        clients = [stack.enter_context(AeronTransport(aeron_dir, DRIVER_TIMEOUT_MS)) for _ in range(40)]
        publications = [client.add_publication(system.channel, STREAM + n) for n, client in enumerate(clients)]
        driver.kill()
        answers = set[int]()
        # No pause in this loop: the moment to hit is short. The limit of the test run is its watchdog.
        while publications:
            for publication in publications.copy():
                try:
                    answers.add(publication.offer(b"x"))
                except MediaDriverGone:
                    publications.remove(publication)
    assert answers == {Outcome.NOT_CONNECTED}


def test_driver_killed_a_claim_that_is_open_can_be_left_and_the_client_closed(aeron_dir: str, system: System) -> None:
    with MediaDriver(aeron_dir=aeron_dir) as driver:
        transport = AeronTransport(aeron_dir, DRIVER_TIMEOUT_MS)
        subscription = transport.add_subscription(system.channel, STREAM)
        publication = transport.add_publication(system.channel, STREAM)
        system.until(lambda: publication.is_connected, "connected")
        claim = publication.claim(16)
        assert not isinstance(claim, Outcome)
        with claim as room:
            driver.kill()
            system.until(lambda: transport.is_closed, "the driver missed")
            room[:] = bytes(16)
        for call in (lambda: publication.claim(16), lambda: publication.offer(b"x"), subscription.poll):
            with pytest.raises(MediaDriverGone):
                call()
        transport.close()


def test_no_driver_was_ever_there_and_a_client_is_told_so(aeron_dir: str) -> None:
    with pytest.raises(MediaDriverNotFound) as caught:
        AeronTransport(aeron_dir)
    assert caught.value.facts["aeron_dir"] == aeron_dir
    assert caught.value.exit_code == 3


def test_client_suspended_for_longer_than_its_liveness_timeout_learns_that_it_stalled(
    aeron_dir: str, system: System
) -> None:
    """The driver gives one up when its publication goes; of the other, which only listens, the time tells."""
    options = MediaDriverOptions(client_liveness_timeout_ms=CLIENT_LIVENESS_MS)
    with MediaDriver(aeron_dir=aeron_dir, options=options), AeronTransport(aeron_dir) as witness:
        seen = witness.add_subscription(system.channel, STREAM)
        clients = [start_client(system, role, aeron_dir, driver_timeout_ms=10_000) for role in ("publisher", "waiter")]
        system.until(lambda: seen.poll(), "a message of the client")
        for client in clients:
            system.suspend(client.pid)
        given_up_ns = monotonic_ns() + 2 * CLIENT_LIVENESS_MS * 1_000_000
        system.until(lambda: not seen.poll() and seen.image_count == 0, "the client given up")
        system.until(lambda: monotonic_ns() > given_up_ns, "twice the liveness time-out")
        for client in clients:
            client.send(signal.SIGCONT)
        for client in clients:
            assert_each_call_raised(client, "CLIENT_STALLED")
        witness.check_alive()
        assert system.serves(aeron_dir)


def test_clients_opened_and_closed_a_hundred_times_leave_nothing_open(
    media_driver: MediaDriver, system: System
) -> None:
    program = system.own_program("rounds", media_driver.aeron_dir, "100")
    done = program.says(event="done")
    assert done["after"] == done["before"], program
    assert program.wait() == 0, program


@pytest.mark.parametrize(
    ("use", "got"),
    [
        ("wait", "TRANSPORT_CLOSED"),
        ("poll", "TRANSPORT_CLOSED"),
        ("poll_records", "TRANSPORT_CLOSED"),
        ("offer", "Outcome.CLOSED"),
        # A claim of a closed publication raises; one that was on its way when it was closed says so.
        ("claim", "Outcome.CLOSED|TRANSPORT_CLOSED"),
        ("add", "TRANSPORT_CLOSED"),
        ("ask", "Outcome.CLOSED"),
    ],
)
def test_transport_closed_while_another_thread_uses_it_ends_that_use(
    use: str, got: str, media_driver: MediaDriver, system: System
) -> None:
    program = system.own_program("close_under_use", use, media_driver.aeron_dir)
    assert program.wait() == 0, program
    (done,) = program.objects()
    assert done["got"]
    assert set(done["got"]) <= set(got.split("|"))
