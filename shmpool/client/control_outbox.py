# SPDX-License-Identifier: Apache-2.0
"""The outbox of a client's member: its messages to the control stream, in order, for when the stream is full.

Messages do not outlive a link. A member that gets no answer sends its message again on the next link.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from framegate.schema import Message
from framegate.shmpool.client.link import Link
from framegate.shmpool.transport.interface import Outcome, Publication

WAITING_MAX: Final = 256
"""How many messages wait for a slow subscriber. Beyond it the oldest is dropped: each is sent again, or times out."""


class ControlOutbox:
    """A bounded queue in front of a publication. Use it on the client's thread, or with the client's turn.

    The publication is the member's own. Clients of one host share the session of a shared publication, and then a
    member could not tell its own messages from those of others.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._publication: Publication | None = None
        self._waiting = deque[bytes](maxlen=WAITING_MAX)

    @property
    def is_open(self) -> bool:
        """Whether there is a link to send on."""
        return self._publication is not None

    @property
    def session_id(self) -> int | None:
        """The session by which others recognize these messages; None without a link."""
        return None if self._publication is None else self._publication.session_id

    def open(self, link: Link) -> None:
        """Send on a new link from now on. Nobody has received anything on it yet."""
        self._publication = link.transport.add_publication(link.streams.channel, link.streams.control, exclusive=True)

    def lose(self) -> None:
        """Drop the link, and all messages that wait for it."""
        self._publication = None
        self._waiting.clear()

    def send(self, message: Message) -> None:
        """Send a message now, or as soon as the stream takes it."""
        if len(self._waiting) == WAITING_MAX:
            self._counts["overflowed"] += 1
        self._waiting.append(message.encode())
        self.flush()

    def flush(self) -> None:
        """Try to send the waiting messages, once: a slow subscriber must not cost other members their turn."""
        while self._waiting and self._publication is not None:
            answer = self._publication.try_offer(self._waiting[0])
            if answer < 0 and Outcome(answer).is_retryable:
                self._counts["send_blocked"] += 1
                return
            self._waiting.popleft()
            self._counts["sent" if answer >= 0 else "unheard"] += 1

    def close(self) -> None:
        """Stop sending. Idempotent."""
        publication, self._publication = self._publication, None
        if publication is not None:
            publication.close()
