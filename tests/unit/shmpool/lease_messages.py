# SPDX-License-Identifier: Apache-2.0
"""Messages of a lease driver as its clients hear them, for the tests of the client."""

from __future__ import annotations

from typing import Any, TypeVar

from framegate.schema.driver import (
    LeaseRevokeReason,
    ResponseCode,
    Role,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDriverShutdown,
    ShmLeaseRevoked,
    ShutdownReason,
)
from framegate.schema.wire import ClockDomain, ShmPoolAnnounce
from framegate.shmpool.client.lease import Lease
from framegate.shmpool.client.lease_actions import Action, Send

STREAM = 10_001
EPOCH = 1_000
LEASE = 77
SECOND = 1_000_000_000
START = 5_000 * SECOND
LASTS = 3 * SECOND
URI = "shm:file?path=/dev/shm/base/1/2/"
_Kind = TypeVar("_Kind")


def granted(correlation_id: int, **changes: Any) -> ShmAttachResponse:
    """An OK answer as it should be, but for the changes."""
    pool = ShmAttachResponse.PayloadPool(pool_id=1, pool_nslots=8, stride_bytes=64, region_uri=URI + "1.pool")
    fields: dict[str, Any] = {
        "code": ResponseCode.OK,
        "lease_id": LEASE,
        "lease_expiry_timestamp_ns": None,
        "stream_id": STREAM,
        "epoch": EPOCH,
        "layout_version": 1,
        "header_nslots": 8,
        "header_slot_bytes": 256,
        "payload_pools": (pool,),
        "header_region_uri": URI + "header.ring",
    }
    return ShmAttachResponse(correlation_id=correlation_id, **{**fields, **changes})


def refused(
    correlation_id: int, code: ResponseCode = ResponseCode.REJECTED, why: str = "a second producer"
) -> ShmAttachResponse:
    return ShmAttachResponse(correlation_id=correlation_id, code=code, error_message=why)


def revoked(
    role: Role = Role.PRODUCER,
    *,
    lease_id: int = LEASE,
    stream_id: int = STREAM,
    client_id: int = 0,
    reason: LeaseRevokeReason = LeaseRevokeReason.REVOKED,
) -> ShmLeaseRevoked:
    return ShmLeaseRevoked(
        timestamp_ns=0, lease_id=lease_id, stream_id=stream_id, client_id=client_id, role=role, reason=reason
    )


def shutdown(reason: ShutdownReason = ShutdownReason.NORMAL) -> ShmDriverShutdown:
    return ShmDriverShutdown(timestamp_ns=0, reason=reason)


def announced(
    epoch: int = EPOCH,
    at_ns: int = START,
    *,
    stream_id: int = STREAM,
    producer_id: int = 0,
    domain: ClockDomain = ClockDomain.MONOTONIC,
    nslots: int = 8,
    stride_bytes: int = 64,
) -> ShmPoolAnnounce:
    pool = ShmPoolAnnounce.PayloadPool(
        pool_id=1, pool_nslots=nslots, stride_bytes=stride_bytes, region_uri=URI + "1.pool"
    )
    return ShmPoolAnnounce(
        stream_id=stream_id,
        producer_id=producer_id,
        epoch=epoch,
        announce_timestamp_ns=at_ns,
        announce_clock_domain=domain,
        layout_version=1,
        header_nslots=nslots,
        header_slot_bytes=256,
        payload_pools=(pool,),
        header_region_uri=URI + "header.ring",
    )


def sent(actions: list[Action], kind: type[_Kind]) -> list[_Kind]:
    """The messages of a kind among the actions."""
    return [action.message for action in actions if isinstance(action, Send) and isinstance(action.message, kind)]


def ask(lease: Lease, now_ns: int = START) -> ShmAttachRequest:
    (request,) = sent(lease.on_tick(now_ns), ShmAttachRequest)
    return request
