# SPDX-License-Identifier: Apache-2.0
"""Clients that send far more than questions are long.

gRPC reads a request whole, up to 4 GiB of it, before anybody is asked whether it may be, and pyarrow gives no way to
say how long one may be. So who can reach the port could fill the memory of the journal's host without a token. But the
kernel counts what came by each connection, and a server knows what it had to come for: some kilobytes for each call
that was let in, and a few bytes for everything that was taken. Whoever has sent much more is in the middle of a request
that no client of ours makes, and is ended there.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from framegate.joinbarrier.flight.connections import Address, Traffic, peer_address

LOOK_S: Final = 0.1
"""What arrives meanwhile comes on top: at most the link's rate times this."""
CALL_BYTES: Final = 64 << 10
"""Of one call: at most 8 KiB of ticket or action, its headers, and what HTTP/2 and TLS put around them."""
TAKEN_PER_BYTE: Final = 64
"""Bytes that are taken for each one that a client sends to say so: ten thousand and more on a fast connection."""
CONNECTION_BYTES_MAX: Final = 1 << 20
SERVER_BYTES_MAX: Final = 64 << 20
"""Of all connections together."""


class Uploads:
    """What nobody can account for, connection by connection. Pure: who looks tells it what the kernel said."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = Counter[Address]()
        self._seen = dict[Address, Traffic]()
        self._unexplained = dict[Address, int]()

    def called(self, peer: str) -> None:
        """A call of this client was let in. Told by the threads of all calls."""
        address = peer_address(peer)
        if address is not None:
            with self._lock:
                self._calls[address] += 1

    def too_much(self, traffic: Mapping[Address, Traffic]) -> set[Address]:
        """Whose connections have to be ended; ``traffic`` is of all that are open."""
        with self._lock:
            calls, self._calls = self._calls, Counter()
        self._unexplained = {each: self._left(each, now, calls[each]) for each, now in traffic.items()}
        self._seen = dict(traffic)
        found = {each for each, left in self._unexplained.items() if left > CONNECTION_BYTES_MAX}
        rest = sum(left for each, left in self._unexplained.items() if each not in found)
        for each in sorted(self._unexplained, key=self._unexplained.__getitem__, reverse=True):
            if rest <= SERVER_BYTES_MAX:
                break
            if each not in found:
                found.add(each)
                rest -= self._unexplained[each]
        return found

    def _left(self, address: Address, now: Traffic, calls: int) -> int:
        """What was explained once explains nothing later: nobody saves up for a large request."""
        before, left = self._seen.get(address, Traffic(0, 0)), self._unexplained.get(address, 0)
        if now.received_bytes < before.received_bytes:
            before, left = Traffic(0, 0), 0  # Another connection, from the same port.
        left += now.received_bytes - before.received_bytes
        left -= calls * CALL_BYTES + (now.taken_bytes - before.taken_bytes) // TAKEN_PER_BYTE
        return max(left, 0)
