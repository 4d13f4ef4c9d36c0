# SPDX-License-Identifier: Apache-2.0
"""What the pool measurements stand on: regions of their own with native producers and consumers, or a whole driver."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from framegate.schema.errors import AddTimedOut
from framegate.shmpool.client.client import Client, connect
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import OfferBound, Publication, Subscription
from framegate.shmpool.transport.streams import DEFAULT_CHANNEL

from dev.bench.bed import connected
from dev.bench.result import in_turn
from framegate._native import (
    AeronPublication,
    AeronSubscription,
    PoolProducer,
    PoolRegions,
    bench_bare_offer,
    bench_copy,
    bench_offer,
    bench_publish,
)

DESCRIPTORS: Final = 111
BARE: Final = 112
STREAM: Final = 10_001
PATIENT: Final = OfferBound(attempts=1 << 40, deadline_ns=10_000_000_000)
"""Nothing is given up: every round moves what it says."""
MESSAGE_BYTES: Final = 48
"""Of a descriptor, and so of the bare message that it is compared with."""
_EPOCHS: Final = itertools.count(1)
_POOL: Final = 1
_FAREWELL_S: Final = 0.5
_FALLBACK_CACHE_BYTES: Final = 32 << 20


@contextmanager
def regions(frame_bytes: int, slots: int) -> Iterator[PoolRegions]:
    """A ring and one pool in memory that was touched already; gone afterwards."""
    home = tempfile.mkdtemp(prefix="framegate-bench-pool-", dir="/dev/shm")
    epoch = next(_EPOCHS)
    # As framegate's driver lays them out, so that the producer looks for sleepers behind each frame.
    folder = Path(home) / str(STREAM) / str(epoch)
    folder.parent.mkdir()
    (Path(home) / "driver.lock").touch()
    try:
        made = PoolRegions.create(
            str(folder),
            stream_id=STREAM,
            epoch=epoch,
            nslots=slots,
            pools=[(_POOL, stride_bytes(frame_bytes))],
            mode=0o600,
            prefault=True,
            require_hugepages=False,
            lock=False,
            now_ns=monotonic_ns(),
        )
        try:
            yield made
        finally:
            made.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def stride_bytes(frame_bytes: int) -> int:
    """The smallest stride that holds the frame.

    >>> stride_bytes(640 * 1024)
    1048576
    """
    return max(64, 1 << (frame_bytes - 1).bit_length())


def cold_slots(frame_bytes: int) -> int:
    """Slots of a ring several times as large as the last-level cache: a slot is cold when its turn comes again."""
    return max(4, min(256 << 20, 4 * cache_bytes()) // stride_bytes(frame_bytes))


def cache_bytes() -> int:
    """The last-level cache, as far as the system tells."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    found = [int(path.read_text().strip().removesuffix("K")) << 10 for path in sizes]
    return 1 << (max(found, default=_FALLBACK_CACHE_BYTES) - 1).bit_length()


def opened(words: str) -> PoolRegions:
    """The regions of another process, from what ``named`` said."""
    found = json.loads(words)
    ring, pool = found["paths"]
    return PoolRegions.open(
        ring,
        stream_id=STREAM,
        epoch=found["epoch"],
        nslots=found["slots"],
        pools=[(_POOL, found["stride"], pool)],
        allowed=[str(Path(ring).parent)],
        writable=False,
        require_hugepages=False,
        prefault=False,
    )


def named(made: PoolRegions, frame_bytes: int) -> str:
    """What a partner needs to open these regions."""
    stride = stride_bytes(frame_bytes)
    return json.dumps({"paths": made.paths, "epoch": made.epoch, "slots": made.nslots, "stride": stride})


@contextmanager
def publication(
    client: AeronTransport, stream_id: int = DESCRIPTORS, bound: OfferBound = PATIENT
) -> Iterator[Publication]:
    """A descriptor publication as the pool has it, connected; closed afterwards, or later subscribers would join it."""
    said = client.add_publication(DEFAULT_CHANNEL, stream_id, bound=bound)
    try:
        yield connected(said)
    finally:
        said.close()


def producer_on(made: PoolRegions, said: Publication, pace: Subscription | None = None) -> PoolProducer:
    """A native producer of these regions; ``pace`` is a subscription of its own, as the pool's producers have one."""
    pace_native = cast(AeronSubscription, pace) if pace is not None else None
    producer = PoolProducer(cast(AeronPublication, said), STREAM, dtype=None, shape=None, pace=pace_native)
    producer.attach(made)
    return producer


class Partner:
    """Another process on the same media driver, once it listens; see ``pool_partner.py`` for the roles."""

    def __init__(self, aeron_dir: str, role: str, *words: str) -> None:
        command = [sys.executable, "-m", "dev.bench.pool_partner", role, aeron_dir, *words]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answer()

    def tell(self, question: str) -> None:
        """Say a line."""
        assert self._process.stdin is not None  # noqa: S101  (for the type checker)
        self._process.stdin.write(f"{question}\n".encode())
        self._process.stdin.flush()

    def answer(self) -> Any:
        """The next thing that it says; raises when it has ended."""
        assert self._process.stdout is not None  # noqa: S101  (for the type checker)
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Partner:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin is not None  # noqa: S101  (for the type checker)
        self._process.stdin.close()
        try:
            # In good order where it listens to us: the media driver would keep a dead one's streams for seconds.
            self._process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()


@contextmanager
def pool(slots: int, frame_bytes: int) -> Iterator[Client]:
    """A client of a fresh driver that nobody else uses: what a program has that calls ``connect``."""
    home = tempfile.mkdtemp(prefix="framegate-bench-pool-", dir="/dev/shm")
    try:
        with driver(home, slots, frame_bytes), connect(f"{home}/aeron", f"{home}/pool") as client:
            yield client
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def driver(home: str, slots: int, frame_bytes: int) -> Iterator[None]:
    """``framegate driver`` as a process of its own, with its files in ``home``."""
    where = ["--aeron-dir", f"{home}/aeron", "--base-dir", f"{home}/pool"]
    size = ["--slots", str(slots), "--frame-bytes", str(stride_bytes(frame_bytes))]
    command = [sys.executable, "-m", "framegate", "driver", *where, *size, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None  # noqa: S101  (for the type checker)
        if b'"ready"' not in process.stdout.readline():
            raise AddTimedOut("the driver did not start", aeron_dir=f"{home}/aeron")
        yield
    finally:
        process.terminate()
        process.communicate()


def offer_ns(said: Publication, count: int) -> float:
    """Nanoseconds of an exclusive offer of a descriptor's length, by a native loop."""
    spent_ns, taken = bench_offer(cast(Any, said), MESSAGE_BYTES, count)
    return _each(spent_ns, taken, count)


def bare_offer_ns(said: Publication, count: int) -> float:
    """Nanoseconds of the same by Aeron's own call alone, without the lock and the counters around it."""
    spent_ns, taken = bench_bare_offer(cast(Any, said), MESSAGE_BYTES, count)
    return _each(spent_ns, taken, count)


def publish_ns(producer: PoolProducer, frame_bytes: int, count: int, *, copied: bool = True) -> float:
    """Nanoseconds of a native publish: claim, copy, commit, descriptor; the payload may be left as its slot lies."""
    spent_ns, published = bench_publish(producer, frame_bytes, count, copied)
    return _each(spent_ns, published, count)


def copy_ns(made: PoolRegions, frame_bytes: int, count: int, *, past_cache: bool) -> float:
    """Nanoseconds of the bare copy into the slots of the same regions."""
    return bench_copy(made, frame_bytes, count, past_cache) / count


def publish_beside_copies(
    client: AeronTransport, frame_bytes: int, slots: int, count: int, rounds: int
) -> list[list[float]]:
    """Nanoseconds of a publish, of the bare plain copy and of the non-temporal one, each round by round in turn."""
    with regions(frame_bytes, slots) as made, publication(client) as said:
        producer = producer_on(made, said)
        return in_turn(
            (
                lambda: publish_ns(producer, frame_bytes, count),
                lambda: copy_ns(made, frame_bytes, count, past_cache=False),
                lambda: copy_ns(made, frame_bytes, count, past_cache=True),
            ),
            rounds,
        )


def _each(spent_ns: int, done: int, count: int) -> float:
    assert done == count, f"{done} of {count} were done"  # noqa: S101  (or the figure lies)
    return spent_ns / count


def sized(frame_bytes: int) -> str:
    """For people.

    >>> sized(655360), sized(0)
    ('640 KiB', '0 KiB')
    """
    return f"{frame_bytes >> 20} MiB" if frame_bytes >= 1 << 20 else f"{frame_bytes >> 10} KiB"
