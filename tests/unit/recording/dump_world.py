# SPDX-License-Identifier: Apache-2.0
"""Raw dumps as another implementation writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
from framegate.recording.frames import Item, Passage
from framegate.recording.source import open_source
from framegate.schema import Message

from tests.unit.recording.replay_frames import frame


def bare(messages: Sequence[tuple[str, Message | bytes]]) -> list[bytes]:
    """Messages without the topics that a recording gives them."""
    return [each if isinstance(each, bytes) else each.encode() for _, each in messages]


def parts(seq: int, array: npt.NDArray[Any], **how: Any) -> list[bytes]:
    """A frame's descriptor, slot header and payload."""
    return bare(frame(seq, array, **how))


def behind_lengths(messages: Sequence[bytes], form: str = "<I") -> bytes:
    """One file of them."""
    return b"".join(struct.pack(form, len(each)) + each for each in messages)


def write_folder(folder: Path, messages: Sequence[bytes]) -> None:
    """A file of each, numbered without zeros before."""
    folder.mkdir()
    for index, message in enumerate(messages):
        (folder / f"message-{index}.sbe").write_bytes(message)


def dumped(path: Path) -> tuple[Passage, list[Item]]:
    """What comes of a dump."""
    with open_source(path) as source:
        found = Passage(source)
        return found, list(found)
