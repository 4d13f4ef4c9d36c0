# SPDX-License-Identifier: Apache-2.0
"""The file format of ``inflight_<input>.buf``: what an input delivered between the snapshot and its late barrier.

::

    input_id u32 | event_count u64 | then for each event: length u32, bytes           all little-endian
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from framegate.schema.errors import CheckpointDamaged

HEADER: Final = struct.Struct("<IQ")
_LENGTH: Final = struct.Struct("<I")
RECORD_BYTES_MAX: Final = (1 << 32) - 1


def write_records(input_id: int, records: Iterable[bytes]) -> bytes:
    """Encode a whole in-flight file.

    >>> write_records(1, [b"ab"]).hex()
    '010000000100000000000000020000006162'
    """
    parts, count = [b""], 0
    for record in records:
        parts += [_LENGTH.pack(len(record)), record]
        count += 1
    parts[0] = HEADER.pack(input_id, count)
    return b"".join(parts)


def read_records(data: bytes) -> tuple[int, list[bytes]]:
    """Decode an in-flight file into its input and records. Raises CheckpointDamaged for any other bytes."""
    if len(data) < HEADER.size:
        raise CheckpointDamaged("in-flight data end early", wanted_bytes=HEADER.size, have_bytes=len(data))
    input_id, count = HEADER.unpack_from(data)
    if count > (len(data) - HEADER.size) // _LENGTH.size:
        raise CheckpointDamaged("in-flight data hold fewer events than they say", event_count=count)
    records, at = list[bytes](), HEADER.size
    for _ in range(count):
        end = at + _LENGTH.size
        length = _LENGTH.unpack_from(data, at)[0] if end <= len(data) else 0
        if end + length > len(data):
            raise CheckpointDamaged("in-flight data end early", wanted_bytes=end + length, have_bytes=len(data))
        records.append(data[end : end + length])
        at = end + length
    if at != len(data):
        raise CheckpointDamaged("in-flight data go on behind their events", wanted_bytes=at, have_bytes=len(data))
    return input_id, records
