# SPDX-License-Identifier: Apache-2.0
"""The progress of a frame that is being filled (PROTOCOL 8): when a producer sends it, and what a consumer accepts.
Pure.

Progress is a hint: it makes no frame available, and no part of a payload may be read because of it. A frame is
available when its descriptor arrives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from framegate.schema.errors import InvalidValue
from framegate.schema.wire import FrameProgress, FrameProgressState

DEFAULT_INTERVAL_NS: Final = 250_000
DEFAULT_BYTES_DELTA: Final = 65_536
SHORTEST_INTERVAL_NS: Final = 100_000
SMALLEST_BYTES_DELTA: Final = 4_096


class ProgressWish(NamedTuple):
    """What a consumer that wants progress asks for in its hello; None where it leaves the choice open."""

    interval_us: int | None = None
    bytes_delta: int | None = None
    major_delta: int | None = None
    """Rows of a row-major frame."""


@dataclass(frozen=True, slots=True)
class ProgressPolicy:
    """How often progress is sent: the smallest values that any consumer asked for, but not below the producer's limits.

    >>> ProgressPolicy.of([ProgressWish(), ProgressWish(1_000, 1 << 20)])
    ProgressPolicy(interval_ns=1000000, bytes_delta=1048576, major_delta=None)
    >>> ProgressPolicy.of([ProgressWish(1, 1)])
    ProgressPolicy(interval_ns=100000, bytes_delta=4096, major_delta=None)
    """

    interval_ns: int = DEFAULT_INTERVAL_NS
    bytes_delta: int = DEFAULT_BYTES_DELTA
    major_delta: int | None = None

    @classmethod
    def of(cls, wishes: Iterable[ProgressWish]) -> ProgressPolicy:
        """The policy for these consumers together."""
        offers = list(wishes)
        intervals = [offer.interval_us * 1_000 for offer in offers if offer.interval_us is not None]
        deltas = [offer.bytes_delta for offer in offers if offer.bytes_delta is not None]
        # Some consumers send 0 rows to say that they have no wish.
        majors = [offer.major_delta for offer in offers if offer.major_delta]
        return cls(
            max(min(intervals, default=DEFAULT_INTERVAL_NS), SHORTEST_INTERVAL_NS),
            max(min(deltas, default=DEFAULT_BYTES_DELTA), SMALLEST_BYTES_DELTA),
            min(majors, default=None),
        )

    def step_bytes(self, major_bytes: int) -> int:
        """How many bytes must be added before the next message; ``major_bytes`` is the length of a row."""
        if self.major_delta is None or major_bytes <= 0:
            return self.bytes_delta
        return max(min(self.bytes_delta, self.major_delta * major_bytes), SMALLEST_BYTES_DELTA)


@dataclass(slots=True)
class _Filling:
    """The frame that is being filled."""

    epoch: int
    seq: int
    total_bytes: int
    major_bytes: int
    filled_bytes: int
    sent_bytes: int = 0
    sent_at_ns: int = 0
    is_complete: bool = False


@dataclass(slots=True)
class ProgressThrottle:
    """The producer's side: reports go in, and the messages to publish come out.

    ``STARTED`` is sent once, with the first report of a frame, and ``COMPLETE`` once, when the whole frame is filled.
    Between them the newest state is sent when the interval is over and enough bytes were added.
    """

    stream_id: int
    policy: ProgressPolicy = field(default_factory=ProgressPolicy)
    _frame: _Filling | None = None

    def report(
        self, *, epoch: int, seq: int, filled_bytes: int, total_bytes: int, major_bytes: int, now_ns: int
    ) -> list[FrameProgress]:
        """Report how many bytes of a frame are filled. Raises ``InvalidValue`` for more than its length.

        Fewer bytes than before send nothing: the sequence of an abandoned frame is used again, and what was sent of it
        stays.
        """
        if not 0 <= filled_bytes <= total_bytes:
            raise InvalidValue(
                "progress is at most the frame's length",
                stream=self.stream_id,
                seq=seq,
                have_bytes=filled_bytes,
                limit_bytes=total_bytes,
            )
        frame = self._frame
        if frame is None or (frame.epoch, frame.seq) != (epoch, seq):
            frame = self._frame = _Filling(epoch, seq, total_bytes, major_bytes, filled_bytes)
            return [self._said(frame, FrameProgressState.STARTED, now_ns), *self.poll(now_ns)]
        frame.total_bytes, frame.major_bytes = total_bytes, major_bytes
        frame.filled_bytes = max(frame.filled_bytes, filled_bytes)
        return self.poll(now_ns)

    def poll(self, now_ns: int) -> list[FrameProgress]:
        """The messages that are due without a new report: the newest state, if it had to wait for the interval."""
        frame = self._frame
        if frame is None or frame.is_complete:
            return []
        if frame.filled_bytes >= frame.total_bytes:
            frame.is_complete = True
            return [self._said(frame, FrameProgressState.COMPLETE, now_ns)]
        is_due = now_ns - frame.sent_at_ns >= self.policy.interval_ns
        has_moved = frame.filled_bytes - frame.sent_bytes >= self.policy.step_bytes(frame.major_bytes)
        return [self._said(frame, FrameProgressState.PROGRESS, now_ns)] if is_due and has_moved else []

    def _said(self, frame: _Filling, state: FrameProgressState, now_ns: int) -> FrameProgress:
        frame.sent_bytes, frame.sent_at_ns = frame.filled_bytes, now_ns
        return FrameProgress(
            stream_id=self.stream_id,
            epoch=frame.epoch,
            seq=frame.seq,
            payload_bytes_filled=frame.filled_bytes,
            state=state,
        )


class _Seen(NamedTuple):
    seq: int
    state: FrameProgressState
    filled_bytes: int


@dataclass(slots=True)
class ProgressFilter:
    """The consumer's side: it decides which messages to accept. It remembers one frame for each slot."""

    stream_id: int
    dropped: int = 0
    _epoch: int | None = None
    _nslots: int = 0
    _longest_payload: int = 0
    _slots: dict[int, _Seen] = field(default_factory=dict)

    def on_mapped(self, epoch: int, nslots: int, longest_payload: int) -> None:
        """Begin an epoch, whose regions were mapped."""
        self._epoch, self._nslots, self._longest_payload = epoch, nslots, longest_payload
        self._slots.clear()

    def on_unmapped(self) -> None:
        """Forget everything, because the regions are unmapped."""
        self._epoch = None
        self._slots.clear()

    def admits(self, message: FrameProgress) -> bool:
        """Whether a message is about a frame of the mapped regions, and says more than was known."""
        if message.stream_id != self.stream_id:
            return False
        is_admitted = self._is_sound(message) and self._is_news(message)
        if is_admitted:
            self._slots[self._slot(message)] = _Seen(message.seq, message.state, message.payload_bytes_filled)
        else:
            self.dropped += 1
        return is_admitted

    def _is_sound(self, message: FrameProgress) -> bool:
        return (
            self._epoch is not None
            and message.epoch == self._epoch
            and message.state is not FrameProgressState.UNKNOWN
            and message.payload_bytes_filled <= self._longest_payload
        )

    def _is_news(self, message: FrameProgress) -> bool:
        seen = self._slots.get(self._slot(message))
        if seen is None or message.seq > seen.seq:
            return True
        if message.seq < seen.seq or message.payload_bytes_filled < seen.filled_bytes:
            return False
        is_more = message.state > seen.state
        return is_more or message.state is seen.state is FrameProgressState.PROGRESS

    def _slot(self, message: FrameProgress) -> int:
        return message.seq & (self._nslots - 1)
