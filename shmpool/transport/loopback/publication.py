# SPDX-License-Identifier: Apache-2.0
"""The sending side of the in-memory network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, TypeVar

from framegate.schema.errors import ClaimStillViewed, InvalidValue, MessageTooLong, TransportClosed
from framegate.shmpool.idle import Idler
from framegate.shmpool.transport.interface import BatchResult, OfferBound, Outcome
from framegate.shmpool.transport.loopback.log import SessionLog, Slot

if TYPE_CHECKING:
    from framegate.shmpool.transport.loopback.network import LoopbackNetwork
    from typing_extensions import Buffer

T = TypeVar("T")

_COUNTER_OF: Final = {
    Outcome.BACK_PRESSURED: "back_pressured",
    Outcome.ADMIN_ACTION: "admin_actions",
    Outcome.NOT_CONNECTED: "not_connected",
}
COUNTERS: Final = ("sent", *_COUNTER_OF.values(), "gave_up")


class LoopbackPublication:
    """One sender on one stream; implements ``Publication``.

    Retries follow the bound. On an injected clock neither time nor subscribers move during an offer. So back-pressure
    by a subscriber ends the offer at once; back-pressure by ``force_outcome`` is retried.
    """

    def __init__(self, network: LoopbackNetwork, log: SessionLog, bound: OfferBound) -> None:
        self._network = network
        self._log = log
        self._bound = bound
        self._counts = Counter[str]()
        self._open_claims = 0
        self._is_closed = False
        log.handles += 1

    def offer(self, message: Buffer) -> int:
        """Send one message, retried within the bound."""
        data = _bytes_of(message)
        return self._retried(lambda: self._send(data))

    def try_offer(self, message: Buffer) -> int:
        """Send one message like ``offer``, with one attempt."""
        return self._send(_bytes_of(message))

    def offer_batch(self, messages: Buffer, message_bytes: int) -> BatchResult:
        """Send messages that lie back to back. Each is retried within the bound."""
        data = _bytes_of(messages)
        if message_bytes < 1 or len(data) % message_bytes:
            raise InvalidValue("a batch is whole messages", have_bytes=len(data), message_bytes=message_bytes)
        self._check_length(message_bytes, self.max_message_bytes)
        for sent, start in enumerate(range(0, len(data), message_bytes)):
            answer = self.offer(data[start : start + message_bytes])
            if isinstance(answer, Outcome):
                return BatchResult(sent, answer)
        return BatchResult(len(data) // message_bytes, None)

    def claim(self, length: int) -> LoopbackClaim | Outcome:
        """Claim space for one message, to fill in place; retried within the bound."""
        self._network.check_alive()
        if self._is_closed:
            raise TransportClosed("the publication is closed", stream=self.stream_id)
        if length < 0:
            raise InvalidValue("a length is not negative", have_bytes=length)
        self._check_length(length, self.max_claim_bytes)
        return self._retried(lambda: self._open_claim(length))

    @property
    def is_connected(self) -> bool:
        """Whether there is a subscriber."""
        return self._network.is_alive and not self._is_closed and bool(self._log.images)

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._is_closed

    @property
    def session_id(self) -> int:
        """The session by which receivers recognize this sender."""
        return self._log.session_id

    @property
    def stream_id(self) -> int:
        """The stream that it sends on."""
        return self._log.stream_id

    @property
    def position(self) -> int:
        """The position of the next message; ``Outcome.CLOSED`` after ``close``."""
        return Outcome.CLOSED if self._is_closed else self._log.position

    @property
    def max_claim_bytes(self) -> int:
        """The longest message that is not fragmented."""
        return self._log.max_payload_bytes

    @property
    def max_message_bytes(self) -> int:
        """The longest message, fragmented or not."""
        return self._log.max_message_bytes

    def counters(self) -> dict[str, int]:
        """How often each answer was given."""
        return {name: self._counts[name] for name in COUNTERS}

    def close(self) -> None:
        """Close the publication. Idempotent. Raises an error while a claim is open: it would block the log."""
        with self._network.lock:
            if self._is_closed:
                return
            self.check_no_open_claim()
            self._is_closed = True
            self._network.on_publication_closed(self._log)

    def check_no_open_claim(self) -> None:
        """Raise if closing would leave a claim behind."""
        if self._open_claims:
            raise ClaimStillViewed("the publication has an open claim", open_claims=self._open_claims)

    def finish_claim(self, slot: Slot, data: bytes | None) -> None:
        """End a claim, with its message or as padding."""
        with self._network.lock:
            self._open_claims -= 1
            slot.abandon()  # Also if there is a message, so that no failure below leaves the log blocked.
            if data is not None:
                self._network.commit(self._log, slot, data)

    def _send(self, data: bytes) -> int:
        with self._network.lock:
            slot = self._reserve(len(data), self.max_message_bytes)
            if isinstance(slot, Outcome):
                return slot
            self._network.commit(self._log, slot, data)
            return slot.position

    def _open_claim(self, length: int) -> LoopbackClaim | Outcome:
        with self._network.lock:
            slot = self._reserve(length, self.max_claim_bytes)
            if isinstance(slot, Outcome):
                return slot
            self._open_claims += 1
            return LoopbackClaim(self, slot, length)

    def _reserve(self, length: int, limit: int) -> Slot | Outcome:
        self._network.check_alive()
        self._check_length(length, limit)
        answer = Outcome.CLOSED if self._is_closed else self._network.append(self._log, length)
        self._counts[_COUNTER_OF.get(answer, "final") if isinstance(answer, Outcome) else "sent"] += 1
        return answer

    def _check_length(self, length: int, limit: int) -> None:
        if length > limit:
            raise MessageTooLong("the message is too long", have_bytes=length, max_bytes=limit, stream=self.stream_id)

    def _retried(self, attempt: Callable[[], T | Outcome]) -> T | Outcome:
        answer = attempt()
        if not _is_retryable(answer):
            return answer
        idler = Idler("backoff")
        deadline_ns = self._network.clock() + self._bound.deadline_ns
        for _ in range(self._bound.attempts - 1):
            if not self._can_change(answer) or self._network.clock() >= deadline_ns:
                break
            if answer == Outcome.BACK_PRESSURED and self._network.is_real_time:
                idler.idle()
            answer = attempt()
            if not _is_retryable(answer):
                return answer
        self._counts["gave_up"] += 1
        return answer

    def _can_change(self, answer: object) -> bool:
        return answer == Outcome.ADMIN_ACTION or self._network.is_real_time or not self._log.is_blocked


class LoopbackClaim:
    """Space for one message; implements ``Claim``. Nothing after it is seen until its block is left."""

    def __init__(self, publication: LoopbackPublication, slot: Slot, length: int) -> None:
        self._publication = publication
        self._slot = slot
        self._buffer = bytearray(length)
        self._view: memoryview | None = None
        self._is_open = True

    def __enter__(self) -> memoryview:
        if not self._is_open:
            raise TransportClosed("the claim was committed or abandoned before")
        self._view = memoryview(self._buffer)
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_released = self._release_view()
        self._finish(bytes(self._buffer) if kind is None and is_released else None)
        if kind is None and not is_released:
            raise ClaimStillViewed("the message was abandoned", stream=self._publication.stream_id)

    def __del__(self) -> None:
        # A claim that was never entered must not block the stream.
        self._finish(None)

    @property
    def position(self) -> int:
        """The stream position after this message."""
        return self._slot.position

    def _finish(self, data: bytes | None) -> None:
        if self._is_open:
            self._is_open = False
            self._publication.finish_claim(self._slot, data)

    def _release_view(self) -> bool:
        try:
            if self._view is not None:
                self._view.release()
            # An array made from the view holds the buffer, not the view. Only resizing shows that.
            self._buffer.append(0)
            self._buffer.pop()
        except BufferError:
            return False
        return True


def _is_retryable(answer: object) -> bool:
    return isinstance(answer, Outcome) and answer.is_retryable


def _bytes_of(message: Buffer) -> bytes:
    view = memoryview(message)
    if not view.c_contiguous:
        raise InvalidValue("a message lies in one piece", have_strides=view.strides)
    return view.tobytes()
