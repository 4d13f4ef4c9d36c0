# SPDX-License-Identifier: Apache-2.0
"""How product code comes to raise each error of the transport and of the media driver.

What needs no media driver uses the in-memory network; the others start one of their own, in a folder that goes.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from framegate.driver.mediadriver import MediaDriver, MediaDriverOptions
from framegate.driver.outbox import Outbox
from framegate.schema.errors import FramegateError
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Outcome
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

CHANNEL: Final = "aeron:ipc"
STREAM: Final = 77
_LIVENESS_MS: Final = 1_200


@contextmanager
def _media_driver(options: MediaDriverOptions | None = None) -> Iterator[MediaDriver]:
    with (
        tempfile.TemporaryDirectory(prefix="framegate-errors-", dir="/dev/shm") as folder,
        MediaDriver(aeron_dir=f"{folder}/aeron", options=options) as driver,
    ):
        yield driver


def _driver_dies() -> None:
    network = LoopbackNetwork()
    client = network.client()
    network.kill_driver()
    client.add_subscription(CHANNEL, STREAM)


def _start_with_a_wrong_option() -> None:
    with _media_driver(MediaDriverOptions(term_buffer_bytes=-1)):
        pass


def _start_where_one_lives() -> None:
    with _media_driver() as driver:
        MediaDriver(aeron_dir=driver.aeron_dir).start()


def _start_among_somebody_elses_files() -> None:
    with tempfile.TemporaryDirectory(prefix="framegate-errors-", dir="/dev/shm") as folder:
        Path(folder, "theirs.txt").touch()
        log_file = Path(folder, "driver.log")
        MediaDriver(aeron_dir=folder, log_file=log_file).start()


def _join_where_others_may_write() -> None:
    with tempfile.TemporaryDirectory(prefix="framegate-errors-", dir="/dev/shm") as folder:
        Path(folder).chmod(0o777)
        AeronTransport(folder)


def _add_while_the_driver_stands_still() -> None:
    with _media_driver() as driver, AeronTransport(driver.aeron_dir) as transport:
        os.kill(driver.pid, signal.SIGSTOP)
        try:
            transport.add_subscription(CHANNEL, STREAM, timeout_ns=20_000_000)
        finally:
            os.kill(driver.pid, signal.SIGCONT)


def _announce_on_a_stream_that_is_used_up() -> None:
    network = LoopbackNetwork()
    publication = network.client().add_publication(CHANNEL, STREAM)
    network.force_outcome(Outcome.MAX_POSITION)
    outbox = Outbox()
    outbox.send(publication, b"an announce")
    outbox.check()


def _use_after_close() -> None:
    client = LoopbackNetwork().client()
    client.close()
    client.add_publication(CHANNEL, STREAM)


def _keep_a_view_of_a_claim() -> None:
    client = LoopbackNetwork().client()
    subscription = client.add_subscription(CHANNEL, STREAM)
    claim = client.add_publication(CHANNEL, STREAM).claim(16)
    assert not isinstance(claim, Outcome)
    assert subscription.is_connected
    kept = []
    with claim as room:
        kept.append(room[:8])


_STALLED: Final = """
import pickle, sys
from framegate.schema.errors import FramegateError
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.idle import sleep_ns
transport = AeronTransport(sys.argv[1])
print("ready", file=sys.stderr, flush=True)
try:
    while True:
        transport.check_alive()
        sleep_ns(1_000_000)
except FramegateError as error:
    sys.stdout.buffer.write(pickle.dumps(error))
"""


@cache
def _of_a_stalled_process() -> FramegateError:
    """What a client raises that was suspended for longer than its liveness time-out."""
    options = MediaDriverOptions(client_liveness_timeout_ms=_LIVENESS_MS)
    with _media_driver(options) as driver:
        words = [sys.executable, "-c", _STALLED, driver.aeron_dir]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            try:
                assert client.stderr is not None
                assert client.stderr.readline() == b"ready\n"
                client.send_signal(signal.SIGSTOP)
                # The suspension itself is the event: there is nothing else to wait for.
                sleep_ns(2 * _LIVENESS_MS * 1_000_000)
                client.send_signal(signal.SIGCONT)
                error = pickle.loads(client.communicate(timeout=60)[0])  # noqa: S301 - from our own child
            finally:
                client.kill()
    assert isinstance(error, FramegateError)
    return error


def _stall() -> None:
    raise _of_a_stalled_process()


TRANSPORT_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    301: lambda: AeronTransport("/nowhere/aeron"),
    302: _driver_dies,
    303: _start_with_a_wrong_option,
    304: lambda: LoopbackNetwork().client().add_subscription("aeron:pigeon", STREAM),
    305: lambda: LoopbackNetwork().client().add_publication(CHANNEL, STREAM).claim(1 << 20),
    306: _use_after_close,
    307: _add_while_the_driver_stands_still,
    308: _start_where_one_lives,
    309: _announce_on_a_stream_that_is_used_up,
    310: _stall,
    311: _keep_a_view_of_a_claim,
    312: _start_among_somebody_elses_files,
    313: _join_where_others_may_write,
}
