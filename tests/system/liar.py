# SPDX-License-Identifier: Apache-2.0
"""A stranger that announces frames which nobody published."""

from __future__ import annotations

import os
from pathlib import Path

from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.streams import Streams

from tests.system.pool import Pool


class Liar:
    """Sends descriptors of frames that nobody published, on the stream that everybody hears."""

    def __init__(self, pool: Pool) -> None:
        self._transport = AeronTransport(pool.aeron_dir)
        streams = Streams()
        self._publication = self._transport.add_publication(streams.channel, streams.descriptor, exclusive=True)

    def say(self, stream: int, epoch: int, seq: int) -> None:
        message = FrameDescriptor(stream_id=stream, epoch=epoch, seq=seq).encode()
        while self._publication.offer(message) <= 0:
            pass

    def close(self) -> None:
        self._transport.close()


def newest_epoch(pool: Pool, stream: int) -> int:
    """Of a stream, by its regions."""
    # Unlike rglob, walk bears that folders go meanwhile.
    rings = [
        Path(folder) / name for folder, _, names in os.walk(pool.base_dir) for name in names if name == "header.ring"
    ]
    return max(int(ring.parent.name) for ring in rings if ring.parts[-3] == str(stream))
