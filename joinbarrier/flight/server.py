# SPDX-License-Identifier: Apache-2.0
"""The Arrow Flight server over journals: rows by ticket, everything else by action.

gRPC gives every call a thread. This code holds the GIL for a moment for each batch; the batch's bytes go from the
mapped segment to the socket without it.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
from framegate.joinbarrier.flight.actions import ACTIONS, answer
from framegate.joinbarrier.flight.connections import end_all, traffic
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.served import Served
from framegate.joinbarrier.flight.serving import served_batches
from framegate.joinbarrier.flight.streams import Stream, Streams
from framegate.joinbarrier.flight.ticket import Ticket, canonical, parsed
from framegate.joinbarrier.flight.token import HEADER, Token
from framegate.joinbarrier.flight.uploads import LOOK_S, Uploads
from framegate.joinbarrier.flight.wire_errors import answering, told
from framegate.joinbarrier.tables.shape import wanted_schema
from framegate.schema.errors import FlightNotStarted, TokenMissing
from pyarrow import flight

STREAMS_MAX: Final = 64
STALL_S: Final = 60.0
_LOOKS_PER_STALL: Final = 4
_CALL: Final = "framegate"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a server listens, and what it allows."""

    listen: Endpoint
    token: Token | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    streams_max: int = STREAMS_MAX
    stall_s: float = STALL_S

    def check(self) -> None:
        """Raise TokenMissing or FlightNotStarted if no server may be started with these options."""
        if self.token is None and not self.listen.is_loopback:
            raise TokenMissing("other hosts could read without a token", listen=self.listen)
        if self.listen.is_tls != (self.certificate is not None and self.key is not None):
            what = (
                "grpc+tls needs a certificate and its key" if self.listen.is_tls else "only grpc+tls has a certificate"
            )
            raise FlightNotStarted(what, listen=self.listen)
        if self.token is not None and not self.listen.is_tls and not self.listen.is_loopback:
            _log.warning("%s: the token and all rows cross the network readable; grpc+tls hides both", self.listen)


class JournalServer(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow brings no types
    """A server, which listens once it is made. Raises TokenMissing, FlightNotStarted or JournalMissing."""

    def __init__(self, directories: Sequence[Path], options: ServerOptions) -> None:
        options.check()
        self.served = Served(directories)
        for path in self.served.paths:
            self.served.table(path)
        self.streams = Streams(streams_max=options.streams_max, stall_ns=int(options.stall_s * 1e9))
        self._uploads = Uploads()
        self._is_over = threading.Event()
        certificates = [(options.certificate, options.key)] if options.listen.is_tls else None
        try:
            super().__init__(
                options.listen.location,
                tls_certificates=certificates,
                middleware={_CALL: _Calls(options.token, self.streams)},
            )
        except (flight.FlightError, pa.ArrowException, OSError) as failure:
            why = _cannot_bind(options.listen) or str(failure).partition("\n")[0][:200]
            raise FlightNotStarted(why, listen=options.listen) from None
        self.endpoint = options.listen.at(self.port)
        period_s = min(max(options.stall_s / _LOOKS_PER_STALL, 0.01), LOOK_S)
        self._watch = threading.Thread(target=self._watching, args=(period_s,), name="framegate-flight", daemon=True)
        self._watch.start()

    @answering
    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.FlightDataStream:
        """Stream the rows of a ticket."""
        self._uploads.called(context.peer())
        wanted = Ticket.parse(ticket.ticket)
        table = self.served.table(wanted.journal, wanted.table, wanted.on_loss)
        table.check_epoch(wanted.epoch)
        call: _Call = context.get_middleware(_CALL)
        stream = call.stream = self.streams.open(context.peer())
        schema = wanted_schema(wanted.table, table.inputs, wanted.payload)
        return flight.GeneratorStream(schema, _told(served_batches(table, wanted, schema, self.streams, stream)))

    @answering
    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> list[bytes]:
        """Answer an action with one JSON text."""
        self._uploads.called(context.peer())
        found = answer(self.served, action.type, parsed(action.body.to_pybytes()))
        return [canonical(found)]

    def list_actions(self, context: flight.ServerCallContext) -> list[tuple[str, str]]:
        """List the actions, for programs that explore the server."""
        self._uploads.called(context.peer())
        return [(name, f"JSON in, JSON out: {name}") for name in ACTIONS]

    def summary(self) -> Mapping[str, int]:
        """What the server has counted."""
        return self.streams.summary()

    def close(self) -> None:
        """End the open calls, and the server. May be called again."""
        if self._is_over.is_set():
            return
        self._is_over.set()
        self._watch.join()
        self.streams.end_all()
        self.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _watching(self, period_s: float) -> None:
        while not self._is_over.wait(period_s):
            self.streams.end_stalled()
            self._end_uploads()

    def _end_uploads(self) -> None:
        wanted = self._uploads.too_much(traffic(self.port))
        if wanted:
            self.streams.count("uploads_ended", end_all(wanted))
            for host, port in wanted:
                _log.warning("%s:%d sends what no request is: its connection was ended", host, port)


def _cannot_bind(listen: Endpoint) -> str | None:
    """Why the system cannot listen at the address; None if it can. gRPC says only that it did not start."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((listen.host, listen.port))
    except OSError as refused:
        return f"it cannot listen there: {refused.strerror or refused}"
    return None


class _Calls(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Checks the token before every call."""

    def __init__(self, token: Token | None, streams: Streams) -> None:
        super().__init__()
        self._token, self._streams = token, streams

    def start_call(self, _info: flight.CallInfo, headers: Mapping[str, list[str]]) -> _Call:
        """Begin a call. Raises TokenRefused in the form of Flight."""
        self._streams.count("calls")
        if self._token is not None:
            given = [value for name, values in headers.items() if name.lower() == HEADER for value in values]
            try:
                self._token.check(given)
            except Exception as refused:
                self._streams.count("refused")
                raise told(refused) from None
        return _Call(self._streams)


class _Call(flight.ServerMiddleware):  # type: ignore[misc]
    """One call, from its beginning to its end, however it ends."""

    def __init__(self, streams: Streams) -> None:
        super().__init__()
        self._streams = streams
        self.stream: Stream | None = None

    def call_completed(self, exception: Exception | None) -> None:
        """Close the call's stream, even one that was never asked for its first batch."""
        if exception is not None:
            self._streams.count("errors")
        if self.stream is not None:
            self._streams.close(self.stream)


def _told(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches; a failure in the middle of the stream reaches the client with its number, too."""
    try:
        yield from batches
    except Exception as failure:
        raise told(failure) from None
