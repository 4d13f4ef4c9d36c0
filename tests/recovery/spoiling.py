# SPDX-License-Identifier: Apache-2.0
"""Canaries: what a restore that goes wrong looks like, so that the comparison is known to see it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from framegate.joinbarrier.checkpoint.operator.state import decode_state, encode_head
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.journal.checksum import crc32c

NOT_RESTORING: Final = ("--new-epoch",)
"""An agent that begins anew at each start."""


def drop_waiting_frames(store: CheckpointStore) -> None:
    """The newest checkpoint has none of the frames that waited, and is whole by all its check sums."""
    ids = store.ids()
    if not ids:
        return
    manifest, operators = store.manifest(ids[-1]), []
    folder = Path(store.place) / str(ids[-1])
    for operator in manifest.operators:
        if operator.operator_id.startswith("join-"):
            image = decode_state((folder / operator.path).read_bytes())
            data = encode_head({**image.head, "frames": 0})
            (folder / operator.path).write_bytes(data)
            operator = replace(operator, bytes=len(data), crc32c=crc32c(data, 0))
        operators.append(operator)
    (folder / "manifest.json").write_bytes(replace(manifest, operators=tuple(operators)).encode())
