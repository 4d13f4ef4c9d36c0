# SPDX-License-Identifier: Apache-2.0
"""Checks a driver's answer to an attach request (PROTOCOL 10.5)."""

from __future__ import annotations

from framegate.schema.driver import ShmAttachResponse
from framegate.schema.errors import UriRefused
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION, SLOT_BYTES
from framegate.shmpool.layout.uri import RegionUri


def flaw_of(response: ShmAttachResponse, stream_id: int) -> str | None:
    """Why an OK answer must not be used; None if it is valid."""
    required = ("lease_id", "stream_id", "epoch", "layout_version", "header_nslots", "header_slot_bytes")
    for name in required:
        if getattr(response, name) is None:
            return f"{name} is missing"
    if stream_id not in (0, response.stream_id):
        return f"it is for stream {response.stream_id}, not {stream_id}"
    if response.layout_version != LAYOUT_VERSION:
        return f"layout_version is {response.layout_version}, not {LAYOUT_VERSION}"
    if response.header_slot_bytes != SLOT_BYTES:
        return f"header_slot_bytes is {response.header_slot_bytes}, not {SLOT_BYTES}"
    if not response.payload_pools:
        return "it names no payload pool"
    for pool in response.payload_pools:
        if pool.pool_nslots != response.header_nslots:
            return f"pool {pool.pool_id} has {pool.pool_nslots} slots, the ring {response.header_nslots}"
    return _uri_flaw([response.header_region_uri, *(pool.region_uri for pool in response.payload_pools)])


def _uri_flaw(uris: list[str]) -> str | None:
    for uri in uris:
        try:
            RegionUri.parse(uri)
        except UriRefused as refusal:
            return f"{refusal.message}: {uri!r}"
    return None
