# SPDX-License-Identifier: Apache-2.0
"""What every source has that framegate did not record: it says nothing of itself, nor what it lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from framegate.recording.recorded import LostPart, Recorded


class OtherSource:
    """Iterate it once. ``framegate.recording.reader.Recording`` has the same attributes."""

    at = 0
    """How far its file was read, in bytes, where that is known."""
    size: int | None = None
    is_ours = False
    """Whether `framegate record` wrote it."""
    has_no_payloads = True
    """Whether a frame without its payload is one that nobody meant to record."""

    def __init__(self, name: str, library: str) -> None:
        self.name = name
        self.library = library
        self.about: dict[str, str] = {}
        self.loss: dict[str, Any] | None = None
        self.damage: str | None = None
        """Why it could not be read to its end."""
        self.damaged_chunks = 0
        self.lost: list[LostPart] = []
        """Which bytes are lost is not known of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its files."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Recorded]:
        """Every message."""
        raise NotImplementedError

    def by_time(self) -> Iterator[Recorded]:
        """The same: times never go back in the order in which it is read."""
        return iter(self)

    @property
    def is_complete(self) -> bool | None:
        """False where its end is not whole; it does not say more."""
        return False if self.damage is not None else None

    def require_start(self) -> None:
        """Its start was read when it was taken for what it is."""
