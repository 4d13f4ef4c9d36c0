# SPDX-License-Identifier: Apache-2.0
"""The messages of schema 901 that a driver sends about its leases and refusals (PROTOCOL 10.5, 10.6)."""

from __future__ import annotations

from typing import Final

from framegate.driver.attach_rules import Refusal
from framegate.driver.lease_actions import Respond
from framegate.driver.streams import Lease, Stream
from framegate.schema.driver import (
    LeaseRevokeReason,
    ResponseCode,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachResponse,
    ShmLeaseRevoked,
)
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION, SLOT_BYTES

ERROR_TEXT_MAX: Final = 1024


def granted(request: ShmAttachRequest, lease: Lease, stream: Stream) -> ShmAttachResponse:
    regions = stream.regions
    assert regions is not None  # noqa: S101  (for the type checker; callers have looked)
    pools = tuple(
        ShmAttachResponse.PayloadPool(
            pool_id=pool.pool_id,
            pool_nslots=regions.header_nslots,
            stride_bytes=pool.stride_bytes,
            region_uri=pool.uri,
        )
        for pool in regions.pools
    )
    return ShmAttachResponse(
        correlation_id=request.correlation_id,
        code=ResponseCode.OK,
        lease_id=lease.lease_id,
        lease_expiry_timestamp_ns=lease.expires_ns,
        stream_id=stream.stream_id,
        epoch=regions.epoch,
        layout_version=LAYOUT_VERSION,
        header_nslots=regions.header_nslots,
        header_slot_bytes=SLOT_BYTES,
        node_id=lease.node_id,
        payload_pools=pools,
        header_region_uri=regions.header_uri,
    )


def detached(correlation_id: int, code: ResponseCode, text: str) -> Respond:
    return Respond(ShmDetachResponse(correlation_id=correlation_id, code=code, error_message=error_text(text)))


def revoked(lease: Lease, reason: LeaseRevokeReason, text: str, now_ns: int) -> ShmLeaseRevoked:
    return ShmLeaseRevoked(
        timestamp_ns=now_ns,
        lease_id=lease.lease_id,
        stream_id=lease.stream_id,
        client_id=lease.client_id,
        role=lease.role,
        reason=reason,
        error_message=error_text(text),
    )


def error_text(text: str) -> str:
    """The text for an error message: ASCII, at most 1024 bytes.

    >>> error_text("caf\\u00e9"), len(error_text("x" * 5000))
    ('caf?', 1024)
    """
    return text.encode("ascii", "replace").decode("ascii")[:ERROR_TEXT_MAX]


def refused(correlation_id: int, refusal: Refusal) -> ShmAttachResponse:
    """The answer to a refused request: every optional field is null, groups and URIs are empty."""
    return ShmAttachResponse(correlation_id=correlation_id, code=refusal.code, error_message=error_text(refusal.text))
