# SPDX-License-Identifier: Apache-2.0
"""Finds clients that send far more than requests are long.

gRPC reads a whole request of up to 4 GiB before the server can refuse it, and pyarrow offers no limit. So anybody who
reaches the port could fill the memory of the journal's host without a token. But the kernel counts what comes through
each connection, and a server knows what should have come: some kilobytes for each call that it let in, and a few bytes
to acknowledge what was taken. A client that sent much more is in the middle of a request that no client of ours makes;
its connection is ended.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from framegate.joinbarrier.flight.connections import Address, Traffic, peer_address

LOOK_S: Final = 0.1
"""How often to look. What arrives in between comes on top: at most the link's rate times this."""
CALL_BYTES: Final = 64 << 10
"""Bytes allowed for one call: at most 8 KiB of ticket or action, its headers, and what HTTP/2 and TLS add."""
TAKEN_PER_BYTE: Final = 64
"""Bytes that a client takes for each byte of acknowledgement it sends: ten thousand and more on a fast connection."""
CONNECTION_BYTES_MAX: Final = 1 << 20
SERVER_BYTES_MAX: Final = 64 << 20
"""Most unexplained bytes of all connections together."""


class Uploads:
    """Counts the unexplained bytes of each connection. Pure: its caller passes in what the kernel reports."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = Counter[Address]()
        self._seen = dict[Address, Traffic]()
        self._unexplained = dict[Address, int]()

    def called(self, peer: str) -> None:
        """Note that a call of this client was let in. The threads of all calls use this."""
        address = peer_address(peer)
        if address is not None:
            with self._lock:
                self._calls[address] += 1

    def too_much(self, traffic: Mapping[Address, Traffic]) -> set[Address]:
        """The peers whose connections must be ended. ``traffic`` lists all open connections."""
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
        """The unexplained bytes of a connection. Unused allowance lapses: nobody can save up for a large request."""
        before, left = self._seen.get(address, Traffic(0, 0)), self._unexplained.get(address, 0)
        if now.received_bytes < before.received_bytes:
            before, left = Traffic(0, 0), 0  # It is a new connection from the same port.
        left += now.received_bytes - before.received_bytes
        left -= calls * CALL_BYTES + (now.taken_bytes - before.taken_bytes) // TAKEN_PER_BYTE
        return max(left, 0)
