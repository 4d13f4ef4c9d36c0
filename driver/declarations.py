# SPDX-License-Identifier: Apache-2.0
"""The declarations of producers that are about to attach: one for each stream and client, in a bounded table."""

from __future__ import annotations

from collections import Counter

from framegate.schema.control import StreamDeclaration
from framegate.schema.driver import Role, ShmAttachRequest


class Declarations:
    """Declarations that wait for their attach request; a grant removes them. Beyond ``limit`` the oldest is dropped."""

    def __init__(self, limit: int, counts: Counter[str]) -> None:
        self._limit = limit
        self._counts = counts
        self._waiting: dict[tuple[int, int], StreamDeclaration] = {}

    def __len__(self) -> int:
        """How many declarations are waiting."""
        return len(self._waiting)

    def hear(self, message: StreamDeclaration) -> None:
        """Store a declaration. It replaces an earlier one of the same client for the same stream."""
        key = message.stream_id, message.client_id
        self._waiting.pop(key, None)
        if len(self._waiting) >= self._limit:
            del self._waiting[next(iter(self._waiting))]
            self._counts["declarations_dropped"] += 1
        self._waiting[key] = message
        self._counts["declarations"] += 1

    def of(self, request: ShmAttachRequest) -> StreamDeclaration | None:
        """The declaration of the client that sent this request; None for a consumer."""
        is_producer = request.role == Role.PRODUCER
        return self._waiting.get((request.stream_id, request.client_id)) if is_producer else None

    def forget(self, request: ShmAttachRequest) -> None:
        """Remove a declaration, because its request was granted."""
        self._waiting.pop((request.stream_id, request.client_id), None)
