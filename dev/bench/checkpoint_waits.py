# SPDX-License-Identifier: Apache-2.0
"""How long does a checkpoint keep a join waiting when one input is late, or stands still?

Two native producers at a rate, one agent, each a process; the measurement is the coordinator: it says the times, hears
the acknowledgements, and knows when each producer sent its barrier. The threshold is 1 s. One input's barrier comes
0.5 s after the other's, or 1.25 s after it, while frames go on; or its producer is stopped (SIGSTOP) before its
barrier, until the checkpoint was aborted, and goes on. Every time holds what storing and saying so took.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.joinbarrier.checkpoint.operator.part import OPERATOR_PART, decode_part
from framegate.schema import Message, decode_any
from framegate.schema.control import AckStatus, BarrierAck
from framegate.schema.errors import AddTimedOut, MessageError
from framegate.shmpool.client.client import Client, connect
from framegate.shmpool.client.link import Link
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.transport.interface import Received

from dev.bench.join_bed import FAULTED, STREAMS, Case, Join, joining
from dev.bench.join_checkpoints import announce
from dev.bench.result import Result

_ROUNDS: Final = 3
_RATE_HZ: Final = 10_000
_CASE: Final = Case(4096, 16_384)
_THRESHOLD_S: Final = 1
_LATE_S: Final = 0.5
"""After the snapshot. A producer that is stopped loses its lease after 2 to 3 s, and would be named for that."""
_LEFT, _RIGHT = STREAMS
_SETTLED_NS: Final = 500_000_000
_STOP_NS: Final = 200_000_000
_LOOK_NS: Final = 1_000_000
_WATCHDOG_NS: Final = 30_000_000_000


@dataclass(frozen=True, slots=True)
class _Ack:
    at_ns: int
    message: BarrierAck


class _Listener:
    """A member of a client that notes when each acknowledgement came."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._acks: list[_Ack] = []
        client.listen(self)

    def on_link(self, link: Link) -> None:
        """Nothing is to be said."""

    def on_link_lost(self, reason: str) -> None:
        """Then the measurement fails by itself."""

    def on_message(self, message: Message, now_ns: int) -> None:
        """Acknowledgements come by ``on_control``."""

    def on_tick(self, now_ns: int) -> None:
        """Nothing is due."""

    def on_control(self, received: Received, _now_ns: int) -> None:
        """One message of the control stream."""
        try:
            message = decode_any(received.data)
        except MessageError:
            return
        if isinstance(message, BarrierAck):
            self._acks.append(_Ack(monotonic_ns(), message))

    def close(self) -> None:
        """Hear nothing any more."""
        with self._client.turn:
            self._client.remove(self)

    def wait(self, checkpoint_id: int, status: AckStatus) -> _Ack:
        """The acknowledgement of a step; raises AddTimedOut where it does not come."""

        def found() -> _Ack | None:
            mine = [each for each in list(self._acks) if each.message.checkpoint_id == checkpoint_id]
            return next((each for each in mine if each.message.status == status), None)

        return _until(found, f"{status.name} of checkpoint {checkpoint_id}")


def run() -> Iterator[Result]:
    """About a minute."""
    with joining(_CASE, **FAULTED) as join, connect(f"{join.home}/aeron", f"{join.home}/pool") as client:
        store = join.home / "checkpoints"
        client.send(
            announce(store, alignment_timeout_ms=1000 * _THRESHOLD_S, late_barrier_timeout_ms=int(1000 * _LATE_S))
        )
        with closing(_Listener(client)) as listener:
            sleep_ns(_SETTLED_NS)
            bench = _Bench(join, listener, store)
            yield from bench.late(0.5, is_unaligned=False)
            yield from bench.late(1.25, is_unaligned=True)
            yield from bench.stopped()


class _Bench:
    def __init__(self, join: Join, listener: _Listener, store: Path) -> None:
        self._join, self._listener, self._store = join, listener, store
        self._last_id = 0

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def late(self, late_s: float, *, is_unaligned: bool) -> Iterator[Result]:
        """The right input's barrier comes so long after the left one's."""
        blocked, finished = [], []
        for _ in range(_ROUNDS):
            checkpoint_id = self._next_id()
            plans = [[(0.5, checkpoint_id), (late_s + 0.5, 0)], [(late_s + 0.5, checkpoint_id), (0.5, 0)]]
            self._join.begin_cuts(_RATE_HZ, plans)
            left, right = self._join.end_cuts()
            snapshot = self._listener.wait(checkpoint_id, AckStatus.SNAPSHOT_TAKEN)
            complete = self._listener.wait(checkpoint_id, AckStatus.COMPLETE)
            self._require(checkpoint_id, is_unaligned=is_unaligned)
            blocked.append((snapshot.at_ns - left[checkpoint_id]) / 1e9)
            finished.append((complete.at_ns - right[checkpoint_id]) / 1e9)
        what = f"one input {late_s:g} s late"
        yield _worst(f"{what}: from the last barrier to the checkpoint's end", finished, 1.0)
        yield _worst(f"{what}: from the first barrier to the stored snapshot", blocked, _THRESHOLD_S + 0.1)

    def stopped(self) -> Iterator[Result]:
        """The right producer stands still before its barrier."""
        unblocked, aborted, next_one = [], [], []
        for _ in range(_ROUNDS):
            checkpoint_id, after = self._next_id(), self._next_id()
            plans = [[(0.3, checkpoint_id), (4.0, after)], [(0.5, checkpoint_id), (3.8, after)]]
            self._join.begin_cuts(_RATE_HZ, plans)
            sleep_ns(_STOP_NS)
            self._join.signal_producer(1, signal.SIGSTOP)
            try:
                snapshot = self._listener.wait(checkpoint_id, AckStatus.SNAPSHOT_TAKEN)
                failed = self._listener.wait(checkpoint_id, AckStatus.FAILED)
            finally:
                self._join.signal_producer(1, signal.SIGCONT)
            if _RIGHT not in failed.message.reason or "LATE_BARRIER" not in failed.message.reason:
                raise AddTimedOut("it was aborted for something else", reason=failed.message.reason)
            left, right = self._join.end_cuts()
            complete = self._listener.wait(after, AckStatus.COMPLETE)
            unblocked.append((snapshot.at_ns - left[checkpoint_id]) / 1e9)
            aborted.append((failed.at_ns - left[checkpoint_id]) / 1e9)
            next_one.append((complete.at_ns - max(left[after], right[after])) / 1e9)
        what = "one producer stopped"
        yield _worst(f"{what}: from the other's barrier to the stored snapshot", unblocked, _THRESHOLD_S + 1)
        yield _worst(
            f"{what}: from the other's barrier to the abort that names it", aborted, _THRESHOLD_S + _LATE_S + 1
        )
        yield _worst(f"{what}, and goes on: the next checkpoint, from its last barrier", next_one, 1.0)

    def _require(self, checkpoint_id: int, *, is_unaligned: bool) -> None:
        [path] = self._store.glob(f"{checkpoint_id}/operators/*/{OPERATOR_PART}")
        part = decode_part(path.read_bytes(), operator_id=path.parent.name, where=str(path))
        if part.is_unaligned != is_unaligned:
            raise AddTimedOut("it was taken the other way", checkpoint_id=checkpoint_id, is_unaligned=part.is_unaligned)


def _until(found: Callable[[], _Ack | None], what: str) -> _Ack:
    deadline_ns = monotonic_ns() + _WATCHDOG_NS
    while (ack := found()) is None:
        if monotonic_ns() > deadline_ns:
            raise AddTimedOut("an acknowledgement did not come", what=what)
        sleep_ns(_LOOK_NS)
    return ack


def _worst(question: str, seconds: list[float], target: float) -> Result:
    return Result(
        question=question,
        measured=max(seconds),
        unit="s",
        target=target,
        spread=(min(seconds), max(seconds)),
        how=f"the longest of {len(seconds)}, {_RATE_HZ} pairs/s of 4 KiB, threshold {_THRESHOLD_S} s",
    )
