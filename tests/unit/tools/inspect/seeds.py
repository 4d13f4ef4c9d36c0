# SPDX-License-Identifier: Apache-2.0
"""One of each kind of file that can be inspected, to be spoilt."""

from __future__ import annotations

import struct
from typing import Final

from framegate.shmpool.reference.superblock import Expected
from mcap.writer import CompressionType

from tests.unit.recording.dump_world import behind_lengths, parts
from tests.unit.recording.recording_world import EPOCH, LEFT, Made, descriptor, frames, slot_header
from tests.unit.recording.replay_frames import numbered

RING: Final = Expected(stream_id=LEFT, epoch=EPOCH, nslots=4).superblock(pid=1, now_ns=2).encode_body()
SEEDS: Final = [
    Made().file(frames(6)),
    Made(compression=CompressionType.ZSTD).file(frames(6)),
    Made(compression=CompressionType.LZ4).file([*frames(6), ("framegate/loss", b"{}")]),
    descriptor(5).encode(),
    slot_header(5, 64, 123).encode_body(),
    RING + slot_header(5, 64, 123).encode_body() + bytes(512),
    struct.pack("<I", 48) + descriptor(1).encode(),
    behind_lengths([message for seq in range(3) for message in parts(seq, numbered(seq))]),
]
