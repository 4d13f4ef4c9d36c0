# SPDX-License-Identifier: Apache-2.0
"""The sender of one stream of a replay: its producer, one epoch after another, and the frames it could not send."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from framegate.recording.frames import Between, FrameOfRecording
from framegate.schema.control import CheckpointBarrier, ControlSignal, SignalKind, Watermark
from framegate.schema.errors import FrameTooLarge, InvalidValue, NotAttached, WrongArray
from framegate.shmpool.client.client import Client
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.producer.predecessor import attached_behind_predecessor
from framegate.shmpool.producer.producer import DEFAULT_PIPELINE, Producer
from framegate.shmpool.producer.sent_barrier import SentBarrier
from framegate.tools.replay.declared import Declared, clock_of
from framegate.tools.replay.held_up import HeldUp
from framegate.tools.replay.place import START, Place
from framegate.tools.replay.replay_state import StreamState

TOO_LARGE: Final = "too_large"
REGRESSED: Final = "regressed"
UNDESCRIBED: Final = "undescribed"
_SLICE_S: Final = 0.05
_DRAIN_SLICES: Final = 40
_REMAP_SLICES: Final = 200
_AWAY_NS: Final = 30_000_000_000
"""A consumer that stood still for longer is taken for dead."""
_log = logging.getLogger(__name__)


class Sender:
    """The producer of one stream. Each epoch of the recording becomes an epoch of its own, with its own sequences."""

    def __init__(
        self,
        client: Client,
        stream: int,
        wait: Callable[[float], bool],
        pipeline: str | None = DEFAULT_PIPELINE,
        restored: StreamState | None = None,
        *,
        declared: Declared | None = None,
        is_restarted: bool = False,
        consumers: int = 0,
    ) -> None:
        """Attach a producer.

        ``consumers``: how many were waited for, and are waited for again if they stand still. ``wait`` sleeps, and
        returns whether the replay was told to end. ``restored``: the state to go on from. ``declared``: what is known
        of the frames.

        ``is_restarted``: an earlier run of this replay may have been killed, and its lease may not have expired yet.
        """
        self._client = client
        self._wait = wait
        self._consumers = consumers
        self._pipeline = pipeline
        self.stream = stream
        self.place: Place = START if restored is None else restored.place
        """The place after the last frame that was sent. Frames that are not later are not sent again."""
        self.ended_state: StreamState | None = None
        """The place of the stream's end, if it has ended. After it the stream owes no barrier."""
        self._declared = declared or Declared()
        self._clock = self._declared.clock
        attach = partial(self._attached, continues=True)
        self.producer: Producer = attached_behind_predecessor(attach, wait) if is_restarted else self._attached()
        self.frames = 0
        self.bytes = 0
        self.left_out: Counter[str] = Counter()
        self.paused = 0
        """How often the replay waited for the slowest consumer."""
        self._life: tuple[int, int] | None = None
        if restored is not None and restored.recorded_epoch is not None:
            # The new regions go on where the old ones ended. Another recorded epoch gets new regions.
            self._life = restored.loop, restored.recorded_epoch
        self._told: list[tuple[SentBarrier, int | None]] = []
        self._first_seq: int | None = None
        self._past: Counter[str] = Counter()

    def send(self, frame: FrameOfRecording, *, life: int, is_paced: bool) -> bool:
        """Publish a frame. Returns whether it was published. ``life``: how often the recording was replayed before."""
        if not self._begin_epoch((life, frame.epoch), clock_of(frame)):
            return False
        if is_paced and not self._wait_for_room(frame.seq):
            return False
        while True:
            try:
                self._publish(frame, life)
            except NotAttached:
                if not self._wait_attached():
                    return False
            except (FrameTooLarge, InvalidValue, WrongArray) as refusal:
                self.left_out[_cause(refusal)] += 1
                return False
            else:
                break
        self.place = Place(life, frame.position)
        if self._first_seq is None:
            self._first_seq = frame.seq
        self.frames += 1
        self.bytes += len(frame.payload)
        return True

    def _attached(self, *, continues: bool = False) -> Producer:
        return self._client.producer(
            self.stream,
            pipeline=self._pipeline,
            position=self.place.number,
            continues=continues,
            clock=self._clock,
            frame_bytes_max=self._declared.frame_bytes_max,
            wait_s=0,
        )

    def _publish(self, frame: FrameOfRecording, life: int) -> None:
        self.producer.publish(
            frame.array,
            frame.timestamp_ns,
            descriptor_timestamp_ns=frame.descriptor_timestamp_ns,
            trace_id=frame.trace_id,
            seq=frame.seq,
            position=Place(life, frame.position).number,
        )

    def end(self) -> None:
        """Announce that no frame follows."""
        self.producer.end()
        self.ended_state = StreamState(
            stream=self.stream,
            loop=self.place.loop,
            position=self.place.position,
            recorded_epoch=None if self._life is None else self._life[1],
            source_epoch=None,
            after_seq=self.producer.last_seq,
        )

    def sent_barriers(self) -> list[tuple[SentBarrier, int | None]]:
        """The checkpoint barriers that were sent since the last call, each with its recorded epoch.

        Call this on the client's thread, whose turn also guards the change of producers.
        """
        self._note_sent()
        found, self._told = self._told, []
        return found

    def _note_sent(self) -> None:
        recorded_epoch = None if self._life is None else self._life[1]
        self._told.extend((sent, recorded_epoch) for sent in self.producer.sent_barriers())

    def send_between(self, between: Between) -> None:
        """Publish a barrier, a watermark or a signal as this producer's own."""
        message, producer = between.message, self.producer
        while True:
            try:
                match message:
                    case ControlSignal() if message.kind is SignalKind.STREAM_GRACEFUL_END:
                        producer.end()
                    case Watermark() | ControlSignal() | CheckpointBarrier():
                        own = replace(message, stream_id=self.stream, source_epoch=producer.epoch or 0)
                        producer.send_between(own.encode())
                return
            except NotAttached:
                if not self._wait_attached():
                    return

    def _begin_epoch(self, life: tuple[int, int], clock: str | None) -> bool:
        """Change to another epoch if the recording does. Returns False if told to end meanwhile.

        The clock is declared when attaching. If the first frame shows another clock, the producer attaches again.
        """
        if self._life == life or (self._life is None and self._clock == clock):
            self._life = life
            return True
        self._clock = clock
        listeners = self.producer.audience.ready(self.producer.epoch or 0)
        self.wait_read()
        self._close_producer()
        with self._client.turn:
            self._life, self._first_seq = life, None
            # The new place is after everything of earlier rounds.
            self.place = max(self.place, Place(life[0], 0))
        self.producer = self._attached()
        # Consumers would miss frames that are sent before they have mapped the new regions.
        for _ in range(_REMAP_SLICES):
            if self.producer.wait_consumers(listeners, _SLICE_S):
                break
            if self._wait(0):
                return False
        return True

    def _wait_for_room(self, seq: int) -> bool:
        """Stay at most half a ring ahead of the slowest consumer: the other half is for frames that it has yet to read.

        Raises ``ReplayHeldUp`` for a consumer that never reports that it saw anything.
        """
        if not self._wait_audience():
            return False
        first, last = self._first_seq, self.producer.last_seq
        if first is None or last is None:
            return True
        # Where the sequences leap, every earlier frame must be seen first.
        wanted = min(seq - max(self.producer.nslots // 2, 1), last)
        if wanted < first or self.producer.wait_seen(wanted, 0):
            return True
        self.paused += 1
        held_up = HeldUp(self.stream, self.producer.epoch or 0, last, monotonic_ns(), self.producer.stream_text)
        while not self.producer.wait_seen(wanted, _SLICE_S):
            if self._wait(0):
                return False
            if not self.producer.is_attached:
                return True
            held_up.check(self.producer.audience, monotonic_ns())
        return True

    def _wait_audience(self) -> bool:
        """Wait for consumers that were there at the beginning and fell silent: they stood still, and will come back."""
        wanted = self._consumers - self.producer.audience.left
        if wanted <= 0 or self.producer.wait_consumers(wanted, 0):
            return True
        _log.warning("stream %s: the replay waits for a consumer that fell silent", self.producer.stream_text)
        deadline_ns = monotonic_ns() + _AWAY_NS
        while not self.producer.wait_consumers(wanted, _SLICE_S):
            if self._wait(0):
                return False
            wanted = self._consumers - self.producer.audience.left
            if not self.producer.is_attached:
                return True
            if monotonic_ns() >= deadline_ns:
                _log.warning(
                    "stream %s: the replay goes on without the consumer that fell silent", self.producer.stream_text
                )
                self._consumers -= 1
                return True
        return True

    def wait_read(self) -> None:
        """Wait until the consumers have reported that they saw everything. They report once a second at least."""
        last = self.producer.last_seq
        for _ in range(_DRAIN_SLICES):
            if last is None or self.producer.wait_seen(last, _SLICE_S) or self._wait(0):
                return

    def _wait_attached(self) -> bool:
        while not self.producer.is_attached:
            if self._wait(_SLICE_S):
                return False
        return True

    def _close_producer(self) -> None:
        self._past.update(self.producer.counters())
        self._consumers -= self.producer.audience.left
        with self._client.turn:
            self._note_sent()
            self.producer.close()

    def close(self) -> None:
        """Close the producer, which gives the lease back."""
        self._close_producer()

    @property
    def descriptors_lost(self) -> int:
        """How many descriptors no subscriber took in time."""
        return self._past["descriptors_lost"] + self.producer.counters().get("descriptors_lost", 0)


def _cause(refusal: FrameTooLarge | InvalidValue | WrongArray) -> str:
    match refusal:
        case FrameTooLarge():
            return TOO_LARGE
        case InvalidValue():
            return REGRESSED
    return UNDESCRIBED
