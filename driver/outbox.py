# SPDX-License-Identifier: Apache-2.0
"""What the driver has to say, in order over both of its streams, when a stream does not take it at once.

A revocation goes out before the announce of the epoch that it raised, although they travel on two streams; so one
queue serves both, and a blocked head holds everything behind it. The queue is bounded. A slow subscriber costs the
driver no time: each turn makes one attempt.

A stream may be lost while half of what one event brings about is said. So nothing is raised there: what was said waits
for the stream that takes its place.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from framegate.schema.errors import MessageTooLong, OfferFailed, TransportError
from framegate.shmpool.transport.interface import Outcome, Publication

OUTBOX_MAX: Final = 16_384
"""Messages that wait. More than the leases and their answers can be, so only a stream blocked for long reaches it."""


class Outbox:
    """A bounded queue in front of publications."""

    def __init__(self, limit: int = OUTBOX_MAX) -> None:
        self.counts = Counter[str]()
        self._limit = limit
        self._queue: deque[tuple[Publication, bytes]] = deque()
        self._loss: TransportError | None = None

    def __len__(self) -> int:
        """How many messages wait."""
        return len(self._queue)

    def send(self, publication: Publication, message: bytes, *, is_periodic: bool = False) -> None:
        """Send it, or keep it until the stream takes it. Periodic ones are not kept: they come again."""
        if self._queue and is_periodic:
            self.counts["announces_skipped"] += 1
        elif len(self._queue) >= self._limit:
            self.counts["outbox_overflowed"] += 1
        else:
            self._queue.append((publication, message))
            self.flush()

    def check(self) -> None:
        """Raise what ended a publication, if something did."""
        if self._loss is not None:
            raise self._loss

    def go_over(self, old: Publication, new: Publication) -> None:
        """Send by ``new`` what waits for ``old``, which was lost."""
        self._loss = None
        self._queue = deque((new if each is old else each, message) for each, message in self._queue)

    def flush(self) -> int:
        """Send what can be sent now; how many went."""
        sent = 0
        while self._queue and self._loss is None and self._try(*self._queue[0]):
            self._queue.popleft()
            sent += 1
        return sent

    def _try(self, publication: Publication, message: bytes) -> bool:
        """Whether the message is done with: taken, or there is nobody to hear it."""
        try:
            answer = publication.try_offer(message)
        except MessageTooLong:
            # A profile of thousands of pools: the streams of it cannot be announced, all others can.
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
