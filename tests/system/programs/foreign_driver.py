# SPDX-License-Identifier: Apache-2.0
"""A lease driver of the family that leaves the activity timestamp to producers: it grants and announces, and no more.

Leases have no expiry and never end. A producer that comes behind another gets another epoch.
"""

from __future__ import annotations

import sys
from pathlib import Path

from framegate.schema import decode_any
from framegate.schema.driver import ResponseCode, Role, ShmAttachRequest, ShmAttachResponse
from framegate.schema.errors import MessageError
from framegate.schema.wire import ClockDomain, ShmPoolAnnounce
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.aeron import AeronTransport

from framegate._native import PoolRegions

CHANNEL = "aeron:ipc?term-length=4m"
SLOTS, STRIDE = 64, 4096
ANNOUNCE_NS = 1_000_000_000


class Stream:
    """The one epoch of a stream. Its activity is that of its making, for ever."""

    def __init__(self, base: Path, stream_id: int) -> None:
        self.stream_id, self.producer_id, self.epoch = stream_id, 0, monotonic_ns()
        folder = base / str(stream_id) / str(self.epoch)
        folder.mkdir(parents=True, mode=0o700)
        self.regions = PoolRegions.create(
            str(folder),
            stream_id=stream_id,
            epoch=self.epoch,
            nslots=SLOTS,
            pools=[(1, STRIDE)],
            mode=0o600,
            prefault=True,
            require_hugepages=False,
            lock=False,
            now_ns=self.epoch,
        )
        self.ring, self.pool = (f"shm:file?path={folder}/{name}" for name in ("header.ring", "1.pool"))

    def grant(self, request: ShmAttachRequest, lease_id: int) -> ShmAttachResponse:
        if request.role is Role.PRODUCER:
            self.producer_id = request.client_id
        return ShmAttachResponse(
            correlation_id=request.correlation_id,
            code=ResponseCode.OK,
            lease_id=lease_id,
            stream_id=self.stream_id,
            epoch=self.epoch,
            layout_version=1,
            header_nslots=SLOTS,
            header_slot_bytes=256,
            payload_pools=(
                ShmAttachResponse.PayloadPool(pool_id=1, pool_nslots=SLOTS, stride_bytes=STRIDE, region_uri=self.pool),
            ),
            header_region_uri=self.ring,
        )

    def announce(self) -> ShmPoolAnnounce:
        return ShmPoolAnnounce(
            stream_id=self.stream_id,
            producer_id=self.producer_id,
            epoch=self.epoch,
            announce_timestamp_ns=monotonic_ns(),
            announce_clock_domain=ClockDomain.MONOTONIC,
            layout_version=1,
            header_nslots=SLOTS,
            header_slot_bytes=256,
            payload_pools=(
                ShmPoolAnnounce.PayloadPool(pool_id=1, pool_nslots=SLOTS, stride_bytes=STRIDE, region_uri=self.pool),
            ),
            header_region_uri=self.ring,
        )


def main(aeron_dir: str, base_dir: str) -> None:
    transport = AeronTransport(aeron_dir)
    hears = transport.add_subscription(CHANNEL, 1000)
    speaks, announces = (transport.add_publication(CHANNEL, stream) for stream in (1000, 1001))
    streams: dict[int, Stream] = {}
    leases, announce_at_ns = 1, monotonic_ns()
    print('{"event": "ready"}', flush=True)
    while True:
        for data in hears.poll(64, 5_000_000):
            try:
                request = decode_any(data.data)
            except MessageError:
                continue
            if isinstance(request, ShmAttachRequest):
                found = streams.get(request.stream_id)
                if found is None or (request.role is Role.PRODUCER and found.producer_id):
                    streams[request.stream_id] = Stream(Path(base_dir), request.stream_id)
                leases += 1
                speaks.offer(streams[request.stream_id].grant(request, leases).encode())
        if monotonic_ns() >= announce_at_ns:
            announce_at_ns = monotonic_ns() + ANNOUNCE_NS
            for stream in streams.values():
                announces.offer(stream.announce().encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
