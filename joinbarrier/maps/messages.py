# SPDX-License-Identifier: Apache-2.0
"""The MergeMap messages of the control stream: announces and requests, decoded and checked."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema.codec import HEADER, HEADER_LENGTH
from framegate.schema.errors import MapRefused
from framegate.schema.merge import (
    SCHEMA_ID,
    SCHEMA_VERSION,
    SequenceMergeMapAnnounce,
    SequenceMergeMapRequest,
    TimestampMergeMapAnnounce,
    TimestampMergeMapRequest,
)

Pair: TypeAlias = tuple[int, int]
"""Output stream and epoch, which identify a map (PROTOCOL 11.3)."""
MapKind: TypeAlias = Literal["sequence", "timestamp"]
Request: TypeAlias = SequenceMergeMapRequest | TimestampMergeMapRequest
_BY_TIMESTAMP: Final = {TimestampMergeMapAnnounce.TEMPLATE_ID, TimestampMergeMapRequest.TEMPLATE_ID}
_ANNOUNCES: Final = {SequenceMergeMapAnnounce.TEMPLATE_ID, TimestampMergeMapAnnounce.TEMPLATE_ID}
_REQUESTS: Final[dict[int, type[Request]]] = {
    kind.TEMPLATE_ID: kind for kind in (SequenceMergeMapRequest, TimestampMergeMapRequest)
}
# outStreamId u32 | epoch u64, at the beginning of a request, which may be longer
_PAIR: Final = struct.Struct("<IQ")


@dataclass(frozen=True, slots=True)
class Announced:
    """An announce: either its map, or why that map is refused."""

    pair: Pair
    is_by_timestamp: bool
    map: MergeMap | None = None
    refusal: MapRefused | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """A request for the map of a pair."""

    pair: Pair
    is_by_timestamp: bool


def hear(data: bytes) -> Announced | Requested | None:
    """Decode a message; None if it is not about MergeMaps. Raises a MessageError for one that cannot be decoded."""
    if len(data) < HEADER_LENGTH:
        return None
    block, template, schema, version = HEADER.unpack_from(data)
    # The schema is checked first: several schemas share the stream, and their templates have the same numbers.
    if schema != SCHEMA_ID:
        return None
    is_by_timestamp = template in _BY_TIMESTAMP
    if template in _ANNOUNCES:
        return _announced(data, is_by_timestamp)
    if template in _REQUESTS:
        return Requested(_requested_pair(_REQUESTS[template], data, block, version), is_by_timestamp)
    return None


def kind_of(*, is_by_timestamp: bool) -> MapKind:
    """The word for a kind of map."""
    return "timestamp" if is_by_timestamp else "sequence"


def request_for(pair: Pair, *, is_by_timestamp: bool) -> Request:
    """The request for the map of a pair."""
    kind = TimestampMergeMapRequest if is_by_timestamp else SequenceMergeMapRequest
    return kind(out_stream_id=pair[0], epoch=pair[1])


def _announced(data: bytes, is_by_timestamp: bool) -> Announced | None:
    try:
        found = MergeMap.decode(data)
    except MapRefused as refusal:
        out_stream, epoch = refusal.facts["out_stream"], refusal.facts["epoch"]
        assert isinstance(out_stream, int)  # noqa: S101 - a refused map says whose it was
        assert isinstance(epoch, int)  # noqa: S101
        return Announced((out_stream, epoch), is_by_timestamp, refusal=refusal)
    return None if found is None else Announced((found.out_stream, found.epoch), is_by_timestamp, map=found)


def _requested_pair(kind: type[Request], data: bytes, block: int, version: int) -> Pair:
    """The pair in a request, which may carry more: a longer block, or bytes after it (PROTOCOL 14.65)."""
    if version == SCHEMA_VERSION and block > kind.BLOCK_LENGTH and len(data) >= HEADER_LENGTH + block:
        out_stream, epoch = _PAIR.unpack_from(data, HEADER_LENGTH)
        return out_stream, epoch
    request = kind.decode(data)
    return request.out_stream_id, request.epoch
