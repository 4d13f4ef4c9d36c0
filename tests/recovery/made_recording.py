# SPDX-License-Identifier: Apache-2.0
"""The recording that is joined: three streams that do not go evenly, by a seed."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from framegate.recording.frames import FrameOfRecording, Passage
from framegate.recording.reader import Recording

from tests.unit.recording.recording_world import Made
from tests.unit.recording.replay_frames import frame

INPUTS: Final = ("a", "b", "c")
FRAME_NS: Final = 4_000_000
"""Between two frames of the file at its own speed, over all streams."""
_GAPS: Final = 0.02
_SHAPE: Final = (8, 16)
_TICK_NS: Final = 10_000_000


def write_recording(path: Path, frames: int, seed: int, streams: Sequence[int]) -> None:
    """So many ticks of three streams; some ticks are missing from a stream, and streams run ahead of each other."""
    chance = random.Random(seed)
    messages = []
    for place, seq in _in_turns(frames, chance):
        payload = np.random.default_rng((seed, place, seq)).integers(0, 256, _SHAPE, np.uint8)
        # Times of one stream only grow, and differ from those of the others.
        at_ns = (seq + 1) * _TICK_NS + place * 1_000
        messages += frame(seq, payload, stream=streams[place], timestamp_ns=at_ns)
    about = {"streams": ",".join(map(str, streams))}
    made = Made(is_one_time_a_frame=True, step_ns=FRAME_NS // 3, about=about, chunk_size=100_000)
    path.write_bytes(made.file(messages))


def _in_turns(frames: int, chance: random.Random) -> Iterator[tuple[int, int]]:
    """A stream's place and a sequence, in the order of the file."""
    left = {place: [seq for seq in range(frames) if chance.random() >= _GAPS] for place in range(len(INPUTS))}
    for each in left.values():
        each.reverse()
    while any(left.values()):
        # The one that is behind goes on, most of the time; else any of them, so that frames wait for each other.
        alive = [place for place, each in left.items() if each]
        behind = min(alive, key=lambda place: left[place][-1])
        place = behind if chance.random() < 0.7 else chance.choice(alive)
        if left[place][-1] - left[behind][-1] > 12:
            place = behind
        yield place, left[place].pop()


def frames_of(path: Path, streams: Sequence[int]) -> dict[str, dict[int, int]]:
    """Every frame of the file, by the input's name: its sequence, and the CRC of its payload."""
    names = dict(zip(streams, INPUTS, strict=True))
    found: dict[str, dict[int, int]] = {name: {} for name in INPUTS}
    with Recording.open(path) as recording:
        for item in Passage(recording):
            if isinstance(item, FrameOfRecording):
                found[names[item.stream]][item.seq] = zlib.crc32(item.payload)
    return found
