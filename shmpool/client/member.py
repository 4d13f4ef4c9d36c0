# SPDX-License-Identifier: Apache-2.0
"""What a client's thread keeps going: a producer, a consumer, or an engine of another package."""

from __future__ import annotations

from typing import Protocol

from framegate.schema import Message
from framegate.shmpool.client.link import Link
from framegate.shmpool.transport.interface import Received


class Member(Protocol):
    """A producer or consumer, as the client's thread sees it. Called on that thread alone."""

    def on_link(self, link: Link) -> None:
        """A new Aeron client: add the streams again."""
        ...

    def on_link_lost(self, reason: str) -> None:
        """The Aeron client is gone: nothing may be used any more."""
        ...

    def on_message(self, message: Message, now_ns: int) -> None:
        """A message of the control, announce or QoS stream."""
        ...

    def on_tick(self, now_ns: int) -> None:
        """Time passed."""
        ...

    def close(self) -> None:
        """The client ends."""
        ...


class ControlListener(Member, Protocol):
    """A member that reads the control stream for itself: the bytes as they came, and which publication sent them."""

    def on_control(self, received: Received, now_ns: int) -> None:
        """One message of the control stream, before it is decoded. What peers sent must not raise here."""
        ...
