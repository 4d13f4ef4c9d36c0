# SPDX-License-Identifier: Apache-2.0
"""Carries numbered errors across the wire: as JSON beside gRPC's own status, and as the same class at the other end."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar, cast

import pyarrow as pa
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.schema.errors import (
    EndpointUnreachable,
    FlightFailed,
    FramegateError,
    Internal,
    JournalNotServed,
    TokenRefused,
    TooManyStreams,
    numbered,
)
from pyarrow import flight

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_TEXT_MAX: Final = 300
_FACTS_MAX: Final = 12
"""Most facts of an error: gRPC carries at most 8 KiB beside a status."""
_STATUS: Final[dict[type[FramegateError], type[flight.FlightError]]] = {
    TokenRefused: flight.FlightUnauthenticatedError,
    JournalNotServed: flight.FlightUnauthorizedError,
    TooManyStreams: flight.FlightUnavailableError,
}
"""The gRPC status of an error, for programs that do not know our numbers."""
_log = logging.getLogger(__name__)


def to_flight(error: FramegateError) -> Exception:
    """Convert an error to the form in which a server raises it."""
    facts = dict(list(error.facts.items())[:_FACTS_MAX])
    as_json = {
        "code": error.code,
        "message": error.message[:_TEXT_MAX],
        "hint": error.hint[:_TEXT_MAX],
        "facts": {name: fact if type(fact) is int else str(fact)[:_TEXT_MAX] for name, fact in facts.items()},
    }
    first_line = str(error).splitlines()[0][:_TEXT_MAX]
    kind = _STATUS.get(type(error), flight.FlightServerError)
    return cast(Exception, kind(first_line, json.dumps(as_json).encode()))


def from_flight(failure: Exception, endpoint: Endpoint) -> FramegateError:
    """Convert a failure to an error for the client: the server's own, with its endpoint among the facts, or what it
    means.
    """
    told = _told(getattr(failure, "extra_info", b""))
    if told is not None:
        told.facts.setdefault("endpoint", str(endpoint))
        return told
    text = str(failure).partition(". gRPC client debug context")[0].partition("\n")[0][:_TEXT_MAX]
    match failure:
        case flight.FlightUnavailableError() | flight.FlightTimedOutError() | flight.FlightCancelledError():
            return EndpointUnreachable(text, endpoint=endpoint)
        case flight.FlightUnauthenticatedError():
            return TokenRefused(text, endpoint=endpoint)
    return FlightFailed(f"{type(failure).__name__}: {text}", endpoint=endpoint)


def answering(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Wrap a method of a server: whatever it raises reaches the client with a number, and without a traceback."""

    @functools.wraps(method)
    def calling(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return method(*args, **kwargs)
        except Exception as failure:  # Only this client fails; the server goes on.
            raise told(failure) from None

    return calling


def told(failure: Exception) -> Exception:
    """Convert a failure at the server to what the client is told."""
    if isinstance(failure, FramegateError) and failure.code:
        return to_flight(failure)
    if isinstance(failure, flight.FlightError | StopIteration):
        return failure
    _log.error("a request failed", exc_info=failure)
    return to_flight(Internal(f"the server failed: {type(failure).__name__}"))


def _told(extra: Any) -> FramegateError | None:
    """The error that a server has sent; None if it is none. Only texts and numbers are taken from it."""
    try:
        found = json.loads(bytes(extra))
        code, message, hint, facts = (found[name] for name in ("code", "message", "hint", "facts"))
        kind = _KINDS[code]
        if not isinstance(message, str) or not isinstance(hint, str) or not isinstance(facts, dict):
            return None
        known = {str(name): fact for name, fact in facts.items() if type(fact) in (int, str)}
        return kind(message[:_TEXT_MAX], hint=hint[:_TEXT_MAX], **known)
    except (ValueError, KeyError, TypeError):
        return None


_KINDS: Final = {kind.code: kind for kind in numbered()}
FAILURES: Final = (flight.FlightError, pa.ArrowException, OSError)
"""What a call of Arrow's client may raise."""
