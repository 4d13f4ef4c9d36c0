# SPDX-License-Identifier: Apache-2.0
"""Who listens to a stream, as its producer hears it. Pure.

A consumer is here while its hello or QoS comes (PROTOCOL 7); it is ready once its QoS names the producer's epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from framegate.schema.wire import ConsumerHello, QosConsumer
from framegate.shmpool.client.progress import ProgressPolicy, ProgressWish

STALE_NS: Final = 5_000_000_000
MAX_CONSUMERS: Final = 4096
"""Consumer ids come from other processes: no more than this are remembered."""


@dataclass(slots=True)
class _Listener:
    heard_at_ns: int
    epoch: int = 0
    last_seq: int = 0
    came_at_seq: int = 0
    """The newest frame when it came to its epoch: it may never hear of it, or of those before."""
    max_rate_hz: int = 0
    progress: ProgressWish | None = None


@dataclass(slots=True)
class Audience:
    """The consumers of one stream."""

    stream_id: int
    ignored: int = 0
    left: int = 0
    """How many were here and gave their lease back; who fell silent may have stood still, and comes again."""
    _listeners: dict[int, _Listener] = field(default_factory=dict)

    def on_hello(self, hello: ConsumerHello, now_ns: int) -> None:
        """A consumer says who it is and what it wants."""
        listener = self._heard(hello.consumer_id, now_ns)
        if listener is not None:
            listener.max_rate_hz = hello.max_rate_hz
            wish = (hello.progress_interval_us, hello.progress_bytes_delta, hello.progress_major_delta_units)
            listener.progress = ProgressWish(*wish) if hello.supports_progress else None

    def on_qos(self, qos: QosConsumer, now_ns: int, sent_seq: int | None = None) -> None:
        """A consumer says what it has mapped. ``sent_seq``: the newest frame of the producer's epoch."""
        listener = self._heard(qos.consumer_id, now_ns)
        if listener is not None:
            if listener.epoch != qos.epoch:
                listener.epoch, listener.came_at_seq = qos.epoch, sent_seq or 0
            listener.last_seq = qos.last_seq_seen

    def on_epoch(self, _epoch: int) -> None:
        """The producer began a new epoch: nobody has mapped it yet."""
        for listener in self._listeners.values():
            listener.epoch = 0

    def ready(self, epoch: int) -> int:
        """How many have mapped that epoch."""
        return sum(listener.epoch == epoch for listener in self._listeners.values())

    def slowest(self, epoch: int) -> int | None:
        """The sequence up to which nobody who has mapped that epoch lacks a frame; None where nobody has mapped it.

        A consumer can lack only what was sent since it came. One that comes late, or comes again after it stood still,
        says nothing of the frames before: it hears of no frame but the next one.
        """
        # A copy: it is asked for on another thread than the one that hears.
        present = [listener for listener in list(self._listeners.values()) if listener.epoch == epoch]
        return min((max(each.last_seq, each.came_at_seq) for each in present), default=None)

    def unmoved(self, epoch: int) -> list[int]:
        """Those who have mapped that epoch and say that they have seen nothing of it beyond its first frame."""
        listeners = list(self._listeners.items())
        return [key for key, one in listeners if one.epoch == epoch and one.last_seq == 0]

    def max_rate_hz(self, consumer_id: int) -> int:
        """What a consumer asked for; 0: everything."""
        listener = self._listeners.get(consumer_id)
        return listener.max_rate_hz if listener else 0

    @property
    def wants_progress(self) -> list[int]:
        """Those that asked for FrameProgress."""
        return [key for key, listener in self._listeners.items() if listener.progress is not None]

    def progress_policy(self) -> ProgressPolicy:
        """How often they all together want it."""
        return ProgressPolicy.of(one.progress for one in self._listeners.values() if one.progress is not None)

    def __contains__(self, consumer_id: object) -> bool:
        """Whether that consumer is here."""
        return consumer_id in self._listeners

    def forget(self, consumer_id: int) -> None:
        """Its lease ended, or it fell silent."""
        self._listeners.pop(consumer_id, None)

    def leave(self, consumer_id: int) -> None:
        """It gave its lease back."""
        self.left += consumer_id in self._listeners
        self.forget(consumer_id)

    def stale(self, now_ns: int) -> Iterator[int]:
        """Those from whom neither hello nor QoS came for too long."""
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
