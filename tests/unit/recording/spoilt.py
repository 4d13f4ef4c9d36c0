# SPDX-License-Identifier: Apache-2.0
"""Recordings that something was done to: cut, overwritten in places, fields put to their extremes."""

from __future__ import annotations

import json
import random
from typing import Final

from mcap.writer import CompressionType

from tests.unit.recording.foreign_world import cdr, foreign_file
from tests.unit.recording.recording_world import EPOCH, LEFT, RIGHT, Made
from tests.unit.recording.replay_frames import frame, numbered

_LOSS: Final = {"stream": LEFT, "epoch": EPOCH, "first": 4, "last": 4, "count": 1, "part": "payload", "cause": "aged"}
PAIRS: Final = [
    *(message for seq in range(8) for stream in (LEFT, RIGHT) for message in frame(seq, numbered(seq), stream=stream)),
    ("framegate/loss", json.dumps(_LOSS).encode()),
]
WHOLE: Final = [
    # Without check sums, so that what is spoilt within a chunk is believed.
    Made(is_checked=False, is_one_time_a_frame=True).file(PAIRS),
    Made(is_checked=False, is_one_time_a_frame=True, is_chunked=False).file(PAIRS),
    Made(is_one_time_a_frame=True).file(PAIRS),
    Made(is_one_time_a_frame=True, compression=CompressionType.ZSTD).file(PAIRS),
    foreign_file([cdr(numbered(seq, (4, 5)), "mono16") for seq in range(4)], "sensor_msgs/Image", "cdr", is_plain=True),
]
_EXTREMES: Final = [bytes(8), b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\xff" * 4, b"9" * 8, b"-", b"\x00\x80"]


def spoilt(chance: random.Random) -> bytes:
    """Some file, spoilt in one to four places; a quarter of them are cut, too."""
    data = bytearray(chance.choice(WHOLE))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data))
        if chance.random() < 0.5:
            data[at] = chance.randrange(256)
        else:
            what = chance.choice(_EXTREMES)
            data[at : at + len(what)] = what
    return bytes(data[: chance.randrange(len(data))] if chance.random() < 0.25 else data)
