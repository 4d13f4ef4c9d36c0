# SPDX-License-Identifier: Apache-2.0
"""What a subscriber needs of whatever reads its stream: a native consumer, or one of many that an engine reads."""

from __future__ import annotations

from typing import Protocol

from framegate._native import AeronSubscription, PoolRegions


class ReaderPort(Protocol):
    """Made for one link, or the same over all of them; it counts from 0 on. Who polls it, and how, is not said here."""

    @property
    def epoch(self) -> int | None:
        """The epoch that is being read; None while detached. After ``attach`` it may be the one before for a while."""
        ...

    @property
    def last_seq(self) -> int | None:
        """The highest sequence seen in this epoch; None before the first."""
        ...

    @property
    def is_attached(self) -> bool:
        """Whether there are regions to read."""
        ...

    def attach(self, regions: PoolRegions) -> None:
        """Read these regions, as soon as what the stream has of the epoch before was read."""
        ...

    def detach(self) -> None:
        """The regions must not be used any more."""
        ...

    def listen(self, subscription: AeronSubscription, capped: bool = False) -> None:
        """Hear another descriptor stream from now on; ``capped``: its sender holds a rate, so jumps are no loss."""
        ...

    def limit_rate(self, max_rate_hz: int) -> None:
        """At most so many frames a second; 0: all."""
        ...

    def counters(self) -> dict[str, int]:
        """Frames by what became of them; the names of ``PoolConsumer.counters``."""
        ...
