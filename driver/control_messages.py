# SPDX-License-Identifier: Apache-2.0
"""The control stream as the driver reads it: which messages are for it, and the answer to a request that is invalid.

Peers may send anything, so nothing here raises for what they sent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from framegate.driver.attach_rules import Refusal
from framegate.driver.lease_messages import error_text, refused
from framegate.schema import Message
from framegate.schema.codec import HEADER, HEADER_LENGTH
from framegate.schema.control import StreamDeclaration
from framegate.schema.driver import (
    ResponseCode,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachRequest,
    ShmDetachResponse,
    ShmDriverShutdownRequest,
    ShmLeaseKeepalive,
)
from framegate.schema.errors import InvalidValue, MessageError, UnsupportedVersion
from framegate.schema.wire import ConsumerHello

_FOR_THE_DRIVER: Final[dict[tuple[int, int], type[Message]]] = {
    (kind.SCHEMA_ID, kind.TEMPLATE_ID): kind
    for kind in (
        ShmAttachRequest,
        ShmDetachRequest,
        ShmLeaseKeepalive,
        ShmDriverShutdownRequest,
        ConsumerHello,
        StreamDeclaration,
    )
}
_CORRELATION_ID: Final = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Heard:
    """One decoded message; or what is wrong with it, and the answer if one is due."""

    message: Message | None = None
    answer: ShmAttachResponse | ShmDetachResponse | None = None
    cause: str = ""
    """The name of the counter for a message that is not for the driver, or is invalid; empty for others."""


def hear(data: bytes) -> Heard:
    """Decode one message of the control stream."""
    if len(data) < HEADER_LENGTH:
        return Heard(cause="malformed")
    block, template, schema, _ = HEADER.unpack_from(data)
    kind = _FOR_THE_DRIVER.get((schema, template))
    if kind is None:
        # The stream is shared: our own answers, progress, merge maps and signals arrive here too.
        return Heard(cause="other_messages")
    try:
        return Heard(message=kind.decode(data))
    except MessageError as error:
        cause = "unsupported_version" if isinstance(error, UnsupportedVersion) else "malformed"
        return Heard(answer=_answer(kind, data, block, error), cause=cause)


def _answer(
    kind: type[Message], data: bytes, block: int, error: MessageError
) -> ShmAttachResponse | ShmDetachResponse | None:
    """A refusal, if the correlation id can be read at offset 0 of the block (PROTOCOL 14.49)."""
    if block < _CORRELATION_ID.size or len(data) < HEADER_LENGTH + _CORRELATION_ID.size:
        return None
    correlation_id: int = _CORRELATION_ID.unpack_from(data, HEADER_LENGTH)[0]
    code, text = _code(error), f"{error.name}: {error.message}"
    if kind is ShmAttachRequest:
        return refused(correlation_id, Refusal(code, "unreadable", text))
    if kind is ShmDetachRequest:
        return ShmDetachResponse(correlation_id=correlation_id, code=code, error_message=error_text(text))
    return None


def _code(error: MessageError) -> ResponseCode:
    is_mode = isinstance(error, InvalidValue) and error.facts.get("field") == "publish_mode"
    is_unsupported = is_mode or isinstance(error, UnsupportedVersion)
    return ResponseCode.UNSUPPORTED if is_unsupported else ResponseCode.INVALID_PARAMS
