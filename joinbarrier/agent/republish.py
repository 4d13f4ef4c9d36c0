# SPDX-License-Identifier: Apache-2.0
"""``publish``: a join's output as a stream of the pool, so that joins can be chained.

If ``publish`` names an input, the engine republishes that input's frame as it writes the row. If it names a function,
the function computes the frame from the only input. It is called for each row once that row is sealed, so nothing is
published that the journal could lose.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from framegate.joinbarrier.agent.former_output import FormerRun
from framegate.joinbarrier.agent.join_input import JoinInput
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.user_function import user_function
from framegate.schema.control import SignalKind
from framegate.schema.errors import BarrierInjectionFailed, FrameTooLarge, InvalidValue, NotAttached, WrongArray
from framegate.schema.merge import ClockDomain
from framegate.shmpool.client.client import Client
from framegate.shmpool.producer.predecessor import attached_behind_predecessor
from framegate.shmpool.producer.producer import Producer

from framegate._native import JoinEngine

if TYPE_CHECKING:
    from framegate.joinbarrier.journal.row import JoinedInput, Row

_ROWS_MAX: Final = 256
_REMAP_S: Final = 0.5
"""How long consumers may take to map new regions. The frames of the inputs wait in their rings meanwhile."""
_U64_MAX: Final = (1 << 64) - 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Declared:
    """What the driver is told of the output's frames. They have the clock of the input that they are made from."""

    clock: str | None = None
    frame_bytes_max: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The signal by which an output ends."""

    barrier_id: int = 0
    is_instant: bool = False


class Republisher:
    """The producer of an output stream. Frames have the number of their row; a new ``out_epoch`` is a new epoch."""

    def __init__(
        self,
        client: Client,
        config: JoinConfig,
        engine: JoinEngine,
        folder: Path,
        source: JoinInput,
        former: FormerRun | None,
    ) -> None:
        # Loaded here because pyarrow takes a tenth of a second, and few joins publish.
        from framegate.joinbarrier.journal.journal import Journal

        self._stream = config.join.out_stream
        self._engine = engine
        self._source = source
        self._out_epoch = engine.out_epoch()
        self._input = config.input[0].name if ":" in config.join.publish else config.join.publish
        self._wait_consumers = config.join.wait_consumers
        self._journal = Journal(folder)
        from_row = None if former is None else former.from_row
        self._end_row = self._journal.next_row
        self._row = self._end_row if from_row is None else min(max(from_row, self._journal.first_row), self._end_row)
        self._first_seq: int | None = None
        self._is_caught_up = False
        # The producer forwards barriers of its inputs, and injects none of its own. Until the source is heard, the
        # configuration gives its clock; that is the only use of this key in a join by sequence.
        is_realtime = config.mergemap.clock_domain == "realtime_synced"
        self._client = client
        self._declared = Declared("realtime" if is_realtime else None)
        self._declared = self._declaration()
        self._continues = from_row is not None
        attach = self._attach
        self.producer: Producer = attach() if former is None else attached_behind_predecessor(attach, former.wait)

    @staticmethod
    def of(
        client: Client,
        config: JoinConfig,
        engine: JoinEngine,
        folder: Path,
        inputs: Sequence[JoinInput],
        former: FormerRun | None = None,
    ) -> Republisher | None:
        """Make the configured republisher; None if nothing is published. ``inputs`` are the join's streams."""
        publish = config.join.publish
        if not publish:
            return None
        kind = Computed if ":" in publish else Copied
        streams = {each.name: each.stream for each in config.input}
        stream = config.input[0].stream if kind is Computed else streams[publish]
        (source,) = (each for each in inputs if each.stream_id == stream)
        return kind(client, config, engine, folder, source, former)

    def _attach(self) -> Producer:
        return self._client.producer(
            self._stream,
            pipeline=None,
            continues=self._continues,
            clock=self._declared.clock,
            frame_bytes_max=self._declared.frame_bytes_max,
            wait_s=0,
        )

    def _declaration(self) -> Declared:
        """What is known of the frames so far. It is unchanged until the source's producer is heard."""
        domain, known = self._source.clock_domain, self._declared
        if domain is None:
            return known
        clock = "realtime" if domain is ClockDomain.REALTIME_SYNCED else None
        return Declared(clock, self._source.longest_payload)

    # --- before the first row ------------------------------------------------------------------------------

    def catch_up(self) -> bool:
        """Publish again what consumers that went back may lack, a few rows at a time and no faster than consumers read.

        Returns False if it must be called again soon. Returns True once all is published and the awaited consumers are
        there.
        """
        if self._is_caught_up or not self.producer.is_attached:
            return self._is_caught_up
        if not self.producer.wait_consumers(self._wait_consumers, 0):
            return False
        for row in self._rows_until(self._end_row):
            if not self._has_room(row.out_seq):
                return False
            if not self._publish_row(row):
                return False
            self._row = row.row + 1
        self._is_caught_up = self._row >= self._end_row
        return self._is_caught_up

    def _rows_until(self, end: int) -> Iterator[Row]:
        if self._row < end:
            yield from self._journal.rows(start=self._row, limit=min(end - self._row, _ROWS_MAX))

    def _has_room(self, seq: int) -> bool:
        """Whether a frame is at most half a ring ahead of the slowest consumer. The other half holds unread frames."""
        first, last = self._first_seq, self.producer.last_seq
        if first is None or last is None:
            return True
        wanted = min(seq - max(self.producer.nslots // 2, 1), last)
        return wanted < first or self.producer.wait_seen(wanted, 0)

    def _publish_row(self, row: Row) -> bool:
        """Publish the frame of a sealed row, if it has one. Returns False if there is no lease to publish with."""
        found = row.inputs[self._input]
        if found.array is None or row.out_epoch != self._out_epoch:
            return True
        try:
            self._publish_frame(row.out_seq, found, found.array)
        except NotAttached as gone:
            _log.warning("out_seq %d was not published: %s", row.out_seq, gone)
            return False
        if self._first_seq is None:
            self._first_seq = row.out_seq
        return True

    def _publish_frame(self, out_seq: int, found: JoinedInput, payload: npt.NDArray[Any]) -> None:
        raise NotImplementedError

    # --- while rows are made -------------------------------------------------------------------------------

    def work(self) -> None:
        """Follow the output's epoch, between two slices."""
        epoch, declared = self._engine.out_epoch(), self._declaration()
        if epoch == self._out_epoch and declared == self._declared:
            return
        # Another output epoch begins its numbers again; within an epoch they never go back.
        self._continues = epoch == self._out_epoch and (self._continues or self.producer.last_seq is not None)
        self._out_epoch, self._declared = epoch, declared
        listeners = self.producer.audience.ready(self.producer.epoch or 0)
        self.producer.close()
        self.producer = self._attach()
        # Consumers would miss frames that are sent before they have mapped the new regions.
        self.producer.wait_consumers(listeners, _REMAP_S)

    def publish_until(self, row: int) -> None:
        """Publish the frames of all rows below ``row``, which are sealed."""

    def forward(self, checkpoint_id: int, epoch: int, *, is_unaligned: bool) -> None:
        """Forward a barrier after the last published frame."""
        if not self.producer.is_attached:
            return
        try:
            self.producer.barrier(checkpoint_id, epoch, unaligned=is_unaligned)
        except NotAttached as gone:
            _log.warning("checkpoint %d was not forwarded: %s", checkpoint_id, gone)

    def pass_on(self, news: dict[str, Any]) -> None:
        """Forward a watermark or a signal, after the rows that are made from earlier frames."""
        self.publish_until(news["row"])
        if not self.producer.is_attached:
            return
        try:
            if "watermark_ms" in news:
                self.producer.watermark(news["watermark_ms"])
            else:
                is_barrier, kind, barrier_id = news["signal"]
                self.producer.signal(SignalKind(kind), barrier_id if is_barrier else None)
        except (NotAttached, BarrierInjectionFailed) as gone:
            _log.warning("what stood between the frames was not passed on: %s", gone)

    def stop(self) -> None:
        """Detach from the engine, before it is closed: it is not asked for anything from now on."""

    def close(self, end: End | None) -> None:
        """End the output, after the engine is closed. With ``end``, consumers are told that no frame will follow."""
        if end is not None and self.producer.is_attached:
            self.producer.end(end.barrier_id, instant=end.is_instant)
        self.producer.close()


class Copied(Republisher):
    """Republishes the frames of one input."""

    def __init__(
        self,
        client: Client,
        config: JoinConfig,
        engine: JoinEngine,
        folder: Path,
        source: JoinInput,
        former: FormerRun | None,
    ) -> None:
        super().__init__(client, config, engine, folder, source, former)
        self._index = [each.name for each in config.input].index(self._input)
        self._given: object = None
        self.work()

    def _publish_frame(self, out_seq: int, found: JoinedInput, payload: npt.NDArray[Any]) -> None:
        trace_id = (found.trace_id or 0) & _U64_MAX
        try:
            self.producer.publish(payload, found.timestamp_ns, trace_id=trace_id, seq=out_seq)
        except (FrameTooLarge, InvalidValue, WrongArray) as refusal:
            # As in the engine, a frame that cannot be published costs no row.
            _log.warning("out_seq %d was not published: %s", out_seq, refusal)

    def work(self) -> None:
        """Give the engine the native producer, which is a different one on each Aeron client."""
        super().work()
        native = self.producer.native
        if native is not self._given:
            self._given = native
            self._engine.publish_to(native, self._index)

    def stop(self) -> None:
        """Stop the engine from publishing."""
        self._engine.publish_to(None, self._index)


class Computed(Republisher):
    """Publishes what a user's function makes of the only input."""

    def __init__(
        self,
        client: Client,
        config: JoinConfig,
        engine: JoinEngine,
        folder: Path,
        source: JoinInput,
        former: FormerRun | None,
    ) -> None:
        super().__init__(client, config, engine, folder, source, former)
        self._compute: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
        self._compute = user_function("join.publish", config.join.publish)

    def work(self) -> None:
        """Call the function for the rows that were sealed meanwhile."""
        super().work()
        self._compute_sealed()

    def publish_until(self, row: int) -> None:
        """Compute the rows that are left."""
        while self._row < row:
            self._compute_sealed(row - self._row)

    def _compute_sealed(self, limit: int = _ROWS_MAX) -> None:
        for row in self._journal.rows(start=self._row, limit=min(limit, _ROWS_MAX)):
            self._row = row.row + 1
            self._publish_row(row)

    def close(self, end: End | None) -> None:
        """Compute the rows that were sealed last, then end the output."""
        if end is not None:
            while self._row < self._journal.next_row:
                self._compute_sealed()
        super().close(end)

    def _declaration(self) -> Declared:
        """The clock alone: how large a frame becomes depends on the function."""
        return replace(super()._declaration(), frame_bytes_max=None)

    def _publish_frame(self, out_seq: int, found: JoinedInput, payload: npt.NDArray[Any]) -> None:
        self.producer.publish(np.asarray(self._compute(payload)), found.timestamp_ns, seq=out_seq)
