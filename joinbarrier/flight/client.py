# SPDX-License-Identifier: Apache-2.0
"""The client of one journal server: it asks questions, and reads streams that continue where they broke off.

A server that is away is asked again until it has been away for ``timeout_s``: its agent restarts it when it dies, and
rows that have arrived need not be sent again. Every other failure is raised at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

import pyarrow as pa
from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.certificates import why_unreachable
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.local_token import own_token
from framegate.joinbarrier.flight.receiving import Received, received
from framegate.joinbarrier.flight.ticket import Ticket, canonical, parsed
from framegate.joinbarrier.flight.wire_errors import FAILURES, from_flight
from framegate.schema.errors import EndpointUnreachable, FlightFailed, FramegateError, TicketRefused, TooManyStreams
from framegate.shmpool.clock import Clock, monotonic_ns
from framegate.shmpool.idle import sleep_ns
from pyarrow import flight

AGAIN_NS: Final = 50_000_000
AGAIN_NS_MAX: Final = 1_000_000_000
_LAST_PART: Final = 10
_ANSWER_BYTES_MAX: Final = 16 << 20
_ARROW: Final = [
    # Ask servers directly: a web proxy, which gRPC takes from the environment, does not know them.
    ("grpc.enable_http_proxy", 0),
    # Ask again soon after the server is back, instead of after gRPC's pauses of up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    # Use a separate connection: a server ends the whole connection of a stream that nobody reads.
    ("grpc.use_local_subchannel_pool", 1),
]
_OF_ROWS: Final = {"table": "rows", "on_loss": "error"}
_log = logging.getLogger(__name__)


class JournalClient:
    """A connection to one server, for one query or one task.

    Raises FileMissing, TokenMissing, EndpointUnreachable, CertificateRefused, TokenRefused, TooManyStreams,
    FlightFailed, and what journals raise at the server.
    """

    def __init__(self, endpoint: Endpoint, access: Access, clock: Clock = monotonic_ns) -> None:
        self.endpoint, self._access, self._clock = endpoint, access, clock
        token = access.token() or (own_token() if endpoint.is_loopback else None)
        self._headers = [] if token is None else [token.header()]
        self._authorities = access.authorities() if endpoint.is_tls else None
        more = {"override_hostname": access.tls_name} if access.tls_name is not None else {}
        self._arrow = flight.FlightClient(
            endpoint.location, tls_root_certs=self._authorities, generic_options=_ARROW, **more
        )

    def ask(self, action: str, **asked: Any) -> Mapping[str, Any]:
        """The answer to an action."""
        body, away = canonical(asked), _Away(self._access.timeout_s, self._clock)
        while True:
            try:
                return self._asked(action, body, away.left_s)
            except EndpointUnreachable as failure:
                away.again(failure, self.endpoint)

    def batches(self, ticket: Ticket, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a ticket, each once and in order. If some are missing, it raises."""
        for each in self.pieces(ticket, schema):
            yield each.batch

    def pieces(self, ticket: Ticket, schema: pa.Schema) -> Iterator[Received]:
        """The rows of a ticket, in batches that say which rows they cover."""
        away = _Away(self._access.timeout_s, self._clock)
        while True:
            try:
                for each in self._streamed(ticket, schema, away.left_s):
                    ticket = ticket.after(each.end_row)
                    yield each
                    away.is_back()  # The caller may have been slow, which is no fault of the server.
                return
            except (EndpointUnreachable, TooManyStreams) as failure:
                if ticket.first_row == ticket.end_row:
                    return  # All rows are here; only the end was lost.
                away.again(failure, self.endpoint)

    def close(self) -> None:
        """Close the connection."""
        self._arrow.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _asked(self, action: str, body: bytes, timeout_s: float) -> Mapping[str, Any]:
        options = flight.FlightCallOptions(timeout=timeout_s, headers=self._headers)
        try:
            found = [each.body.to_pybytes() for each in self._arrow.do_action(flight.Action(action, body), options)]
        except FAILURES as failure:
            raise self._meant(failure) from None
        try:
            (text,) = found
            return parsed(text, _ANSWER_BYTES_MAX)
        except (ValueError, TicketRefused):
            raise FlightFailed("not an answer", action=action, endpoint=self.endpoint) from None

    def _streamed(self, ticket: Ticket, schema: pa.Schema, timeout_s: float) -> Iterator[Received]:
        options = flight.FlightCallOptions(headers=self._headers)
        # A stream has no timeout of its own, because it may last. So ask first whether the server answers.
        self._asked("head", canonical({"journal": ticket.journal, "epoch": ticket.epoch, **_OF_ROWS}), timeout_s)
        try:
            reader = self._arrow.do_get(flight.Ticket(ticket.to_bytes()), options)
            yield from received(reader, ticket, schema, self._access.timeout_s, self.endpoint)
        except FAILURES as failure:
            raise self._meant(failure) from None

    def _meant(self, failure: Exception) -> FramegateError:
        error = from_flight(failure, self.endpoint)
        if isinstance(error, EndpointUnreachable) and self.endpoint.is_tls:
            return why_unreachable(self.endpoint, self._authorities, self._access, error)
        return error


class _Away:
    """How long a server has been away, and when to ask it again."""

    def __init__(self, timeout_s: float, clock: Clock) -> None:
        self._timeout_ns, self._clock = int(timeout_s * 1e9), clock
        self.is_back()

    def is_back(self) -> None:
        self._deadline_ns = self._clock() + self._timeout_ns
        self._pause_ns = AGAIN_NS

    @property
    def left_s(self) -> float:
        """How long the server may be silent at the next question, so that all of them together take no longer than one
        timeout. Even the final question, after a pause, gets a moment in which a server that is back can answer.
        """
        left_ns = self._deadline_ns - self._clock()
        return max(left_ns, self._timeout_ns // _LAST_PART) / 1e9

    def again(self, failure: FramegateError, endpoint: Endpoint) -> None:
        """Wait a little, or raise the failure if it has lasted too long."""
        left_ns = self._deadline_ns - self._clock()
        if left_ns <= 0:
            raise failure
        _log.info("%s is asked again: %s", endpoint, failure.message)
        sleep_ns(min(self._pause_ns, left_ns))
        self._pause_ns = min(2 * self._pause_ns, AGAIN_NS_MAX)
