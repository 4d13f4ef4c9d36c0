# SPDX-License-Identifier: Apache-2.0
"""The clients of this process.

A fork makes copies of them without a thread, whose leases and Aeron connection stay the other process's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.producer.producer import Producer

_clients: WeakSet[Client] = WeakSet()
_kept: list[Any] = []


def note_client(client: Client) -> None:
    """Let the copies of a client refuse their work, and leave what its own process uses alone."""
    _clients.add(client)


def producer_here(client: Client, stream: int) -> Producer | None:
    """The producer that this process has of a stream, by whichever client of the same base directory."""
    near = (each for each in list(_clients) if each.allowed == client.allowed and not each.is_copy)
    return next((each for other in near for each in other.producers() if each.stream_id == stream), None)


def keep(borrowed: object) -> None:
    """Never drop this: its end would be sent to the media driver in the name of the other process."""
    _kept.append(borrowed)


def _disown_all() -> None:
    for each in list(_clients):
        each.disown()


os.register_at_fork(after_in_child=_disown_all)
