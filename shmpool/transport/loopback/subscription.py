# SPDX-License-Identifier: Apache-2.0
"""The receiving side of the in-memory network."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from framegate.schema.errors import InvalidValue, TransportClosed
from framegate.shmpool.idle import IdleName, Idler
from framegate.shmpool.transport.interface import ImageEvent, Received, RecordKind
from framegate.shmpool.transport.loopback.channel import Channel
from framegate.shmpool.transport.loopback.log import Image, SessionLog
from framegate.shmpool.transport.loopback.records import VERDICTS, RecordSink, verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from framegate.shmpool.transport.loopback.network import LoopbackNetwork

T = TypeVar("T", list[Received], int)

IMAGE_EVENTS_MAX: Final = 1024
"""How many events are kept for the caller. Beyond that the oldest are dropped and counted."""
COUNTERS: Final = ("messages", *VERDICTS, "fragmented", "image_events_dropped")


class LoopbackSubscription:
    """One receiver of one stream; implements ``Subscription``.

    On an injected clock a poll never waits, whatever its timeout: only the test moves such a clock, and cannot do so
    during a poll.
    """

    def __init__(self, network: LoopbackNetwork, channel: Channel, stream_id: int, idle: IdleName) -> None:
        self.channel = channel
        self._network = network
        self._stream_id = stream_id
        self._idler = Idler(idle)
        self._images: dict[int, Image] = {}
        self._resting: dict[int, tuple[SessionLog, int]] = {}
        self._events: deque[ImageEvent] = deque()
        self._counts = Counter[str]()
        self._turn = 0
        self._is_closed = False

    def poll(self, limit: int = 64, timeout_ns: int = 0) -> list[Received]:
        """Receive at most ``limit`` whole messages."""
        _check_limit(limit)
        return self._waited(lambda: self._receive(limit), timeout_ns)

    def poll_records(
        self, kind: RecordKind, out: npt.NDArray[np.void], limit: int | None = None, timeout_ns: int = 0
    ) -> int:
        """Collect the bodies of one fixed-size message into ``out``."""
        _check_limit(limit or 0)
        room = len(out) if limit is None else min(limit, len(out))
        sink = RecordSink(kind, out)
        return self._waited(lambda: self._collect(kind, sink, room), timeout_ns)

    def image_events(self) -> list[ImageEvent]:
        """The events since the last call, oldest first; also after ``close``."""
        with self._network.lock:
            self.settle()
            events = list(self._events)
            self._events.clear()
            return events

    @property
    def image_count(self) -> int:
        """How many sessions it receives."""
        return len(self._images) if self._network.is_alive else 0

    @property
    def is_connected(self) -> bool:
        """Whether there is a publication."""
        return self.image_count > 0

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._is_closed

    @property
    def stream_id(self) -> int:
        """The stream that it receives."""
        return self._stream_id

    def counters(self) -> dict[str, int]:
        """How many messages went which way."""
        return {name: self._counts[name] for name in COUNTERS}

    def close(self) -> None:
        """Close the subscription. Idempotent. Messages that were not polled are lost."""
        with self._network.lock:
            if self._is_closed:
                return
            self._is_closed = True
            for image in self._images.values():
                image.log.images.remove(image)
            self._images.clear()
            self._resting.clear()
            self._network.on_subscription_closed(self)

    def hears(self, log: SessionLog) -> bool:
        """Whether this session is on the subscription's channel and stream."""
        return log.stream_id == self._stream_id and log.channel.wire == self.channel.wire

    def join(self, log: SessionLog) -> None:
        """Receive the session from its present position on."""
        image = Image(log, self.channel.is_tethered, self._network.clock())
        self._images[log.session_id] = image
        log.images.append(image)
        self._notice(True, log)

    def settle(self) -> None:
        """Leave sessions that have ended, and join those again whose rest is over."""
        for image in [image for image in self._images.values() if image.is_drained]:
            self._leave(image.log)
        now_ns = self._network.clock()
        for session_id, (log, until_ns) in list(self._resting.items()):
            if now_ns >= until_ns or log.is_ended:
                del self._resting[session_id]
                if not log.is_ended:
                    self.join(log)

    def rest_if_behind(self, log: SessionLog, limit_ns: int | None, rest_ns: int) -> int:
        """Leave a session that is too far ahead for a while, if untethered. Returns how many messages were lost."""
        image = self._images.get(log.session_id)
        now_ns = self._network.clock()
        if image is None or not log.is_left_behind(image, now_ns, limit_ns):
            return 0
        self._leave(log)
        self._resting[log.session_id] = (log, now_ns + rest_ns)
        return sum(delivery.copies > 0 for delivery in image.pending)

    def _leave(self, log: SessionLog) -> None:
        log.images.remove(self._images.pop(log.session_id))
        self._notice(False, log)

    def _notice(self, is_available: bool, log: SessionLog) -> None:
        if len(self._events) == IMAGE_EVENTS_MAX:
            self._events.popleft()
            self._counts["image_events_dropped"] += 1
        self._events.append(ImageEvent(is_available, log.session_id, log.channel.source, self._network.clock()))

    def _waited(self, once: Callable[[], T], timeout_ns: int) -> T:
        deadline_ns = self._network.clock() + timeout_ns
        self._idler.reset()
        while True:
            with self._network.lock:
                self._check_usable()
                found = once()
                self.settle()
            if found or not self._network.is_real_time or self._network.clock() >= deadline_ns:
                return found
            self._idler.idle()

    def _receive(self, limit: int) -> list[Received]:
        received = [
            Received(data, image.log.session_id, position) for image, data, position in islice(self._due(), limit)
        ]
        self._counts["messages"] += len(received)
        return received

    def _collect(self, kind: RecordKind, sink: RecordSink, room: int) -> int:
        due = self._due()
        # This ends: the window bounds what is pending, and the lock keeps senders out.
        while sink.count < room and (found := next(due, None)) is not None:
            image, message, _ = found
            what = "fragmented" if len(message) > image.log.max_payload_bytes else verdict(kind, message)
            self._counts[what] += 1
            if what == VERDICTS[0]:
                sink.put(message)
        return sink.count

    def _due(self) -> Iterator[tuple[Image, bytes, int]]:
        """The messages that are due, session by session. Each poll begins one session further, so none starves."""
        now_ns = self._network.clock()
        images = list(self._images.values())
        self._turn += 1
        for place in range(len(images)):
            image = images[(self._turn + place) % len(images)]
            while (delivery := image.take(now_ns)) is not None:
                yield image, delivery.data, delivery.end_position

    def _check_usable(self) -> None:
        self._network.check_alive()
        if self._is_closed:
            raise TransportClosed("the subscription is closed", stream=self._stream_id)


def _check_limit(limit: int) -> None:
    if limit < 0:
        raise InvalidValue("a limit is not negative", have_limit=limit)
