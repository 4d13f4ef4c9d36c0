# SPDX-License-Identifier: Apache-2.0
"""In-flight files, written and read natively; ``spec/checkpoint/inflight.py`` draws and specifies them."""

from __future__ import annotations

from collections.abc import Iterable

from framegate.joinbarrier.checkpoint.store_files import Content

import framegate._native as _native
from framegate._native import StoredRecords


def write_records(input_id: int, records: Iterable[bytes]) -> bytes:
    """Encode a whole in-flight file.

    >>> write_records(1, [b"ab"]).hex()
    '010000000100000000000000020000006162'
    """
    return _native.checkpoint_write_records(input_id, list(records))


def inflight_file(input_id: int, records: StoredRecords) -> Content:
    """The same for records in an engine's memory."""
    return Content(write_records(input_id, ())[:4] + len(records).to_bytes(8, "little"), records)


def read_records(data: bytes) -> tuple[int, list[bytes]]:
    """Decode an in-flight file into its input and records. Raises CheckpointDamaged for any other bytes.

    >>> read_records(write_records(1, [b"ab", b""]))
    (1, [b'ab', b''])
    """
    return _native.checkpoint_read_records(data)
