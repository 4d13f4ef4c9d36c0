# SPDX-License-Identifier: Apache-2.0
"""Maps the regions of an announce or of an attach answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from framegate.schema.errors import RegionMismatch
from framegate.schema.wire import ShmPoolAnnounce
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION, SLOT_BYTES
from framegate.shmpool.layout.uri import RegionUri

from framegate._native import PoolRegions

_PREFAULTED_MAX_BYTES: Final = 1 << 30
"""Larger regions are faulted in by the first frames: prefaulting takes long, and the lease must be kept meanwhile."""


class _Pool(Protocol):
    @property
    def pool_id(self) -> int: ...
    @property
    def pool_nslots(self) -> int: ...
    @property
    def stride_bytes(self) -> int: ...
    @property
    def region_uri(self) -> str: ...


def canonical(base_dirs: Sequence[str]) -> list[str]:
    """The allowed base directories with links resolved at the start. One that does not exist yet stays as given."""
    return [os.path.realpath(Path(base).absolute()) for base in base_dirs]


def open_regions(
    *,
    stream_id: int,
    epoch: int,
    nslots: int,
    header_uri: str,
    pools: Sequence[_Pool],
    allowed: Sequence[str],
    writable: bool,
) -> PoolRegions:
    """Map a stream's regions. Raises the reason if they must not be used."""
    ring = RegionUri.parse(header_uri)
    places = [(pool, RegionUri.parse(pool.region_uri)) for pool in pools]
    for pool, _ in places:
        if pool.pool_nslots != nslots:
            raise RegionMismatch(
                "a pool has another number of slots than its ring",
                stream=stream_id,
                pool=pool.pool_id,
                want_slots=nslots,
                have_slots=pool.pool_nslots,
            )
    return PoolRegions.open(
        ring.path,
        stream_id=stream_id,
        epoch=epoch,
        nslots=nslots,
        pools=[(pool.pool_id, pool.stride_bytes, uri.path) for pool, uri in places],
        allowed=allowed,
        writable=writable,
        require_hugepages=ring.require_hugepages or any(uri.require_hugepages for _, uri in places),
        prefault=writable and _bytes(nslots, pools) <= _PREFAULTED_MAX_BYTES,
    )


def _bytes(nslots: int, pools: Sequence[_Pool]) -> int:
    return nslots * (SLOT_BYTES + sum(pool.stride_bytes for pool in pools))


def open_announced(announce: ShmPoolAnnounce, allowed: Sequence[str]) -> PoolRegions:
    """Map the regions of an announce, for reading."""
    wanted = (LAYOUT_VERSION, SLOT_BYTES)
    if (announce.layout_version, announce.header_slot_bytes) != wanted:
        raise RegionMismatch(
            "the announced layout is not one that this program reads",
            stream=announce.stream_id,
            want_layout=LAYOUT_VERSION,
            have_layout=announce.layout_version,
            want_slot_bytes=SLOT_BYTES,
            have_slot_bytes=announce.header_slot_bytes,
        )
    return open_regions(
        stream_id=announce.stream_id,
        epoch=announce.epoch,
        nslots=announce.header_nslots,
        header_uri=announce.header_region_uri,
        pools=announce.payload_pools,
        allowed=allowed,
        writable=False,
    )
