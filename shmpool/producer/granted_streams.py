# SPDX-License-Identifier: Apache-2.0
"""Granted streams: those that the driver granted to single consumers, opened and closed by the producer (PROTOCOL 7).

The driver repeats what it granted with every hello of the consumer. Ids come from other processes, so at most
``MAX_OWN_STREAMS`` consumers get streams of their own. Later ones stay on the shared streams, and are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from framegate.schema.wire import ConsumerConfig
from framegate.shmpool.transport.interface import OfferBound, Publication, Transport
from framegate.shmpool.transport.streams import is_of_this_host

from framegate._native import AeronPublication, PoolProducer

MAX_OWN_STREAMS: Final = 1024
_NO_STREAM: Final = ("", 0)


@dataclass(slots=True)
class _Granted:
    """What one consumer was granted, and the publications that were opened for it."""

    descriptor: tuple[str, int]
    control: tuple[str, int]
    max_rate_hz: int
    descriptors: Publication | None = None
    progress: Publication | None = None

    @property
    def said(self) -> tuple[tuple[str, int], tuple[str, int], int]:
        """What the driver granted, to tell a repetition from a change."""
        return self.descriptor, self.control, self.max_rate_hz


class GrantedStreams:
    """The publications for single consumers, on the present link."""

    def __init__(self, bound: OfferBound) -> None:
        self.refused = 0
        """How often a grant beyond the bound was received."""
        self._bound = bound
        self._by_consumer: dict[int, _Granted] = {}

    def __len__(self) -> int:
        """How many consumers have streams of their own."""
        return len(self._by_consumer)

    def consumers(self) -> list[int]:
        """Consumers with granted streams."""
        return list(self._by_consumer)

    def take_up(self, config: ConsumerConfig, max_rate_hz: int, transport: Transport, native: PoolProducer) -> None:
        """Open what the driver granted, and close what it took back. A repetition changes nothing."""
        granted = _Granted(
            descriptor=_pair(config.descriptor_channel, config.descriptor_stream_id),
            control=_pair(config.control_channel, config.control_stream_id),
            max_rate_hz=max_rate_hz,
        )
        have = self._by_consumer.get(config.consumer_id)
        if have is not None:
            if have.said == granted.said:
                return
            self.close(config.consumer_id, native)
        if (granted.descriptor, granted.control) == (_NO_STREAM, _NO_STREAM):
            return
        if len(self._by_consumer) >= MAX_OWN_STREAMS:
            self.refused += 1
            return
        self._by_consumer[config.consumer_id] = granted
        self._open(config.consumer_id, granted, transport, native)

    def _open(self, consumer_id: int, granted: _Granted, transport: Transport, native: PoolProducer) -> None:
        if granted.control != _NO_STREAM:
            granted.progress = transport.add_publication(*granted.control, bound=self._bound)
        if granted.descriptor != _NO_STREAM:
            granted.descriptors = transport.add_publication(*granted.descriptor, bound=self._bound)
            publication = cast(AeronPublication, granted.descriptors)
            native.add_branch(consumer_id, publication, granted.max_rate_hz)

    def close(self, consumer_id: int, native: PoolProducer | None) -> None:
        """Close the streams of a consumer that has gone, or has no streams of its own any more."""
        own = self._by_consumer.pop(consumer_id, None)
        if own is None:
            return
        if native is not None:
            native.remove_branch(consumer_id)
        for publication in (own.descriptors, own.progress):
            if publication is not None:
                publication.close()

    def forget(self) -> None:
        """Forget all streams, because their link has gone."""
        self._by_consumer.clear()

    def progress_ways(self, wanting: Iterable[int], shared: Publication) -> list[Publication]:
        """The publications for progress: each consumer's own control stream, or the shared one for those without."""
        # A copy, because this runs on another thread than the one that opens and closes streams.
        own = {key: one.progress for key, one in list(self._by_consumer.items()) if one.progress is not None}
        asked = list(wanting)
        ways = [publication for key in asked if (publication := own.get(key)) is not None]
        return [*ways, shared] if any(key not in own for key in asked) else ways


def _pair(channel: str, stream_id: int) -> tuple[str, int]:
    """A granted stream. Half a pair, or a channel to another host, does not count."""
    return (channel, stream_id) if stream_id and is_of_this_host(channel) else _NO_STREAM
