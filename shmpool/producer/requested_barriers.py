# SPDX-License-Identifier: Apache-2.0
"""The checkpoint barriers that others request from a producer, and what became of them.

Requests come from the pipeline's coordinator on the control stream, from other processes by the stream's command word,
and from an interval. The native half of the producer sends the barriers. If it took a request and could not send the
barrier, the coordinator is told.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from framegate.schema.control import AckStatus, BarrierAck, InjectBarrier
from framegate.schema.errors import InvalidValue
from framegate.shmpool.producer.command_word import ProducersWord, can_carry, word_path
from framegate.shmpool.producer.sent_barrier import SentBarrier

if TYPE_CHECKING:
    from framegate.shmpool.producer.producer import Producer

SENT_BARRIERS_KEPT: Final = 16
"""How many sent barriers are kept until the caller asks for them; beyond it the oldest are dropped."""
_UNALIGNED: Final = 1
_INTERVAL_MAX_S: Final = 1e9
_log = logging.getLogger(__name__)


class RequestedBarriers:
    """The barriers of one producer. Without a pipeline there are no requests."""

    def __init__(self, producer: Producer, pipeline: str | None, interval_s: float | None) -> None:
        """Raises ``InvalidValue`` for an interval that is out of range, or without a pipeline."""
        self._producer = producer
        self._pipeline = pipeline
        self._word = None if pipeline is None else ProducersWord(producer.stream_text)
        self._interval_ns = _interval_ns(interval_s, pipeline)
        self._lost: tuple[int, int] | None = None
        self._requested_id: int | None = None
        self._outcome_before: tuple[int, int] | None = None
        self._sent = deque[SentBarrier](maxlen=SENT_BARRIERS_KEPT)

    def inject(self) -> None:
        """Give the present word to the native half."""
        native = self._producer.native
        if native is not None and self._word is not None:
            native.inject_by(self._word.native, self._interval_ns)

    def on_regions(self, folder_of_ring: str, epoch: int) -> None:
        """Move to the word beside the regions that were mapped."""
        if self._word is not None and self._word.move_to(word_path(folder_of_ring, self._producer.stream_id, epoch)):
            self.inject()

    def let_go(self) -> None:
        """Release the word, so that the stream's next producer can take the file."""
        if self._producer.native is not None:
            self._producer.native.inject_by(None)
        self._word = None

    def on_inject_barrier(self, asked: InjectBarrier) -> None:
        """Request a barrier for the coordinator. The word ignores its repetitions."""
        if self._word is None or not can_carry(asked.checkpoint_id, asked.epoch):
            return
        self.leave_to_coordinator()
        if asked.checkpoint_id != self._requested_id:
            self._requested_id, self._outcome_before = asked.checkpoint_id, self._outcome()
        self._word.inject(asked.checkpoint_id, asked.epoch, unaligned=bool(asked.flags & _UNALIGNED))

    def leave_to_coordinator(self) -> None:
        """Stop the interval: a coordinator of the pipeline was heard."""
        if self._interval_ns is None:
            return
        _log.warning("%s: pipeline %s has a coordinator, so the interval is over", self._producer, self._pipeline)
        self._interval_ns = None
        if self._producer.native is not None:
            self._producer.native.leave_to_coordinator()

    def send_due(self, now_ns: int) -> None:
        """Send barriers that no frame takes along: the stream may be silent, or its producer in user code (B21)."""
        if self._word is not None and self._word.retry(now_ns):
            self.inject()
        self.tell_lost(now_ns)
        self._say_ignored()

    def tell_lost(self, now_ns: int) -> None:
        """Tell the coordinator of a barrier that was taken and could not be sent."""
        self.note_lost(now_ns)
        lost, pipeline, stream = self._lost, self._pipeline, self._producer.stream_id
        if lost is None or pipeline is None:
            return
        failure = BarrierAck(
            checkpoint_id=lost[0],
            epoch=lost[1],
            status=AckStatus.FAILED,
            duration_ns=0,
            bytes=0,
            pipeline=pipeline,
            operator_id=f"source-{stream}",
            reason=f"stream {stream} lost its lease or its streams before the barrier could be sent",
        )
        if self._producer.client.send(failure):
            self._lost = None

    def note_lost(self, now_ns: int) -> None:
        """Keep the lost barrier of the native half, before that is dropped."""
        if self._producer.native is not None:
            self._lost = self._producer.native.send_due(now_ns) or self._lost

    def keep_sent(self) -> None:
        """Keep the places of sent barriers, before the native half, which knows them, is dropped."""
        native = self._producer.native
        if native is not None:
            self._sent.extend(SentBarrier(*each) for each in native.take_sent_barriers())

    def take_sent(self) -> list[SentBarrier]:
        """The barriers that were sent since the last call, oldest first."""
        self.keep_sent()
        found = []
        while self._sent:
            found.append(self._sent.popleft())
        return found

    def _outcome(self) -> tuple[int, int]:
        counters = self._producer.counters()
        return counters.get("barriers_sent", 0), counters.get("barrier_duplicates_ignored", 0)

    def _say_ignored(self) -> None:
        """Warn if the last request is not above what was sent: a coordinator that lost its ids would wait in vain."""
        if self._outcome_before is None:
            return
        (sent_before, ignored_before), (sent, ignored) = self._outcome_before, self._outcome()
        if sent == sent_before and ignored == ignored_before:
            return
        if sent == sent_before:
            _log.warning(
                "%s: barrier %s is not sent, because it or a higher one was sent before. If the coordinator of %s "
                "began anew, remove the command.word of the stream",
                self._producer,
                self._requested_id,
                self._pipeline,
            )
        self._outcome_before = None


def _interval_ns(interval_s: float | None, pipeline: str | None) -> int | None:
    if interval_s is None:
        return None
    if pipeline is None or not 0 < interval_s <= _INTERVAL_MAX_S:
        what = f"barriers come every 0 to {_INTERVAL_MAX_S:.0f} s, in a pipeline"
        raise InvalidValue(what, barrier_interval_s=interval_s, pipeline=pipeline)
    return max(round(interval_s * 1e9), 1)
