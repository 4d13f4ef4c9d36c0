# SPDX-License-Identifier: Apache-2.0
"""The interface of a message transport: one protocol, two implementations.

``aeron`` is the real one. ``loopback.network`` is a deterministic one inside this process that can make loss, delay,
duplicates and back-pressure on demand. One conformance suite runs over both.

Nothing here blocks unless a ``timeout_ns`` is given, and nothing is dropped silently: an offer returns what became of
the message, and counters say how often each answer was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer


class Outcome(IntEnum):
    """Why an offer was not taken. An offer that was taken returns the stream position instead, which is positive."""

    NOT_CONNECTED = -1
    """There is no subscriber. One may come."""
    BACK_PRESSURED = -2
    """The slowest tethered subscriber has no space. The offer is retried within the publication's bound."""
    ADMIN_ACTION = -3
    """The log changed to its next term. The next attempt nearly always succeeds; it is made within the bound."""
    CLOSED = -4
    """The publication is closed. Final."""
    MAX_POSITION = -5
    """The position space of the stream is used up. Final: close the publication and add a new one."""

    @property
    def is_retryable(self) -> bool:
        """Whether another attempt can help."""
        return self in (Outcome.BACK_PRESSURED, Outcome.ADMIN_ACTION)


@dataclass(frozen=True, slots=True)
class OfferBound:
    """How long an offer is retried after back-pressure or an admin action, before it returns the outcome.

    ``attempts`` counts all tries, the first included; ``deadline_ns`` is measured from the first retry.
    Whichever is reached first ends the offer.
    """

    attempts: int = 1_000_000
    deadline_ns: int = 100_000_000


class Received(NamedTuple):
    """A whole message, assembled from its fragments."""

    data: bytes
    session_id: int
    """The session of the publication that sent it."""
    position: int
    """The stream position after it."""


class ImageEvent(NamedTuple):
    """A publication that a subscription began or ceased to receive. The transport queues it for the caller."""

    is_available: bool
    session_id: int
    source: str
    """``aeron:ipc``, or the sender's address."""
    at_ns: int
    """The monotonic time at which the transport noticed it. It is a consumer's join time (PROTOCOL 5.3)."""


class BatchResult(NamedTuple):
    """The result of a batch: how many messages were taken, from the front, and why it stopped there."""

    sent: int
    outcome: Outcome | None
    """None if all were taken."""


class RecordKind(NamedTuple):
    """A fixed-size message that ``poll_records`` can collect. The codec of each has a ``record_kind()``."""

    block_length: int
    template_id: int
    schema_id: int
    version: int
    reads_newer: bool


class Claim(Protocol):
    """Space in the log for one message, which the caller fills through the view that ``with`` gives.

    Leaving the block commits the message; an exception abandons it. Messages stand in the order of their claims, and
    those after an open claim wait. The view ends with the block: if an array outlives it, the message is abandoned.
    """

    def __enter__(self) -> memoryview: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def position(self) -> int:
        """The stream position after this message."""
        ...


class Publication(Protocol):
    """One sender on one stream."""

    def offer(self, message: Buffer) -> int:
        """Send one message, retried within the bound. Returns the position, or an ``Outcome``."""
        ...

    def try_offer(self, message: Buffer) -> int:
        """Send one message like ``offer``, with one attempt."""
        ...

    def offer_batch(self, messages: Buffer, message_bytes: int) -> BatchResult:
        """Send messages of ``message_bytes`` that lie back to back in ``messages``, in one call."""
        ...

    def claim(self, length: int) -> Claim | Outcome:
        """Claim space for a message of at most ``max_claim_bytes``, retried within the bound.

        The message counts as sent, even if it is abandoned later. Raises ``TransportClosed`` after ``close``.
        """
        ...

    @property
    def is_connected(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def position(self) -> int:
        """The stream position after the last message; ``Outcome.CLOSED`` after ``close``."""
        ...

    @property
    def max_claim_bytes(self) -> int: ...
    @property
    def max_message_bytes(self) -> int: ...

    def counters(self) -> dict[str, int]:
        """``sent``, ``back_pressured``, ``admin_actions``, ``not_connected``, ``gave_up``: attempts by answer."""
        ...

    def close(self) -> None:
        """Close the publication. Idempotent. Raises an error while a claim is open."""
        ...


class Subscription(Protocol):
    """One receiver of one stream, for all its publications."""

    def poll(self, limit: int = 64, timeout_ns: int = 0) -> list[Received]:
        """Receive at most ``limit`` whole messages. Waits up to ``timeout_ns`` for the first."""
        ...

    def poll_records(
        self, kind: RecordKind, out: npt.NDArray[np.void], limit: int | None = None, timeout_ns: int = 0
    ) -> int:
        """Collect the bodies of one fixed-size message into ``out``. Returns how many. All else is skipped and counted.

        It reads no more messages than ``out`` has space for, so 0 may also mean that there were only others.
        """
        ...

    def image_events(self) -> list[ImageEvent]:
        """The events that the transport noticed since the last call, oldest first."""
        ...

    @property
    def image_count(self) -> int: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def stream_id(self) -> int: ...

    def counters(self) -> dict[str, int]:
        """``messages`` (of ``poll``), ``records``, ``other_schema``, ``other_template``, ``newer_version``,
        ``wrong_block_length``, ``truncated``, ``fragmented`` (a long message that ``poll_records`` skipped),
        ``image_events_dropped``."""
        ...

    def close(self) -> None:
        """Idempotent."""
        ...


class Transport(Protocol):
    """A client of one media driver, or of one in-memory network."""

    def add_publication(
        self, channel: str, stream_id: int, *, exclusive: bool = True, bound: OfferBound | None = None
    ) -> Publication: ...

    def add_subscription(self, channel: str, stream_id: int, *, idle: str = "backoff") -> Subscription: ...

    @property
    def is_closed(self) -> bool: ...

    def errors(self) -> list[str]:
        """The errors that the transport reported since the last call; bounded, oldest first."""
        ...

    def close(self) -> None:
        """Close the transport with its publications and subscriptions. Idempotent."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...
