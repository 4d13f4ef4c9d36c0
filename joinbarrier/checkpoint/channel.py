# SPDX-License-Identifier: Apache-2.0
"""The channel between two stages of one process, as its users see it."""

from __future__ import annotations

from typing import Final, Protocol

from framegate.joinbarrier.checkpoint.aligner import checked_message
from framegate.joinbarrier.checkpoint.messages import CheckpointBarrier, Message
from framegate.joinbarrier.checkpoint.native_channel import NativeChannel
from framegate.joinbarrier.checkpoint.numbers import whole
from framegate.joinbarrier.checkpoint.settings import Implementation, is_native
from framegate.schema.errors import BarrierInjectionFailed

_CAPACITY_MAX: Final = 1 << 26


class _Carries(Protocol):
    @property
    def is_closed(self) -> bool: ...

    def push(self, message: Message) -> bool: ...
    def pop(self) -> Message | None: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...


class Channel:
    """A channel from one sender to one receiver: ``capacity`` messages, and one more slot that only a barrier may take.

    >>> from framegate.joinbarrier.checkpoint import CheckpointBarrier, Event
    >>> channel = Channel(1, impl="reference")
    >>> event, barrier = Event("full"), CheckpointBarrier(1, 1)
    >>> channel.push(event), channel.push(event), channel.push(barrier), channel.push(barrier)
    (True, False, True, False)
    """

    def __init__(self, capacity: int, impl: Implementation = "native") -> None:
        capacity = whole("capacity", capacity, 1, _CAPACITY_MAX)
        self._carries: _Carries = NativeChannel(capacity) if is_native(impl) else _specified(capacity)

    def push(self, message: Message) -> bool:
        """Send a message; False if the channel is full. The sender then tries again, so a barrier is late but never
        lost.

        Raises BarrierInjectionFailed if the message is a barrier and the channel is closed.
        """
        checked_message(message)
        if isinstance(message, CheckpointBarrier) and self._carries.is_closed:
            raise BarrierInjectionFailed("the channel is closed", checkpoint_id=message.checkpoint_id)
        return self._carries.push(message)

    def pop(self) -> Message | None:
        """Take the oldest message, even from a closed channel; None if there is none."""
        return self._carries.pop()

    def close(self) -> None:
        """Close the channel: it takes no more messages."""
        self._carries.close()

    @property
    def is_closed(self) -> bool:
        """Whether the channel is closed."""
        return self._carries.is_closed

    def __len__(self) -> int:
        return len(self._carries)


def _specified(capacity: int) -> _Carries:
    from framegate.spec.checkpoint.channel import Channel as SpecifiedChannel

    return SpecifiedChannel(capacity)
