# SPDX-License-Identifier: Apache-2.0
"""The clients of this process, and their copies after a fork.

A fork copies clients without their threads. Leases and the Aeron connection still belong to the other process.
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
    """Note a client, so that after a fork its copies refuse to work, and leave the other process's resources alone."""
    _clients.add(client)


def producer_here(client: Client, stream: int) -> Producer | None:
    """The producer of a stream in this process, of any client with the same base directory; None if there is none."""
    near = (each for each in list(_clients) if each.allowed == client.allowed and not each.is_copy)
    return next((each for other in near for each in other.producers() if each.stream_id == stream), None)


def keep(borrowed: object) -> None:
    """Keep an object for ever: dropping it would send its end to the media driver in the name of the other process."""
    _kept.append(borrowed)


def _disown_all() -> None:
    for each in list(_clients):
        each.disown()


os.register_at_fork(after_in_child=_disown_all)
