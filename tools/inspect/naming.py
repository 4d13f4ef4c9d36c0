# SPDX-License-Identifier: Apache-2.0
"""What streams are called: a recording knows its own names, and what is of this host has this host's."""

from __future__ import annotations

from pathlib import Path

from framegate.recording.stream_names import names_in
from framegate.shmpool.client.stream_names import StreamNames
from framegate.tools.inspect.content import is_live
from framegate.tools.inspect.options import InspectOptions


def names_of(options: InspectOptions) -> dict[int, str]:
    """The names by their streams. Of a recording also those that topics of other programs are given here."""
    base, path = Path(options.settings().base_dir), Path(options.source)
    here = StreamNames(base).by_number()
    if is_live(options.source) or path.resolve().is_relative_to(base.resolve()):
        return here
    # What is no file can be read only once.
    recorded = names_in(path) if path.is_file() else {}
    mapped = {stream: here[stream] for stream in options.topics.values() if stream in here}
    return mapped | {stream: name for name, stream in recorded.items()}
