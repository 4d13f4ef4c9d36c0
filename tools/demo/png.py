# SPDX-License-Identifier: Apache-2.0
"""A picture as a PNG file: eight bits of red, green and blue, compressed by zlib.

```
 signature (8 bytes) | IHDR chunk | IDAT chunk | IEND chunk
 chunk: length u32 of the data | type (4 bytes) | data | CRC-32 of type and data      all big-endian
 IHDR: width u32, height u32, bit depth u8 = 8, colour type u8 = 2 (RGB), three bytes of 0
 IDAT: zlib over the rows, each with one byte before it that says it is unfiltered (0)
```
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import numpy as np
import numpy.typing as npt

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_EIGHT_BITS, _RGB = 8, 2


def png(picture: npt.NDArray[np.uint8]) -> bytes:
    """The file of a picture of shape (rows, columns, 3).

    >>> png(np.zeros((2, 3, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    rows, columns, _ = picture.shape
    header = struct.pack(">IIBBBBB", columns, rows, _EIGHT_BITS, _RGB, 0, 0, 0)
    unfiltered = np.zeros((rows, 1 + 3 * columns), np.uint8)
    unfiltered[:, 1:] = picture.reshape(rows, 3 * columns)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(unfiltered.tobytes(), 6)), (b"IEND", b"")]
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
