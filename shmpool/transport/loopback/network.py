# SPDX-License-Identifier: Apache-2.0
"""A deterministic message network inside this process, for tests and simulations.

It answers as Aeron does (positions, terms, flow control, sessions, images) and can make faults (``faults``). It is
simpler than Aeron in these ways:

- A subscription receives what is sent after it joined. Aeron's begins where the slowest other subscription is.
- An untethered subscription loses its image as soon as it is a window behind, and so never causes back-pressure.
  Aeron's does cause it, until it was three quarters of a window behind the fastest subscription for a timeout of 5 s:
  for ever if none is faster. ``untethered_limit_ns`` imitates that.
- UDP channels behave like IPC ones, matched by their endpoint.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Final

from framegate.schema.errors import InvalidValue, MediaDriverGone
from framegate.shmpool.clock import Clock, monotonic_ns
from framegate.shmpool.idle import IdleName
from framegate.shmpool.transport.interface import Outcome
from framegate.shmpool.transport.loopback.channel import TERM_BYTES_MIN, Channel
from framegate.shmpool.transport.loopback.client import LoopbackTransport
from framegate.shmpool.transport.loopback.faults import NO_FAULTS, Dice, Faults
from framegate.shmpool.transport.loopback.log import SessionLog, Slot
from framegate.shmpool.transport.loopback.subscription import LoopbackSubscription

MTU_BYTES: Final = 1408
UNTETHERED_REST_NS: Final = 10_000_000_000


class LoopbackNetwork:
    """A network that several clients share, with its streams, its clock and its source of chance.

    A ``clock`` other than ``monotonic_ns`` means simulated time: nothing waits then. ``window_bytes`` None is half a
    term. ``untethered_limit_ns`` is how long an untethered subscription may block its senders, and
    ``untethered_rest_ns`` how long it then stays without its image. ``faults`` may be replaced at any time.

    >>> network = LoopbackNetwork()
    >>> client = network.client()
    >>> subscription = client.add_subscription("aeron:ipc", 7)
    >>> client.add_publication("aeron:ipc", 7).offer(b"hello")
    64
    >>> [message.data for message in subscription.poll()]
    [b'hello']
    """

    def __init__(
        self,
        clock: Clock = monotonic_ns,
        seed: int = 0,
        faults: Faults = NO_FAULTS,
        mtu: int = MTU_BYTES,
        term_bytes: int = TERM_BYTES_MIN,
        window_bytes: int | None = None,
        untethered_limit_ns: int | None = None,
        untethered_rest_ns: int = UNTETHERED_REST_NS,
    ) -> None:
        self.clock = clock
        self.faults = faults
        self.is_real_time = clock is monotonic_ns
        self.lock = threading.RLock()
        self.mtu = mtu
        self.term_bytes = term_bytes
        self._window_bytes = window_bytes
        self._untethered = (untethered_limit_ns, untethered_rest_ns)
        self._dice = Dice(seed)
        self._next_session_id = self._dice.session_id()
        self._logs: list[SessionLog] = []
        self._subscriptions: list[LoopbackSubscription] = []
        self._clients: list[LoopbackTransport] = []
        self._forced: deque[_Forced] = deque()
        self._counts = Counter[str]()
        self.is_alive = True

    def client(self) -> LoopbackTransport:
        """Make another client of this network."""
        with self.lock:
            self.check_alive()
            client = LoopbackTransport(self)
            self._clients.append(client)
            return client

    def force_outcome(self, outcome: Outcome, times: int = 1, stream_id: int | None = None) -> None:
        """Answer the next ``times`` attempts with ``outcome``, on that stream or on any. Later calls queue up."""
        if times < 1:
            raise InvalidValue("an order is for at least one answer", have_times=times)
        with self.lock:
            self._forced.append(_Forced(outcome, times, stream_id))

    def kill_driver(self) -> None:
        """Imitate a media driver that died: every later use raises MediaDriverGone. Closing still works."""
        with self.lock:
            self.is_alive = False
        self.report_error("the media driver is gone")

    def report_error(self, text: str) -> None:
        """Put an error into every client's queue."""
        with self.lock:
            for client in self._clients:
                self._counts["errors_dropped"] += client.note_error(text)

    def counters(self) -> dict[str, int]:
        """What the faults did, for each receiver: ``lost``, ``duplicated``, ``delayed``; and ``forced`` answers,
        ``untethered_lost`` messages, ``errors_dropped``."""
        names = ("lost", "duplicated", "delayed", "forced", "untethered_lost", "errors_dropped")
        with self.lock:
            total = self._counts + self._dice.tally
            return {name: total[name] for name in names}

    # What follows is for the network's own publications and subscriptions, which hold the lock.

    def check_alive(self) -> None:
        """Raise unless the media driver is alive."""
        if not self.is_alive:
            raise MediaDriverGone("the in-memory media driver was killed")

    def append(self, log: SessionLog, length: int) -> Slot | Outcome:
        """Try once to reserve space for a message."""
        forced = self._take_forced(log.stream_id)
        if forced is not None:
            return forced
        for subscription in self._subscriptions:
            subscription.settle()
            self._counts["untethered_lost"] += subscription.rest_if_behind(log, *self._untethered)
        return log.append(length)

    def commit(self, log: SessionLog, slot: Slot, data: bytes) -> None:
        """Show a message to its receivers. A fault is decided for each of them."""
        self.check_alive()
        rule = self.faults.rule_for(log.stream_id, data)
        slot.commit(data, self.clock(), lambda: self._dice.fate(rule))

    def open_log(self, channel: Channel, stream_id: int, exclusive: bool) -> SessionLog:
        """Open a new session, or the one that shared publications of this channel and stream use."""
        if not exclusive and (shared := self._shared_log(channel, stream_id)) is not None:
            return shared
        log = SessionLog(channel, stream_id, self._take_session_id(), self._window_bytes, is_shared=not exclusive)
        self._logs.append(log)
        for subscription in self._subscriptions:
            if subscription.hears(log):
                subscription.join(log)
        return log

    def open_subscription(self, channel: Channel, stream_id: int, idle: IdleName) -> LoopbackSubscription:
        """Open a subscription, which joins every existing session."""
        subscription = LoopbackSubscription(self, channel, stream_id, idle)
        self._subscriptions.append(subscription)
        for log in self._logs:
            if subscription.hears(log):
                subscription.join(log)
        return subscription

    def on_publication_closed(self, log: SessionLog) -> None:
        """Note a closed publication. The last one ends the session; receivers keep their image until it is drained."""
        log.handles -= 1
        if log.handles:
            return
        log.is_ended = True
        self._logs.remove(log)
        for subscription in self._subscriptions:
            subscription.settle()

    def on_subscription_closed(self, subscription: LoopbackSubscription) -> None:
        """Forget it."""
        self._subscriptions.remove(subscription)

    def on_client_closed(self, client: LoopbackTransport) -> None:
        """Forget it."""
        self._clients.remove(client)

    def _shared_log(self, channel: Channel, stream_id: int) -> SessionLog | None:
        for log in self._logs:
            if log.is_shared and log.stream_id == stream_id and log.channel.wire == channel.wire:
                return log
        return None

    def _take_session_id(self) -> int:
        session_id = self._next_session_id
        self._next_session_id = (session_id + 1 + 2**31) % 2**32 - 2**31
        return session_id

    def _take_forced(self, stream_id: int) -> Outcome | None:
        forced = next((forced for forced in self._forced if forced.covers(stream_id)), None)
        if forced is None:
            return None
        forced.times -= 1
        if not forced.times:
            self._forced.remove(forced)
        self._counts["forced"] += 1
        return forced.outcome


class _Forced:
    """A forced answer and how often it is still to be given."""

    def __init__(self, outcome: Outcome, times: int, stream_id: int | None) -> None:
        self.outcome = outcome
        self.times = times
        self._stream_id = stream_id

    def covers(self, stream_id: int) -> bool:
        return self._stream_id in (None, stream_id)
