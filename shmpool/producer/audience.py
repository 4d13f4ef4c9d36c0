# SPDX-License-Identifier: Apache-2.0
"""The audience of a stream: its consumers, as their producer hears of them. Pure.

A consumer is here while its hello or QoS arrives (PROTOCOL 7). It is ready once its QoS names the producer's epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from framegate.schema.wire import ConsumerHello, QosConsumer
from framegate.shmpool.client.progress import ProgressPolicy, ProgressWish

STALE_NS: Final = 5_000_000_000
MAX_CONSUMERS: Final = 4096
"""The most consumers that are remembered: their ids come from other processes."""


@dataclass(slots=True)
class _Listener:
    heard_at_ns: int
    epoch: int = 0
    last_seq: int = 0
    came_at_seq: int = 0
    """The newest frame when it came to its epoch. It may never hear of that frame, or of those before."""
    max_rate_hz: int = 0
    progress: ProgressWish | None = None


@dataclass(slots=True)
class Audience:
    """The consumers of one stream."""

    stream_id: int
    ignored: int = 0
    left: int = 0
    """How many consumers gave their lease back. A consumer that fell silent is not counted: it may come again."""
    _listeners: dict[int, _Listener] = field(default_factory=dict)

    def on_hello(self, hello: ConsumerHello, now_ns: int) -> None:
        """Note a consumer's hello: who it is and what it wants."""
        listener = self._heard(hello.consumer_id, now_ns)
        if listener is not None:
            listener.max_rate_hz = hello.max_rate_hz
            wish = (hello.progress_interval_us, hello.progress_bytes_delta, hello.progress_major_delta_units)
            listener.progress = ProgressWish(*wish) if hello.supports_progress else None

    def on_qos(self, qos: QosConsumer, now_ns: int, sent_seq: int | None = None) -> None:
        """Note what a consumer has mapped. ``sent_seq``: the newest frame of the producer's epoch."""
        listener = self._heard(qos.consumer_id, now_ns)
        if listener is not None:
            if listener.epoch != qos.epoch:
                listener.epoch, listener.came_at_seq = qos.epoch, sent_seq or 0
            listener.last_seq = qos.last_seq_seen

    def on_epoch(self, _epoch: int) -> None:
        """Begin a new epoch, which nobody has mapped yet."""
        for listener in self._listeners.values():
            listener.epoch = 0

    def ready(self, epoch: int) -> int:
        """How many consumers have mapped this epoch."""
        return sum(listener.epoch == epoch for listener in self._listeners.values())

    def slowest(self, epoch: int) -> int | None:
        """The sequence up to which no consumer of this epoch lacks a frame; None if none has mapped it.

        A consumer can lack only frames that were sent since it came. One that comes late, or comes again after it stood
        still, does not hold back earlier frames: the next frame is the first that it hears of.
        """
        # A copy, because this runs on another thread than the one that changes the consumers.
        present = [listener for listener in list(self._listeners.values()) if listener.epoch == epoch]
        return min((max(each.last_seq, each.came_at_seq) for each in present), default=None)

    def unmoved(self, epoch: int) -> list[int]:
        """The consumers of this epoch that report nothing beyond its first frame."""
        listeners = list(self._listeners.items())
        return [key for key, one in listeners if one.epoch == epoch and one.last_seq == 0]

    def max_rate_hz(self, consumer_id: int) -> int:
        """The rate that a consumer asked for; 0 for all frames."""
        listener = self._listeners.get(consumer_id)
        return listener.max_rate_hz if listener else 0

    @property
    def wants_progress(self) -> list[int]:
        """The consumers that asked for FrameProgress."""
        return [key for key, listener in self._listeners.items() if listener.progress is not None]

    def progress_policy(self) -> ProgressPolicy:
        """How often progress is sent, by the wishes of all consumers."""
        return ProgressPolicy.of(one.progress for one in self._listeners.values() if one.progress is not None)

    def __contains__(self, consumer_id: object) -> bool:
        """Whether this consumer is here."""
        return consumer_id in self._listeners

    def forget(self, consumer_id: int) -> None:
        """Remove a consumer whose lease ended, or that fell silent."""
        self._listeners.pop(consumer_id, None)

    def leave(self, consumer_id: int) -> None:
        """Remove a consumer that gave its lease back."""
        self.left += consumer_id in self._listeners
        self.forget(consumer_id)

    def stale(self, now_ns: int) -> Iterator[int]:
        """The consumers from which neither hello nor QoS came for too long."""
        yield from [key for key, one in self._listeners.items() if now_ns - one.heard_at_ns > STALE_NS]

    def _heard(self, consumer_id: int, now_ns: int) -> _Listener | None:
        listener = self._listeners.get(consumer_id)
        if listener is None:
            if len(self._listeners) >= MAX_CONSUMERS:
                self.ignored += 1
                return None
            listener = self._listeners[consumer_id] = _Listener(now_ns)
        listener.heard_at_ns = now_ns
        return listener
