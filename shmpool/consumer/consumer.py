# SPDX-License-Identifier: Apache-2.0
"""A consumer of a stream: iterate it, poll it, or await it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Final, Self

from framegate.schema.control import ControlSignal, SignalKind
from framegate.schema.errors import ClientStalled, MediaDriverGone, TransportClosed, WrongUsage
from framegate.schema.wire import FrameProgress
from framegate.shmpool.client.clients_here import keep
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.consumer.control_inbox import Control, ControlInbox
from framegate.shmpool.consumer.readable import Readable
from framegate.shmpool.consumer.reader_port import ReaderPort
from framegate.shmpool.consumer.subscriber import Subscriber, Wishes
from framegate.shmpool.idle import WaitName

from framegate._native import Frame, FrameBatch, PoolConsumer

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.client.link import Link

_WAIT_SLICE_NS: Final = 100_000_000
_BATCH: Final = 64


class Consumer(Subscriber):
    """One consumer; a context manager and an iterator of ``Frame``.

    Iterating ends at the stream's end, or when no frame came for ``timeout_s``. Lost frames are gaps, counted in
    ``counters()``: ``gap_drops`` never came, those before an end too, ``late_drops`` came and were overwritten before
    they were read.
    """

    def __init__(
        self,
        client: Client,
        stream: int,
        *,
        timeout_s: float | None = None,
        max_rate_hz: int = 0,
        own_stream: bool = False,
        descriptor_stream: int | None = None,
        on_progress: Callable[[FrameProgress], None] | None = None,
        on_control: Callable[[Control], None] | None = None,
        idle: WaitName = "bell",
    ) -> None:
        wishes = Wishes(
            max_rate_hz=max_rate_hz,
            own_stream=own_stream,
            descriptor_stream=descriptor_stream,
            on_progress=on_progress,
        )
        super().__init__(client, stream, wishes)
        self.timeout_s = timeout_s
        self._idle = idle
        self._native: PoolConsumer | None = None
        self._control = ControlInbox(on_control)
        self._relinked = threading.Event()
        self._ready: deque[Frame] = deque()
        self._readable: Readable | None = None
        self._late = 0
        self._left: tuple[int, int] | None = None
        """The epoch whose regions went last, and what was expected next of it."""

    def __iter__(self) -> Iterator[Frame]:
        while (frame := self._fresh()) is not None or self._more():
            if frame is not None:
                yield frame

    async def __aiter__(self) -> AsyncIterator[Frame]:
        import asyncio  # a tenth of what importing framegate takes, and few need it

        # A thread that outlives a cancelled wait leaves what it read in `_ready`, for whoever asks next.
        while (frame := self._fresh()) is not None or await asyncio.to_thread(self._more):
            if frame is not None:
                yield frame

    def poll(self, limit: int = _BATCH, timeout_s: float = 0.0) -> FrameBatch:
        """Frames that are there, at most ``limit``; waits up to ``timeout_s`` for the first.

        A sequence of ``Frame``, with the columns ``seqs`` and ``timestamps`` over all of them.
        """
        if self._readable is not None and not self.is_closed:
            return FrameBatch(self._readable.take(limit, timeout_s))
        if self._ready:
            return FrameBatch([self._ready.popleft() for _ in range(min(limit, len(self._ready)))])
        return self._read(limit, timeout_s)

    def fileno(self) -> int:
        """A descriptor for ``select``, ``selectors`` and ``loop.add_reader``: readable while ``poll`` has frames.

        From the first call on frames are read ahead, a batch of 64 at most, and given out by ``poll`` alone. At the
        stream's end it stays readable, and ``has_finished`` holds.
        """
        if self.is_closed:
            raise TransportClosed("the consumer is closed", stream=self.stream_id)
        if self._readable is None:
            self._readable = Readable(self._ready, self._refill, self._is_over)
        return self._readable.fd

    def _is_over(self) -> bool:
        return self.is_closed or super().has_finished()

    def _read(self, limit: int, timeout_s: float) -> FrameBatch:
        native = self._native
        if native is None:
            # Between two media drivers; the client's thread is at it.
            self._wait_for_link(timeout_s)
            return FrameBatch()
        try:
            frames = native.poll(limit, int(timeout_s * 1e9) if timeout_s else 0)
        except (MediaDriverGone, ClientStalled, TransportClosed):
            if self.is_closed:
                raise
            if native is self._native:
                # The client's thread has not seen it yet.
                self._relinked.clear()
            self._wait_for_link(timeout_s)
            return FrameBatch()
        if native.has_events:
            self._take_events(native)
        # Asked here first: most polls come before any end, and a call more is half a frame's reading.
        if self._ended_epoch is not None and (epoch := frames.epoch) is not None:
            self.on_frame_read(epoch)
        if self.streams.will_hear is not None:
            self.change_stream(self._read_rest)
        return frames

    def control(self) -> list[Control]:
        """Barriers, watermarks and signals that were read between the frames since the last call, oldest first.

        They are read when frames are. Empty where ``on_control`` takes them.
        """
        return self._control.take()

    def has_finished(self) -> bool:
        """Whether the producer said that no frame follows, and all before were read. Ask after an empty ``poll``."""
        return not self._ready and super().has_finished()

    def counters(self) -> dict[str, int]:
        """Frames by what became of them, over all epochs and media drivers."""
        found = super().counters()
        # They were there when their batch was read, and gone when their turn came.
        found["frames"] = found.get("frames", 0) - self._late
        found["late_drops"] = found.get("late_drops", 0) + self._late
        # Frames of an epoch that is over and never heard; one that still comes is no longer counted.
        found["gap_drops"] = found.get("gap_drops", 0) + found.pop("unheard", 0)
        found["events_dropped"] = found.get("events_dropped", 0) + self._control.dropped
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _fresh(self) -> Frame | None:
        """The next frame of the batch that was not overwritten meanwhile, nor will be at once."""
        epoch, resume_at = 0, 0
        while self._ready:
            frame = self._ready.popleft()
            if frame.epoch == epoch and frame.seq < resume_at:
                self._late += 1
            elif frame.is_valid():
                return frame
            else:
                self._late += 1
                native, epoch = self._native, frame.epoch
                resume_at = native.lapped(epoch, frame.seq) if native is not None else 0
        return None

    def _read_rest(self) -> bool:
        rest = self._native.poll(_BATCH, 0) if self._native is not None else []
        self._ready.extend(rest)
        return bool(rest)

    def _wait_for_link(self, timeout_s: float) -> None:
        if self.is_closed:
            raise TransportClosed("the consumer is closed", stream=self.stream_id)
        self._relinked.wait(timeout_s)

    def _more(self) -> bool:
        if self._readable is not None:
            raise WrongUsage(
                "the frames of this consumer go to whoever has its descriptor",
                stream=self.stream_id,
                hint="Take them by poll() when fileno() is readable, or iterate another consumer of the stream.",
            )
        return self._refill()

    def _refill(self) -> bool:
        """Read a batch; False at the end, after ``close``, or when the time is up."""
        deadline_ns = None if self.timeout_s is None else monotonic_ns() + int(self.timeout_s * 1e9)
        while not self.is_closed:
            try:
                self._ready.extend(self._read(_BATCH, _WAIT_SLICE_NS / 1e9))
            except TransportClosed:
                # Another thread closed it; anything else goes on by itself.
                return False
            if self._ready:
                return True
            if self.has_finished() or (deadline_ns is not None and monotonic_ns() >= deadline_ns):
                return False
        return False

    def _take_events(self, native: PoolConsumer) -> None:
        for data, epoch, last_seq in native.events():
            message = self._control.hear(data, epoch, last_seq)
            if isinstance(message, ControlSignal) and message.kind is SignalKind.STREAM_GRACEFUL_END:
                self.on_end_read(message.source_epoch)
                self.on_end_known(message.source_epoch, message.after_seq)

    def on_end_known(self, epoch: int, after_seq: int | None) -> None:
        """What was published up to there and never heard of is a gap."""
        native, left = self._native, self._left
        if native is None or after_seq is None:
            return
        native.note_end(epoch, after_seq)
        if left is not None and left[0] == epoch:
            self._left = None
            if native.epoch != epoch:
                self.on_end_read(epoch)
            if native.last_seq is None or native.epoch != epoch:
                # It ended while this was away. What it has of the epoch since then it counts itself.
                self._count("gap_drops", max(after_seq + 1 - left[1] - native.counters().get("unheard", 0), 0))

    def on_leaving(self) -> None:
        """Gaps at an end that is known are counted now: whatever is asked next finds the sequence behind them."""
        native = self._native
        if native is not None:
            native.settle()
            if native.epoch is not None and native.next_seq is not None:
                self._left = native.epoch, native.next_seq

    # --- on the client's thread ----------------------------------------------------------------------------

    def make_port(self, link: Link) -> ReaderPort:
        """A native consumer that reads the shared descriptor stream alone."""
        self._native = PoolConsumer(self.streams.open_shared(link), self.stream_id, idle=self._idle)
        return self._native

    def on_link(self, link: Link) -> None:
        """Frames can be polled again."""
        super().on_link(link)
        self._relinked.set()

    def on_link_lost(self, reason: str) -> None:
        """Whoever polls waits."""
        super().on_link_lost(reason)
        self._native = None
        self._relinked.clear()

    def disown(self) -> None:
        """Leave the position in the stream to the process that reads it."""
        super().disown()
        keep(self._native)
        self._native, self._relinked = None, threading.Event()

    def leave(self) -> None:
        """Nobody waits any longer."""
        self._relinked.set()
        if self._readable is not None:
            self._readable.stop()
        super().leave()
