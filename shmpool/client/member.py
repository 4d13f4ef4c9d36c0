# SPDX-License-Identifier: Apache-2.0
"""The members of a client, which its thread serves: producers, consumers, and engines of other packages."""

from __future__ import annotations

from typing import Protocol

from framegate.schema import Message
from framegate.shmpool.client.link import Link
from framegate.shmpool.transport.interface import Received


class Member(Protocol):
    """A producer or consumer, as the client's thread sees it. Only that thread calls these methods."""

    def on_link(self, link: Link) -> None:
        """Add the streams on a new Aeron client."""
        ...

    def on_link_lost(self, reason: str) -> None:
        """Stop using everything of the Aeron client, which is gone."""
        ...

    def on_message(self, message: Message, now_ns: int) -> None:
        """Handle a message of the control, announce or QoS stream."""
        ...

    def on_tick(self, now_ns: int) -> None:
        """Time passed."""
        ...

    def close(self) -> None:
        """End with the client."""
        ...


class ControlListener(Member, Protocol):
    """A member that reads raw messages of the control stream, and from which publication each came."""

    def on_control(self, received: Received, now_ns: int) -> None:
        """Handle one message of the control stream before it is decoded. No message of a peer may make this raise."""
        ...
