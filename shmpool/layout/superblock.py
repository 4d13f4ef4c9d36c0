# SPDX-License-Identifier: Apache-2.0
"""The superblock: the first 64 bytes of a region, what it is and when its owner refreshed it (PROTOCOL 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

from framegate.schema.wire import RegionType, ShmRegionSuperblock
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION, MAGIC, SLOT_BYTES, SUPERBLOCK_BYTES

SLOT_BYTES_NOT_GIVEN: Final = 2**32 - 1
_COMPARED: Final = Struct("<Q I Q I h H I I I")


@dataclass(frozen=True, slots=True)
class Expected:
    """What an announce says of a region. Pool 0 is the header ring, which has no stride."""

    stream_id: int
    epoch: int
    nslots: int
    pool_id: int = 0
    stride_bytes: int = 0

    @property
    def is_ring(self) -> bool:
        return self.pool_id == 0

    @property
    def slot_bytes(self) -> int:
        return SLOT_BYTES if self.is_ring else self.stride_bytes

    @property
    def file_bytes(self) -> int:
        """How many bytes the region's file must have."""
        return SUPERBLOCK_BYTES + self.nslots * self.slot_bytes

    def superblock(self, pid: int, now_ns: int) -> ShmRegionSuperblock:
        """The superblock of such a region, made now by this process."""
        return ShmRegionSuperblock(
            magic=MAGIC,
            layout_version=LAYOUT_VERSION,
            epoch=self.epoch,
            stream_id=self.stream_id,
            region_type=RegionType.HEADER_RING if self.is_ring else RegionType.PAYLOAD_POOL,
            pool_id=self.pool_id,
            nslots=self.nslots,
            slot_bytes=self.slot_bytes,
            stride_bytes=self.stride_bytes,
            pid=pid,
            start_timestamp_ns=now_ns,
            activity_timestamp_ns=now_ns,
        )


def fault(region: memoryview, expected: Expected) -> str | None:
    """The first field that contradicts the announce, by its name in the protocol; None if all of them agree."""
    magic, layout, epoch, stream_id, kind, pool_id, nslots, slot_bytes, stride_bytes = _COMPARED.unpack_from(region)
    wanted = expected.superblock(pid=0, now_ns=0)
    # Both ways of writing a pool's slotBytes are in use, and the stride of a ring has no meaning.
    accepted = {wanted.slot_bytes} if expected.is_ring else {wanted.slot_bytes, SLOT_BYTES_NOT_GIVEN}
    sound = {
        "magic": magic == wanted.magic,
        "layoutVersion": layout == wanted.layout_version,
        "epoch": epoch == wanted.epoch,
        "streamId": stream_id == wanted.stream_id,
        "regionType": kind == wanted.region_type,
        "poolId": pool_id == wanted.pool_id,
        "nslots": nslots == wanted.nslots,
        "slotBytes": slot_bytes in accepted,
        "strideBytes": expected.is_ring or stride_bytes == wanted.stride_bytes,
    }
    return next((field for field, is_sound in sound.items() if not is_sound), None)
