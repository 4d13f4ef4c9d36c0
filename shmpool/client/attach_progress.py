# SPDX-License-Identifier: Apache-2.0
"""The progress of an attach: how far the driver has got with a stream's regions, by the memory of their files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framegate.schema.console.progress import progress

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client

_BLOCK_BYTES: Final = 512


def attach_progress(client: Client, stream: int, *, as_json: bool) -> AbstractContextManager[None]:
    """A bar on the terminal while a ring of gigabytes is made. Only the driver knows how large the ring will be."""
    folders = client.allowed
    return progress(
        f"attach stream {client.names.text(stream)}", lambda: memory_of(folders, stream), None, as_json=as_json
    )


def memory_of(folders: Sequence[str], stream: int) -> int:
    """How many bytes of memory the regions of the stream's newest epoch have by now."""
    found = (each for folder in folders for each in Path(folder).glob(f"tensorpool-*/*/{stream}/*/"))
    newest = max((each for each in found if each.name.isdigit()), key=lambda each: int(each.name), default=None)
    return 0 if newest is None else sum(each.stat().st_blocks for each in newest.iterdir()) * _BLOCK_BYTES
