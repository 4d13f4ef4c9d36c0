# SPDX-License-Identifier: Apache-2.0
"""The log of one session: positions, terms and flow control as Aeron's, without its memory.

A position counts the bytes of whole frames, headers and padding included::

    term 0                                      term 1
    +--------+--------------+-----+-------------+--------+----
    | 32 hdr | payload      | pad | rest unused | 32 hdr | ...
    +--------+--------------+-----+-------------+--------+----
    0        32             aligned to 32       term_bytes

A message that does not fit the rest of its term ends the term, and that attempt answers ADMIN_ACTION. The messages
themselves wait in the images of their receivers; the log has only numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from framegate.shmpool.transport.interface import Outcome
from framegate.shmpool.transport.loopback.channel import FRAME_ALIGNMENT, FRAME_HEADER_BYTES, Channel
from framegate.shmpool.transport.loopback.faults import Fate

MESSAGE_BYTES_MAX: Final = 16 * 1024 * 1024
TERMS_MAX: Final = 2**31


def framed_bytes(length: int, max_payload: int) -> int:
    """Bytes of log that a message takes.

    >>> framed_bytes(0, 1376), framed_bytes(1, 1376), framed_bytes(1377, 1376)
    (32, 64, 1472)
    """
    whole, rest = divmod(length, max_payload)
    framed = whole * (max_payload + FRAME_HEADER_BYTES)
    return framed + _aligned(rest + FRAME_HEADER_BYTES) if rest or not whole else framed


def _aligned(length: int) -> int:
    return -(-length // FRAME_ALIGNMENT) * FRAME_ALIGNMENT


@dataclass(slots=True)
class Delivery:
    """One message on its way to one image."""

    start_position: int
    end_position: int
    data: bytes = b""
    copies: int = 1
    due_ns: int | None = None
    """None while its claim is open. Then neither it nor anything after it can be seen."""
    may_overtake: bool = False

    @property
    def is_over(self) -> bool:
        """Delivered, lost or abandoned: nothing more will come of it."""
        return self.due_ns is not None and self.copies == 0


class Image:
    """What one subscription still has to receive from one session; the log's window bounds it."""

    def __init__(self, log: SessionLog, is_tethered: bool, now_ns: int) -> None:
        self.log = log
        self.is_tethered = is_tethered
        self.kept_up_ns = now_ns
        self.pending: deque[Delivery] = deque()

    @property
    def position(self) -> int:
        """Up to where all has been consumed."""
        return self.pending[0].start_position if self.pending else self.log.position

    @property
    def is_drained(self) -> bool:
        """Whether the sender is gone and its last message taken."""
        return self.log.is_ended and not self.pending

    def take(self, now_ns: int) -> Delivery | None:
        """The next message that is due."""
        self._drop_over()
        delivery = self._next_due(now_ns)
        if delivery is not None:
            delivery.copies -= 1
            self._drop_over()
        return delivery

    def _next_due(self, now_ns: int) -> Delivery | None:
        best: Delivery | None = None
        best_due_ns = now_ns + 1
        for place, delivery in enumerate(self.pending):
            if delivery.due_ns is None or (place and not delivery.may_overtake):
                break
            if delivery.copies and delivery.due_ns < best_due_ns:
                best, best_due_ns = delivery, delivery.due_ns
        return best

    def _drop_over(self) -> None:
        while self.pending and self.pending[0].is_over:
            self.pending.popleft()


@dataclass(slots=True)
class Slot:
    """Room for one message in the log, and the deliveries it will become."""

    position: int
    deliveries: list[Delivery]

    def commit(self, data: bytes, now_ns: int, fate: Callable[[], Fate]) -> None:
        """Show the message to each receiver, as its fate will have it."""
        for delivery in self.deliveries:
            copies, delay_ns, delivery.may_overtake = fate()
            delivery.data, delivery.copies, delivery.due_ns = data, copies, now_ns + delay_ns

    def abandon(self) -> None:
        """Turn the room into padding."""
        for delivery in self.deliveries:
            delivery.copies, delivery.due_ns = 0, 0


class SessionLog:
    """One session: written by an exclusive publication, or by all handles of a shared one."""

    def __init__(
        self, channel: Channel, stream_id: int, session_id: int, window_bytes: int | None, *, is_shared: bool = False
    ) -> None:
        self.channel = channel
        self.stream_id = stream_id
        self.session_id = session_id
        self.is_shared = is_shared
        self.max_payload_bytes = channel.mtu - FRAME_HEADER_BYTES
        self.max_message_bytes = min(channel.term_bytes // 8, MESSAGE_BYTES_MAX)
        # Half a term is the window that Aeron's media driver grants an IPC publication.
        self.window_bytes = channel.term_bytes // 2 if window_bytes is None else window_bytes
        self.images: list[Image] = []
        self.handles = 0
        self.is_ended = False
        self._term, self._offset = divmod(channel.start_position, channel.term_bytes)

    @property
    def position(self) -> int:
        """The position of the next frame."""
        return self._term * self.channel.term_bytes + self._offset

    def append(self, length: int) -> Slot | Outcome:
        """Try once to reserve space for a message of ``length`` bytes."""
        if not self.images:
            return Outcome.NOT_CONNECTED
        if self.is_blocked:
            return Outcome.BACK_PRESSURED
        framed = framed_bytes(length, self.max_payload_bytes)
        if self._offset + framed > self.channel.term_bytes:
            return self._turn_over()
        start = self.position
        self._offset += framed
        return Slot(self.position, [self._deliver(image, start) for image in self.images])

    @property
    def is_blocked(self) -> bool:
        """Whether a receiver has no space. Untethered receivers that are left behind are removed before."""
        return any(self._is_behind(image) for image in self.images)

    def is_left_behind(self, image: Image, now_ns: int, limit_ns: int | None) -> bool:
        """Whether to give up an untethered image: at once, or after ``limit_ns`` as Aeron does."""
        if image.is_tethered or limit_ns is None:
            return not image.is_tethered and self._is_behind(image)
        fastest = max(other.position for other in self.images)
        if image.position > fastest - self.window_bytes * 3 // 4:
            image.kept_up_ns = now_ns
        return now_ns > image.kept_up_ns + limit_ns

    def _is_behind(self, image: Image) -> bool:
        # The message begins inside the window but may end outside; Aeron allows this too.
        return self.position - image.position >= self.window_bytes

    def _turn_over(self) -> Outcome:
        if self._term + 1 >= TERMS_MAX:
            return Outcome.MAX_POSITION
        self._term, self._offset = self._term + 1, 0
        return Outcome.ADMIN_ACTION

    def _deliver(self, image: Image, start: int) -> Delivery:
        delivery = Delivery(start, self.position)
        image.pending.append(delivery)
        return delivery
