# SPDX-License-Identifier: Apache-2.0
"""A join agent's part in the control channel of its pipeline: signals are aligned, handled, and forwarded once
(PROTOCOL 12.6)."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from framegate.joinbarrier.checkpoint.control_channel import ControlChannel
from framegate.joinbarrier.checkpoint.signal_messages import control_message, signal_of
from framegate.joinbarrier.checkpoint.signals import BarrierSignal
from framegate.schema import Message
from framegate.schema.control import ControlSignal
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.transport.interface import Received

_HEARD_MAX: Final = 1_024
_ATTEMPTS_AT_END: Final = 100
_log = logging.getLogger(__name__)


class ControlSignals:
    """The signals of a join. Call ``work`` between two slices of the engine, and ``close`` after the journal's."""

    def __init__(self, client: Client, pipeline: str, upstreams: int) -> None:
        self._client = client
        self._pipeline = pipeline
        self._channel = ControlChannel(upstreams)
        self._heard = deque[ControlSignal](maxlen=_HEARD_MAX)
        self._forwards = deque[ControlSignal]()
        client.listen(self)

    @property
    def counts(self) -> dict[str, int]:
        """How many signals went which way; only counts above 0."""
        return dict(sorted(self._channel.counts.items()))

    def work(self) -> bool:
        """Handle the signals that arrived. Returns whether the agent must end; ``close`` forwards the signal that ends
        it."""
        self._send_forwards()
        while self._heard:
            signal = self._channel.hear(signal_of(self._heard.popleft()))
            if signal is None:
                continue
            if isinstance(signal, BarrierSignal):
                self._forwards.append(control_message(signal, self._pipeline))
            if signal.is_terminal:
                _log.info("ends by a %s on the control channel of pipeline %s", signal.kind, self._pipeline)
                return True
            self._send_forwards()
        return False

    def close(self) -> None:
        """Forward the signals that are left, and stop listening. Idempotent."""
        for _ in range(_ATTEMPTS_AT_END):
            if not self._send_forwards():
                break
        if self._forwards:
            self._channel.counts["unsent"] += len(self._forwards)
            _log.warning("%d signals could not be sent on", len(self._forwards))
        with self._client.turn:
            self._client.remove(self)

    def _send_forwards(self) -> bool:
        """Forward what can be sent now. Returns whether signals are left."""
        while self._forwards:
            with self._client.turn:
                if not self._client.send(self._forwards[0]):
                    return True
            self._forwards.popleft()
            self._channel.counts["forwarded"] += 1
        return False

    # --- called by the client's thread -------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Do nothing: signals are sent on the client's own publication."""

    def on_link_lost(self, reason: str) -> None:
        """Do nothing: signals that were sent meanwhile are lost."""

    def on_tick(self, now_ns: int) -> None:
        """Do nothing: no duty depends on time alone."""

    def on_control(self, received: Received, now_ns: int) -> None:
        """Do nothing: the decoded message arrives in ``on_message``."""

    def on_message(self, message: Message, _now_ns: int) -> None:
        """Queue signals of this pipeline's control channel. Signals between frames are the engine's."""
        if not isinstance(message, ControlSignal) or message.stream_id is not None:
            return
        if message.pipeline == self._pipeline:
            self._heard.append(message)

    def __str__(self) -> str:
        return f"signals of pipeline {self._pipeline}"
