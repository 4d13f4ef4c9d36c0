# SPDX-License-Identifier: Apache-2.0
"""The base of sources that framegate did not record: they do not say what they are, nor what they lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from framegate.recording.recorded import LostPart, Recorded


class OtherSource:
    """A source of another program. Iterate it once. It has the attributes of
    ``framegate.recording.reader.Recording``."""

    at = 0
    """How far its file was read, in bytes; None if that is not known."""
    size: int | None = None
    is_ours = False
    """Whether `framegate record` wrote it."""
    has_no_payloads = True
    """Whether payloads were left out on purpose, so that a frame without its payload is not a loss."""

    def __init__(self, name: str, library: str) -> None:
        self.name = name
        self.library = library
        self.about: dict[str, str] = {}
        self.loss: dict[str, Any] | None = None
        self.damage: str | None = None
        """Why it could not be read to its end; None if it could."""
        self.damaged_chunks = 0
        self.lost: list[LostPart] = []
        """Always empty: what bytes are lost is not known."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the source's files."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Recorded]:
        """Every message."""
        raise NotImplementedError

    def by_time(self) -> Iterator[Recorded]:
        """The messages in the order of the file, in which times never go back."""
        return iter(self)

    @property
    def is_complete(self) -> bool | None:
        """False if its end is not complete; otherwise None, because it does not say."""
        return False if self.damage is not None else None

    def require_start(self) -> None:
        """Do nothing: the start was read when the kind of the source was found out."""
