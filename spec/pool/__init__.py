# SPDX-License-Identifier: Apache-2.0
"""The pool in plain Python: the executable specification of PROTOCOL 3 and 4.

``native/core/src/pool`` is its twin, which programs use. This one is for reading, and for tests that ask both the same
questions: each cause why a frame is not taken has the name of the native counter ``drop_<cause>``. It is **not
atomic**: stores and loads are in the order of the protocol, but without fences, so a writer and a reader must take
turns.

| file | what it says | its twin |
|---|---|---|
| ``commit`` | the commit word | ``commit.rs`` |
| ``tensor`` | shapes, strides and dtypes | ``tensor.rs`` |
| ``slot`` | a header slot, written and read | ``slot.rs``, ``layout.rs`` |
| ``superblock`` | the first 64 bytes of a region | ``superblock.rs`` |
| ``bells`` | how a sleeping reader is woken | ``bell/`` |
| ``ring`` | frames in, frames out | ``regions.rs``, ``writer.rs``, ``reader.rs`` |

>>> import numpy as np
>>> regions = ReferenceRegions.in_memory(Expected(stream_id=7, epoch=1, nslots=4), {1: 64})
>>> writer, reader = ReferenceWriter(regions), ReferenceReader(regions)
>>> descriptor = writer.publish(np.arange(6, dtype="u2").reshape(2, 3))
>>> reader.read(descriptor).copy().tolist()
[[0, 1, 2], [3, 4, 5]]
>>> writer.publish(np.zeros(3), seq=4).seq
4
>>> reader.read(descriptor)
<DropCause.OTHER_FRAME: 'other_frame'>
"""

from framegate.shmpool.layout.slot import DropCause
from framegate.shmpool.layout.superblock import Expected
from framegate.shmpool.layout.tensor import Tensor
from framegate.spec.pool.ring import (
    ReferenceClaim,
    ReferenceFrame,
    ReferenceReader,
    ReferenceRegions,
    ReferenceWriter,
)

__all__ = [
    "DropCause",
    "Expected",
    "ReferenceClaim",
    "ReferenceFrame",
    "ReferenceReader",
    "ReferenceRegions",
    "ReferenceWriter",
    "Tensor",
]
