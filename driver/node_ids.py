# SPDX-License-Identifier: Apache-2.0
"""Node ids: one per lease, unique among live leases, at rest for a while before anybody else gets one again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

NODE_ID_MAX: Final = 2**32 - 2
"""All ones is the null value."""


class NodeIds:
    """Who has which node id.

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
        """How many are taken."""
        return len(self._taken)

    def take(self, desired: int | None, *, client_id: int, now_ns: int) -> int | None:
        """The desired id, or any if None; None when the desired one is not to be had.

        A client gets an id that it gave back itself without waiting: it comes back after its lease was lost.
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
        """The lease has ended."""
        self._taken.remove(node_id)
        self._cooling[node_id] = (now_ns + self._cooldown_ns, client_id)
        self._thaw(now_ns)

    def cancel(self, node_id: int) -> None:
        """It was kept for a client that got no lease: nobody has heard of it, so it need not rest."""
        self._taken.remove(node_id)

    def _thaw(self, now_ns: int) -> None:
        # All rest equally long, so the oldest is the first to be done.
        while self._cooling:
            until_ns, _ = next(iter(self._cooling.values()))
            if until_ns > now_ns and len(self._cooling) <= self._cooling_max:
                return
            self._cooling.popitem(last=False)

    def _any(self) -> int:
        # Onwards from the last one: an id is as old as can be before it is seen again. It ends, because far fewer
        # are taken or cooling than there are.
        while self._next in self._taken or self._next in self._cooling:
            self._advance()
        node_id = self._next
        self._advance()
        return node_id

    def _advance(self) -> None:
        self._next = self._next + 1 if self._next < NODE_ID_MAX else 1
