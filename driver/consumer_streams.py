# SPDX-License-Identifier: Apache-2.0
"""Streams of a consumer's own: what a ConsumerHello may ask for, and what the driver grants (PROTOCOL 7.2).

The driver answers only consumers that hold a lease. It takes the ids from the configured ranges, and they are free
again when the lease ends. It sends nothing on these streams: the producer reads the ConsumerConfig and opens them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from framegate.schema.config.types import IdRange
from framegate.schema.wire import Bool, ConsumerConfig, ConsumerHello, Mode

# A descriptor is useless on another host, so only channels of this host are granted.
_CHANNEL: Final = re.compile(r"aeron:ipc(\?[!-~]{1,500})?")


class IdPool:
    """The stream ids of one range, given out in turn.

    >>> pool = IdPool(IdRange(1, 2))
    >>> pool.take(), pool.take(), pool.take()
    (1, 2, None)
    >>> pool.give_back(1)
    >>> pool.take()
    1
    """

    def __init__(self, ids: IdRange | None) -> None:
        self._ids = ids
        self._taken: set[int] = set()
        self._next = ids.first if ids else 0

    def __len__(self) -> int:
        """How many ids are in use."""
        return len(self._taken)

    def take(self) -> int | None:
        """Take the id that was unused for longest; None if none is free."""
        ids = self._ids
        if ids is None or len(self._taken) >= len(ids):
            return None
        while self._next in self._taken:
            self._advance(ids)
        stream_id = self._next
        self._advance(ids)
        self._taken.add(stream_id)
        return stream_id

    def give_back(self, stream_id: int) -> None:
        """Free an id, because its consumer has left."""
        self._taken.remove(stream_id)

    def _advance(self, ids: IdRange) -> None:
        self._next = self._next + 1 if self._next < ids.last else ids.first


@dataclass(slots=True)
class Grant:
    """The streams that one consumer was granted."""

    descriptor: tuple[str, int] = ("", 0)
    control: tuple[str, int] = ("", 0)


@dataclass(slots=True)
class ConsumerStreams:
    """The granted streams of all consumers, by lease."""

    descriptor_ids: IdPool
    control_ids: IdPool
    declined: int = 0
    _grants: dict[int, Grant] = field(default_factory=dict)

    def on_hello(self, lease_id: int, hello: ConsumerHello, layout_version: int) -> ConsumerConfig | None:
        """The answer to a consumer that asks for a stream, or has one; None for any other."""
        descriptor_wish = (hello.descriptor_channel, hello.descriptor_stream_id)
        control_wish = (hello.control_channel, hello.control_stream_id)
        grant = self._grants.get(lease_id)
        if grant is None and descriptor_wish == control_wish == ("", 0):
            return None
        grant = self._grants.setdefault(lease_id, Grant())
        grant.descriptor = self._settle(self.descriptor_ids, grant.descriptor, descriptor_wish)
        grant.control = self._settle(self.control_ids, grant.control, control_wish)
        return _config(hello, grant, layout_version)

    def end(self, lease_id: int) -> None:
        """Free the ids of a lease that has ended."""
        grant = self._grants.pop(lease_id, None)
        if grant is not None:
            _release(self.descriptor_ids, grant.descriptor)
            _release(self.control_ids, grant.control)

    def _settle(self, ids: IdPool, have: tuple[str, int], wish: tuple[str, int]) -> tuple[str, int]:
        """Grant one of the two streams. A repeated hello keeps what an earlier one was given."""
        channel, stream_id = wish
        if channel and channel == have[0]:
            return have
        _release(ids, have)
        if wish == ("", 0):
            return "", 0
        taken = ids.take() if stream_id != 0 and _CHANNEL.fullmatch(channel) else None
        if taken is None:
            self.declined += 1
            return "", 0
        return channel, taken


def _release(ids: IdPool, granted: tuple[str, int]) -> None:
    if granted[0]:
        ids.give_back(granted[1])


def _config(hello: ConsumerHello, grant: Grant, layout_version: int) -> ConsumerConfig:
    fits = hello.expected_layout_version in (0, layout_version)
    return ConsumerConfig(
        stream_id=hello.stream_id,
        consumer_id=hello.consumer_id,
        use_shm=Bool.TRUE if hello.supports_shm and fits else Bool.FALSE,
        # A rate can only be kept on a descriptor stream of the consumer's own.
        mode=hello.mode if grant.descriptor[0] else Mode.STREAM,
        descriptor_stream_id=grant.descriptor[1],
        control_stream_id=grant.control[1],
        descriptor_channel=grant.descriptor[0],
        control_channel=grant.control[0],
    )
