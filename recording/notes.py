# SPDX-License-Identifier: Apache-2.0
"""Notes for people about messages of other programs that did not become what one might expect."""

from __future__ import annotations

from collections.abc import Mapping


def notes(*, not_timed: int, not_decoded: int, as_bytes: Mapping[str, str]) -> list[str]:
    """A line for each note; empty if there is nothing to note.

    >>> notes(not_timed=1200, not_decoded=0, as_bytes={})
    ['1,200 messages have no time of their own: their frames have no timestamp']
    """
    found = [f"{topic}: a frame is the bytes of a message, because {why}" for topic, why in as_bytes.items()]
    if not_decoded:
        found.append(f"{not_decoded:,} messages are not what their schema says: their bytes are the frames")
    if not_timed:
        found.append(f"{not_timed:,} messages have no time of their own: their frames have no timestamp")
    return found
