# SPDX-License-Identifier: Apache-2.0
"""What a member of a client says on the control stream, in order, when the stream does not take it at once.

Nothing outlives a link: what was not said on it is said anew by whoever finds nobody answering.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from framegate.schema import Message
from framegate.shmpool.client.link import Link
from framegate.shmpool.transport.interface import Outcome, Publication

WAITING_MAX: Final = 256
"""Messages that wait for a slow subscriber. Beyond it the oldest goes: all of them are said again, or time out."""


class ControlOutbox:
    """A bounded queue in front of a publication of its own. On the client's thread, or with its turn.

    Clients of one host share the session of a shared publication; then a member could not tell what others say from
    what was said here.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._publication: Publication | None = None
        self._waiting = deque[bytes](maxlen=WAITING_MAX)

    @property
    def is_open(self) -> bool:
        """Whether there is a link to speak on."""
        return self._publication is not None

    @property
    def session_id(self) -> int | None:
        """By which others know what is said here; None without a link."""
        return None if self._publication is None else self._publication.session_id

    def open(self, link: Link) -> None:
        """Speak on a new link, on which nobody has heard us yet."""
        self._publication = link.transport.add_publication(link.streams.channel, link.streams.control, exclusive=True)

    def lose(self) -> None:
        """The link is gone, and all that was to be said on it."""
        self._publication = None
        self._waiting.clear()

    def send(self, message: Message) -> None:
        """Say it now, or as soon as the stream takes it."""
        if len(self._waiting) == WAITING_MAX:
            self._counts["overflowed"] += 1
        self._waiting.append(message.encode())
        self.flush()

    def flush(self) -> None:
        """One attempt each: a slow subscriber must not cost the client's other members their turn."""
        while self._waiting and self._publication is not None:
            answer = self._publication.try_offer(self._waiting[0])
            if answer < 0 and Outcome(answer).is_retryable:
                self._counts["send_blocked"] += 1
                return
            self._waiting.popleft()
            self._counts["sent" if answer >= 0 else "unheard"] += 1

    def close(self) -> None:
        """Be silent from now on. Idempotent."""
        publication, self._publication = self._publication, None
        if publication is not None:
            publication.close()
