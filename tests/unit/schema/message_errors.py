# SPDX-License-Identifier: Apache-2.0
"""How to make the codecs raise each of the errors 101 to 108."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from framegate.schema import decode_any
from framegate.schema.driver import ShmLeaseKeepalive
from framegate.schema.wire import FrameDescriptor, MetaBlobChunk

FRAME: Final = FrameDescriptor(stream_id=1, epoch=2, seq=3)


def _header(block: int, template: int, schema: int, version: int) -> bytes:
    return struct.pack("<HHHH", block, template, schema, version)


EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    101: lambda: decode_any(_header(40, 4, 910, 1)),
    102: lambda: decode_any(_header(40, 99, 900, 1)),
    103: lambda: ShmLeaseKeepalive.decode(_header(25, 5, 901, 2) + bytes(25)),
    104: lambda: FrameDescriptor.decode(_header(39, 4, 900, 1) + bytes(39)),
    105: lambda: FrameDescriptor.decode(FRAME.encode()[:-1]),
    106: lambda: MetaBlobChunk.decode(_header(16, 12, 900, 1) + bytes(16) + b"\xff\xff\xff\xff"),
    107: lambda: FrameDescriptor(stream_id=-1, epoch=2, seq=3).encode(),
    108: lambda: FRAME.encode_into(bytearray(47)),
}
