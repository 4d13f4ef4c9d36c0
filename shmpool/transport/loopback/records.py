# SPDX-License-Identifier: Apache-2.0
"""Records: the messages that ``poll_records`` collects. This is the twin of the native filter, with the same verdicts.

The first eight bytes of a message are its header, four little-endian u16::

    0             2             4             6             8
    +-------------+-------------+-------------+-------------+--------------------
    | blockLength | templateId  | schemaId    | version     | body, blockLength bytes
    +-------------+-------------+-------------+-------------+--------------------
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np
from framegate.schema.errors import InvalidValue
from framegate.shmpool.transport.interface import RecordKind

if TYPE_CHECKING:
    import numpy.typing as npt

MESSAGE_HEADER: Final = struct.Struct("<HHHH")
assert MESSAGE_HEADER.size == 8  # noqa: S101 - the layout above

RECORD: Final = "records"
VERDICTS: Final = (RECORD, "other_schema", "other_template", "newer_version", "wrong_block_length", "truncated")


def verdict(kind: RecordKind, message: bytes) -> str:
    """The verdict on a message for a collector of ``kind``, which is also the name of its counter (PROTOCOL 13).

    >>> verdict(RecordKind(40, 4, 900, 1, True), b"short")
    'truncated'
    """
    if len(message) < MESSAGE_HEADER.size:
        return "truncated"
    block_length, template_id, schema_id, version = MESSAGE_HEADER.unpack_from(message)
    if schema_id != kind.schema_id:
        return "other_schema"
    if template_id != kind.template_id:
        return "other_template"
    is_newer = version > kind.version
    if is_newer and not kind.reads_newer:
        return "newer_version"
    if block_length < kind.block_length or (block_length > kind.block_length and not is_newer):
        return "wrong_block_length"
    return "truncated" if len(message) - MESSAGE_HEADER.size < block_length else RECORD


class RecordSink:
    """Space for records in a caller's array, which is checked before anything is consumed."""

    def __init__(self, kind: RecordKind, out: npt.NDArray[np.void]) -> None:
        _check(kind, out)
        self._rows = out.view(np.uint8).reshape(len(out), kind.block_length)
        self.count = 0

    def put(self, message: bytes) -> None:
        """Copy the body of one record, as much of it as this version knows."""
        row = self._rows[self.count]
        row[:] = np.frombuffer(message, np.uint8, len(row), MESSAGE_HEADER.size)
        self.count += 1


def _check(kind: RecordKind, out: npt.NDArray[np.void]) -> None:
    if out.dtype.itemsize != kind.block_length or out.dtype.hasobject:
        raise InvalidValue(
            "the array's items are not the record", want_bytes=kind.block_length, have_bytes=out.dtype.itemsize
        )
    if out.ndim != 1 or not out.flags.c_contiguous:
        raise InvalidValue("records need one dimension without gaps", have_ndim=out.ndim, have_strides=out.strides)
    if not out.flags.writeable:
        raise InvalidValue("the array is read-only", have_writeable=False)
