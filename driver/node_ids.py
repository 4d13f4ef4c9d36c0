# SPDX-License-Identifier: Apache-2.0
"""Node ids: one for each lease, unique among live leases, and cooling down before another client gets the same one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

NODE_ID_MAX: Final = 2**32 - 2
"""The largest node id: all ones is the null value."""


class NodeIds:
    """The node ids in use, and those that are cooling down.

    >>> ids = NodeIds(cooldown_ns=10, cooling_max=100)
    >>> ids.take(None, client_id=1, now_ns=0), ids.take(7, client_id=2, now_ns=0), ids.take(7, client_id=3, now_ns=0)
    (1, 7, None)
    >>> ids.give_back(7, client_id=2, now_ns=5)
    >>> ids.take(7, client_id=3, now_ns=14), ids.take(7, client_id=3, now_ns=15)
    (None, 7)
    """

    def __init__(self, *, cooldown_ns: int, cooling_max: int) -> None:
        self._cooldown_ns = cooldown_ns
        self._cooling_max = cooling_max
        self._taken: set[int] = set()
        self._cooling: OrderedDict[int, tuple[int, int]] = OrderedDict()
        self._next = 1

    def __len__(self) -> int:
        """How many ids are in use."""
        return len(self._taken)

    def take(self, desired: int | None, *, client_id: int, now_ns: int) -> int | None:
        """Take the desired id, or any if that is None. Returns None if the desired id is not available.

        A client need not wait for an id that it gave back itself: it comes back after its lease was lost.
        """
        self._thaw(now_ns)
        node_id = self._any() if desired is None else desired
        if node_id in self._taken or not 0 <= node_id <= NODE_ID_MAX:
            return None
        if node_id in self._cooling and self._cooling[node_id][1] != client_id:
            return None
        self._cooling.pop(node_id, None)
        self._taken.add(node_id)
        return node_id

    def give_back(self, node_id: int, *, client_id: int, now_ns: int) -> None:
        """Give an id back, because its lease has ended."""
        self._taken.remove(node_id)
        self._cooling[node_id] = (now_ns + self._cooldown_ns, client_id)
        self._thaw(now_ns)

    def cancel(self, node_id: int) -> None:
        """Free the id of a client that got no lease. Nobody has heard of the id, so it need not cool down."""
        self._taken.remove(node_id)

    def _thaw(self, now_ns: int) -> None:
        # All ids cool down for the same time, so the oldest is finished first.
        while self._cooling:
            until_ns, _ = next(iter(self._cooling.values()))
            if until_ns > now_ns and len(self._cooling) <= self._cooling_max:
                return
            self._cooling.popitem(last=False)

    def _any(self) -> int:
        # The search goes on from the last id, so that every other id comes before this one is used again. It ends,
        # because far fewer ids are in use or cooling than exist.
        while self._next in self._taken or self._next in self._cooling:
            self._advance()
        node_id = self._next
        self._advance()
        return node_id

    def _advance(self) -> None:
        self._next = self._next + 1 if self._next < NODE_ID_MAX else 1
