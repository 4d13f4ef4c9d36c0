# SPDX-License-Identifier: Apache-2.0
"""Frames of recordings whose slot headers are whole, as a producer writes them."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from framegate.recording.frames import Item, Passage
from framegate.recording.reader import Recording
from framegate.schema import Message
from framegate.shmpool.layout.tensor import Tensor

from tests.unit.recording.recording_world import EPOCH, LEFT, descriptor, slot_header


def frame(
    seq: int, array: npt.NDArray[Any], *, stream: int = LEFT, epoch: int = EPOCH, timestamp_ns: int | None = None
) -> list[tuple[str, Message | bytes]]:
    """One frame's three messages."""
    at_ns = 1_000 * seq if timestamp_ns is None else timestamp_ns
    slot = replace(slot_header(seq, array.nbytes, at_ns), header_bytes=Tensor.of(array).header().encode())
    return [
        (f"stream/{stream}/FrameDescriptor", descriptor(seq, stream=stream, epoch=epoch)),
        (f"stream/{stream}/SlotHeader", slot),
        (f"stream/{stream}/payload", array.tobytes(order="A")),
    ]


def passage(file: bytes, **topics: int) -> tuple[Passage, list[Item]]:
    """What comes of a file."""
    found = Passage(Recording(io.BytesIO(file)), topics)
    return found, list(found)


def numbered(seq: int, shape: tuple[int, ...] = (2, 3)) -> npt.NDArray[np.uint16]:
    """An array that no other sequence has."""
    size = int(np.prod(shape))
    return np.arange(seq * size, (seq + 1) * size, dtype=np.uint16).reshape(shape)
