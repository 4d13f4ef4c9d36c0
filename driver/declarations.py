# SPDX-License-Identifier: Apache-2.0
"""What producers that are about to attach have declared: one declaration for each stream and client, bounded."""

from __future__ import annotations

from collections import Counter

from framegate.schema.control import StreamDeclaration
from framegate.schema.driver import Role, ShmAttachRequest


class Declarations:
    """A declaration waits here for its attach request, and goes with the grant. Beyond ``limit`` the oldest goes."""

    def __init__(self, limit: int, counts: Counter[str]) -> None:
        self._limit = limit
        self._counts = counts
        self._waiting: dict[tuple[int, int], StreamDeclaration] = {}

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def hear(self, message: StreamDeclaration) -> None:
        """Take the place of what the same client declared before for the same stream."""
        key = message.stream_id, message.client_id
        self._waiting.pop(key, None)
        if len(self._waiting) >= self._limit:
            del self._waiting[next(iter(self._waiting))]
            self._counts["declarations_dropped"] += 1
        self._waiting[key] = message
        self._counts["declarations"] += 1

    def of(self, request: ShmAttachRequest) -> StreamDeclaration | None:
        """What the client of this request declared; nothing for consumers, whoever spoke in their name."""
        is_producer = request.role == Role.PRODUCER
        return self._waiting.get((request.stream_id, request.client_id)) if is_producer else None

    def forget(self, request: ShmAttachRequest) -> None:
        """The request was granted."""
        self._waiting.pop((request.stream_id, request.client_id), None)
