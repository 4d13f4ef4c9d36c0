# SPDX-License-Identifier: Apache-2.0
"""The open streams of a server: how many there may be, how long one may stall, and what was counted.

A stream holds a thread, one batch, and the segment that the batch lies in. gRPC takes the next batch when the client
has space for it. A client that does not read keeps all three, so its stream is ended after ``stall_ns``.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, Literal

from framegate.joinbarrier.flight.connections import end_connections
from framegate.schema.errors import TooManyStreams
from framegate.shmpool.clock import Clock, monotonic_ns

Count = Literal[
    "calls", "errors", "refused", "streams", "streams_refused", "streams_stalled", "uploads_ended", "rows", "bytes"
]
COUNTS: Final[tuple[Count, ...]] = (
    "calls",
    "errors",
    "refused",
    "streams",
    "streams_refused",
    "streams_stalled",
    "uploads_ended",
    "rows",
    "bytes",
)
_log = logging.getLogger(__name__)


class Stream:
    """One stream, from its ticket to its end."""

    def __init__(self, peer: str, now_ns: int) -> None:
        self.peer = peer
        self.given_ns: int | None = now_ns
        """When the client got its current batch; None while the server looks for the next one."""
        self.is_ended = False

    def is_stalled(self, now_ns: int, stall_ns: int) -> bool:
        """Whether the client has not taken its batch for longer than ``stall_ns``."""
        given_ns = self.given_ns
        return given_ns is not None and now_ns - given_ns > stall_ns


class Streams:
    """All streams of a server; the threads of all calls use it."""

    def __init__(
        self,
        *,
        streams_max: int,
        stall_ns: int,
        clock: Clock = monotonic_ns,
        end: Callable[[str], int] = end_connections,
    ) -> None:
        self.streams_max, self.stall_ns = streams_max, stall_ns
        self._clock, self._end = clock, end
        self._lock = threading.Lock()
        self._open = set[Stream]()
        self._is_over = False
        self._counts = Counter[str]()

    def open(self, peer: str) -> Stream:
        """Open a stream. Raises TooManyStreams."""
        with self._lock:
            if self._is_over:
                raise TooManyStreams("the server ends", streams=len(self._open))
            if len(self._open) >= self.streams_max:
                self._counts["streams_refused"] += 1
                raise TooManyStreams("the server gives no further stream", streams=len(self._open))
            self._counts["streams"] += 1
            stream = Stream(peer, self._clock())
            self._open.add(stream)
        return stream

    def close(self, stream: Stream) -> None:
        """Close a stream, however it ended. May be called again."""
        with self._lock:
            self._open.discard(stream)

    def looking(self, stream: Stream) -> None:
        """Note that the client has taken its batch, and the server looks for the next."""
        stream.given_ns = None

    def giving(self, stream: Stream, rows: int, batch_bytes: int) -> None:
        """Note that the client gets a batch now."""
        with self._lock:
            self._counts["rows"] += rows
            self._counts["bytes"] += batch_bytes
        stream.given_ns = self._clock()

    def count(self, what: Count, more: int = 1) -> None:
        """Count one more event, or several."""
        with self._lock:
            self._counts[what] += more

    def end_stalled(self) -> None:
        """End the connections whose clients do not read. Other streams on such a connection end as well, and the client
        may ask again for the rows it lacks.
        """
        now_ns = self._clock()
        with self._lock:
            stalled = [each for each in self._open if not each.is_ended and each.is_stalled(now_ns, self.stall_ns)]
            for stream in stalled:
                stream.is_ended = True
                self._counts["streams_stalled"] += 1
        for peer in {stream.peer for stream in stalled}:
            connections = self._end(peer)
            _log.warning("%s has read nothing for %.3g s: its connection was ended", peer, self.stall_ns / 1e9)
            if not connections:
                _log.warning("%s: there was no connection of it", peer)

    def end_all(self) -> None:
        """End all streams, and refuse new ones. A server that waited for them instead could wait for ever."""
        with self._lock:
            self._is_over = True
            peers = {stream.peer for stream in self._open}
        for peer in peers:
            self._end(peer)

    def summary(self) -> Mapping[str, int]:
        """What was counted, and how many streams are open."""
        with self._lock:
            return {"streams_open": len(self._open), **{name: self._counts[name] for name in COUNTS}}
