# SPDX-License-Identifier: Apache-2.0
"""The names of streams at the time of recording. They stand for the same streams wherever the recording is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from framegate.recording.reader import Recording
from framegate.recording.source import open_source
from framegate.schema.config.types import STREAM_NAME, U32_MAX
from framegate.schema.errors import FramegateError

NOTE: Final = "names"
"""The key of the names in the recording's first metadata record."""


def note_of(names: Mapping[str, int], streams: Iterable[int]) -> list[tuple[str, str]]:
    """The entry that a recorder writes; empty if none of its streams has a name.

    >>> note_of({"left": 27124, "imu": 28068}, [27124, 10001])
    [('names', '{"left": 27124}')]
    """
    recorded = set(streams)
    found = {name: stream for name, stream in names.items() if stream in recorded}
    return [(NOTE, json.dumps(found))] if found else []


def names_in(path: Path) -> dict[str, int]:
    """The names in a recording; empty for a file of another kind, or one that cannot be read."""
    try:
        with open_source(path) as recording:
            if not isinstance(recording, Recording):
                return {}
            # The file's information about itself comes before its messages.
            next(iter(recording), None)
            return _checked(recording.about.get(NOTE, "{}"))
    except (FramegateError, OSError):
        # The reader of the recording itself will report what is wrong.
        return {}


def _checked(text: str) -> dict[str, int]:
    try:
        found = json.loads(text)
        pairs = [
            (name, stream)
            for name, stream in found.items()
            if re.fullmatch(STREAM_NAME, name) and type(stream) is int and 1 <= stream < U32_MAX
        ]
    except (ValueError, AttributeError):
        return {}
    return dict(pairs)
