# SPDX-License-Identifier: Apache-2.0
"""One of each kind of file that can be inspected, to be spoilt."""

from __future__ import annotations

import json
import struct
from typing import Final

import numpy as np
from framegate.schema.control import CheckpointBarrier
from framegate.shmpool.layout.superblock import Expected
from mcap.writer import CompressionType

from tests.unit.recording.dump_world import behind_lengths, parts
from tests.unit.recording.foreign_world import as_json, cdr, foreign_file, protobuf
from tests.unit.recording.recording_world import EPOCH, LEFT, RIGHT, Made, descriptor, frames, slot_header
from tests.unit.recording.replay_frames import frame, numbered

COLOURS: Final = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
BARRIER: Final = CheckpointBarrier(checkpoint_id=3, epoch=1, flags=0, stream_id=LEFT, source_epoch=EPOCH, after_seq=0)
LOSS: Final = {
    "stream": LEFT,
    "epoch": EPOCH,
    "first": 2,
    "last": 3,
    "count": 2,
    "part": "payload",
    "cause": "overwritten",
}
LOSSES: Final = {LEFT: {"epochs": [{"epoch": EPOCH, "lost_frames": {"queue_full": 2}, "lost_payloads": {}}]}}
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
    # What is spoilt in these is not caught by a check sum.
    Made(is_checked=False, is_one_time_a_frame=True, streams=LOSSES).file(
        [*frame(1, numbered(1)), *frame(2, numbered(2), stream=RIGHT), ("framegate/loss", json.dumps(LOSS).encode())]
    ),
    Made(is_chunked=False, is_checked=False, is_one_time_a_frame=True).file(
        [*frame(1, numbered(1)), (f"stream/{LEFT}/CheckpointBarrier", BARRIER)]
    ),
    foreign_file([cdr(COLOURS, "rgb8")], "sensor_msgs/msg/Image", "cdr", is_plain=True),
    foreign_file([protobuf(COLOURS, "rgb8")], "foxglove.RawImage", "protobuf", is_plain=True),
    foreign_file([as_json(COLOURS, "rgb8")], "foxglove.RawImage", "json", is_plain=True),
]
