# SPDX-License-Identifier: Apache-2.0
"""The outbox: the driver's messages in order over both of its streams, for when a stream does not take one at once.

A revocation must be sent before the announce of the epoch that it raised, although the two travel on different streams.
So one queue serves both, and a blocked head blocks everything behind it. The queue is bounded. A slow subscriber costs
the driver no time: each turn makes one attempt.

A stream may be lost while only part of the messages of one event are sent. So ``send`` raises nothing: messages wait
for the stream that replaces it.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from framegate.schema.errors import MessageTooLong, OfferFailed, TransportError
from framegate.shmpool.transport.interface import Outcome, Publication

OUTBOX_MAX: Final = 16_384
"""How many messages may wait. This is more than all leases and their answers; only a long blockage reaches it."""


class Outbox:
    """A bounded queue of messages for publications."""

    def __init__(self, limit: int = OUTBOX_MAX) -> None:
        self.counts = Counter[str]()
        self._limit = limit
        self._queue: deque[tuple[Publication, bytes]] = deque()
        self._loss: TransportError | None = None

    def __len__(self) -> int:
        """How many messages wait."""
        return len(self._queue)

    def send(self, publication: Publication, message: bytes, *, is_periodic: bool = False) -> None:
        """Send a message, or keep it until the stream takes it. Periodic messages are not kept: they come again."""
        if self._queue and is_periodic:
            self.counts["announces_skipped"] += 1
        elif len(self._queue) >= self._limit:
            self.counts["outbox_overflowed"] += 1
        else:
            self._queue.append((publication, message))
            self.flush()

    def check(self) -> None:
        """Raise the error that ended a publication, if there was one."""
        if self._loss is not None:
            raise self._loss

    def go_over(self, old: Publication, new: Publication) -> None:
        """Send the messages for ``old``, which was lost, on ``new`` instead."""
        self._loss = None
        self._queue = deque((new if each is old else each, message) for each, message in self._queue)

    def flush(self) -> int:
        """Send what can be sent now. Returns how many messages were sent."""
        sent = 0
        while self._queue and self._loss is None and self._try(*self._queue[0]):
            self._queue.popleft()
            sent += 1
        return sent

    def _try(self, publication: Publication, message: bytes) -> bool:
        """Try to send a message. Returns whether it is done: the stream took it, or nobody listens."""
        try:
            answer = publication.try_offer(message)
        except MessageTooLong:
            # An announce with thousands of pools may be too long. Its streams cannot be announced, all others can.
            self.counts["too_long"] += 1
            return True
        except TransportError as loss:
            self._loss = loss
            return False
        if answer >= 0:
            self.counts["sent"] += 1
        elif answer == Outcome.NOT_CONNECTED:
            self.counts["unheard"] += 1
        elif Outcome(answer).is_retryable:
            self.counts["send_blocked"] += 1
            return False
        else:
            outcome, stream = Outcome(answer).name.lower(), publication.stream_id
            self._loss = OfferFailed("the driver lost a stream of its own", outcome=outcome, stream=stream)
            return False
        return True
