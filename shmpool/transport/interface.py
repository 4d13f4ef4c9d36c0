# SPDX-License-Identifier: Apache-2.0
"""What framegate needs of a message transport: one protocol, two implementations.

``aeron`` is the real one. ``loopback.network`` is a deterministic one inside this process, with loss, delay,
duplicates and back-pressure to order. One conformance suite runs over both, so what holds here holds for either.

Nothing here blocks unless a ``timeout_ns`` is given, and nothing is dropped in silence: an offer says what
became of the message, and counters say how often each answer was given.
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
    """Why an offer was not taken. A taken one answers with the stream position instead, which is positive."""

    NOT_CONNECTED = -1
    """No subscriber. Weather: it may come."""
    BACK_PRESSURED = -2
    """The slowest tethered subscriber has no room. Weather: retried within the publication's bound."""
    ADMIN_ACTION = -3
    """The log rotated a term. The next attempt nearly always succeeds: retried within the bound."""
    CLOSED = -4
    """The publication is closed. Final."""
    MAX_POSITION = -5
    """The stream's position space is used up. Final: close it and add a new publication."""

    @property
    def is_retryable(self) -> bool:
        """Whether a further attempt can help."""
        return self in (Outcome.BACK_PRESSURED, Outcome.ADMIN_ACTION)


@dataclass(frozen=True, slots=True)
class OfferBound:
    """How long an offer is retried on back-pressure and admin action before it answers with the outcome.

    ``attempts`` counts all tries, the first included; ``deadline_ns`` is measured from the first retry.
    Whichever is reached first ends the offer.
    """

    attempts: int = 1_000_000
    deadline_ns: int = 100_000_000


class Received(NamedTuple):
    """A whole message, already assembled from its fragments."""

    data: bytes
    session_id: int
    """Which publication sent it."""
    position: int
    """Where the stream stands behind it."""


class ImageEvent(NamedTuple):
    """A publication that a subscription began or ceased to see. Queued by the transport, drained by the caller."""

    is_available: bool
    session_id: int
    source: str
    """``aeron:ipc``, or the sender's address."""
    at_ns: int
    """Monotonic time at which the transport noticed; a consumer's join time (PROTOCOL 5.3)."""


class BatchResult(NamedTuple):
    """What became of a batch: how many messages were taken, from the front, and why it ended there."""

    sent: int
    outcome: Outcome | None
    """None when all were taken."""


class RecordKind(NamedTuple):
    """The fixed-size message that ``poll_records`` collects; every generated codec of one has its ``record_kind()``."""

    block_length: int
    template_id: int
    schema_id: int
    version: int
    reads_newer: bool


class Claim(Protocol):
    """Room in the log for one message, to be filled through the view that entering gives.

    Leaving the block commits it; an exception abandons it. The order of messages is the order of claims, and those
    behind an open one wait. The view ends with the block: an array that outlives it costs the message.
    """

    def __enter__(self) -> memoryview: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def position(self) -> int:
        """The stream position behind this message."""
        ...


class Publication(Protocol):
    """One sender on one stream."""

    def offer(self, message: Buffer) -> int:
        """Hand over one message; retried within the bound. The position, or an ``Outcome``."""
        ...

    def try_offer(self, message: Buffer) -> int:
        """As ``offer``, one attempt."""
        ...

    def offer_batch(self, messages: Buffer, message_bytes: int) -> BatchResult:
        """Hand over messages of ``message_bytes`` that lie back to back in ``messages``, in one call."""
        ...

    def claim(self, length: int) -> Claim | Outcome:
        """Room for one message of at most ``max_claim_bytes``; retried within the bound. ``TransportClosed`` after
        ``close``. It counts as sent when it is given, even if it is abandoned later."""
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
        """Where the stream stands behind the last message; ``Outcome.CLOSED`` after ``close``."""
        ...

    @property
    def max_claim_bytes(self) -> int: ...
    @property
    def max_message_bytes(self) -> int: ...

    def counters(self) -> dict[str, int]:
        """``sent``, ``back_pressured``, ``admin_actions``, ``not_connected``, ``gave_up``: attempts by answer."""
        ...

    def close(self) -> None:
        """Idempotent. An error while a claim is open."""
        ...


class Subscription(Protocol):
    """One receiver of one stream, of all its publications."""

    def poll(self, limit: int = 64, timeout_ns: int = 0) -> list[Received]:
        """Whole messages, at most ``limit``; waits up to ``timeout_ns`` for the first."""
        ...

    def poll_records(
        self, kind: RecordKind, out: npt.NDArray[np.void], limit: int | None = None, timeout_ns: int = 0
    ) -> int:
        """Collect the bodies of one fixed-size message into ``out``; how many. All else is skipped and counted.

        It looks at no more messages than ``out`` has room for, so 0 may also mean that only others were there.
        """
        ...

    def image_events(self) -> list[ImageEvent]:
        """What the transport noticed since the last call, oldest first."""
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
    """A client of one media driver, or one in-memory network."""

    def add_publication(
        self, channel: str, stream_id: int, *, exclusive: bool = True, bound: OfferBound | None = None
    ) -> Publication: ...

    def add_subscription(self, channel: str, stream_id: int, *, idle: str = "backoff") -> Subscription: ...

    @property
    def is_closed(self) -> bool: ...

    def errors(self) -> list[str]:
        """What the transport reported since the last call; bounded, oldest first."""
        ...

    def close(self) -> None:
        """Closes its publications and subscriptions too. Idempotent."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...
