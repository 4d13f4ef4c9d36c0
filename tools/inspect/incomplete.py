# SPDX-License-Identifier: Apache-2.0
"""Why a recording is not complete, in the words of its own final record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from framegate.recording.source import Source
from framegate.shmpool.client.stream_names import UNNAMED, stream_text


def why_incomplete(recording: Source, names: Mapping[int, str] = UNNAMED) -> list[str]:
    """A line for each reason; ``names`` are those of streams."""
    found = []
    if recording.damage is not None:
        found.append(recording.damage)
    if recording.damaged_chunks:
        found.append(f"{recording.damaged_chunks} chunks are damaged")
    found += [str(each) for each in recording.lost]
    for stream, said in (recording.loss or {}).get("streams", {}).items():
        called = stream_text(int(stream), names) if str(stream).isdigit() else stream
        found += [f"stream {called}: {text}" for text in _losses(said)]
    lost_messages = (recording.loss or {}).get("lost_messages", "0")
    if lost_messages not in ("0", ""):
        found.append(f"{lost_messages} other messages found no room")
    return found or ["the recording was not ended in good order"]


def _losses(said: dict[str, Any]) -> list[str]:
    found = []
    epochs = said.get("epochs")
    for epoch in epochs if isinstance(epochs, list) else []:
        for part in ("frames", "payloads"):
            lost = epoch.get(f"lost_{part}") if isinstance(epoch, dict) else None
            for cause, count in (lost if isinstance(lost, dict) else {}).items():
                if cause != "not_announced":
                    found.append(f"{count} {part} {cause}")
    return found
