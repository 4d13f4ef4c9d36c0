# SPDX-License-Identifier: Apache-2.0
"""``publish``: a join's output as a stream of the pool, so that joins chain and a diamond closes.

An input's name republishes that input's frame, natively, as its row is written. A function computes the frame from the
one input: it is called for each row once that is sealed, so what it published is never lost from the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.joinbarrier.configuration import JoinConfig
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.user_function import user_function
from framegate.schema.control import SignalKind
from framegate.schema.errors import BarrierInjectionFailed, NotAttached
from framegate.shmpool.client import Client
from framegate.shmpool.producer import Producer

from framegate._native import JoinEngine

_ROWS_MAX: Final = 256
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class End:
    """By which signal an output ends."""

    barrier_id: int = 0
    is_instant: bool = False


class Republisher:
    """The producer of an output stream. Frames are numbered by ``out_seq``; a new ``out_epoch`` is a new epoch."""

    def __init__(self, client: Client, config: JoinConfig, engine: JoinEngine) -> None:
        self._client = client
        self._stream = config.join.out_stream
        self._engine = engine
        self._out_epoch = engine.out_epoch()
        # It passes on the barriers of its inputs, and has none of its own.
        self.producer: Producer = client.producer(self._stream, pipeline=None)

    @staticmethod
    def of(client: Client, config: JoinConfig, engine: JoinEngine, folder: Path) -> Republisher | None:
        """What the configuration asks for; None when nothing is to be published."""
        publish = config.join.publish
        if not publish:
            return None
        if ":" in publish:
            return Computed(client, config, engine, folder)
        return Copied(client, config, engine, [each.name for each in config.input].index(publish))

    def work(self) -> None:
        """Between two slices."""
        epoch = self._engine.out_epoch()
        if epoch != self._out_epoch:
            # Its numbers begin again, and within an epoch they never go back.
            self._out_epoch = epoch
            self.producer.close()
            self.producer = self._client.producer(self._stream, pipeline=None)

    def publish_until(self, row: int) -> None:
        """The frames of all rows below ``row`` are published; they are sealed."""

    def forward(self, checkpoint_id: int, epoch: int, *, is_unaligned: bool) -> None:
        """A barrier goes on, behind what was published last."""
        if not self.producer.is_attached:
            return
        try:
            self.producer.barrier(checkpoint_id, epoch, unaligned=is_unaligned)
        except NotAttached as gone:
            _log.warning("checkpoint %d was not forwarded: %s", checkpoint_id, gone)

    def pass_on(self, news: dict[str, Any]) -> None:
        """A watermark or a signal goes on, behind the rows that are made of what came before it."""
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
        """Before the engine is closed: from now on it is not asked for anything."""

    def close(self, end: End | None) -> None:
        """After the engine is closed. ``end``: no frame will follow, and consumers are told."""
        if end is not None and self.producer.is_attached:
            self.producer.end(end.barrier_id, instant=end.is_instant)
        self.producer.close()


class Copied(Republisher):
    """An input's own frame."""

    def __init__(self, client: Client, config: JoinConfig, engine: JoinEngine, index: int) -> None:
        super().__init__(client, config, engine)
        self._index = index
        self._given: object = None
        self.work()

    def work(self) -> None:
        """Gives the engine the producer's native side, which another Aeron client replaces."""
        super().work()
        native = self.producer.native
        if native is not self._given:
            self._given = native
            self._engine.publish_to(native, self._index)

    def stop(self) -> None:
        """The engine publishes no more."""
        self._engine.publish_to(None, self._index)


class Computed(Republisher):
    """What a user's function makes of the one input."""

    def __init__(self, client: Client, config: JoinConfig, engine: JoinEngine, folder: Path) -> None:
        super().__init__(client, config, engine)
        self._compute: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
        self._compute = user_function("join.publish", config.join.publish)
        self._input = config.input[0].name
        self._journal = Journal(folder)
        self._row = self._journal.next_row

    def work(self) -> None:
        """Calls the function for the rows that were sealed meanwhile."""
        super().work()
        self._compute_sealed()

    def publish_until(self, row: int) -> None:
        """Computes those that are left."""
        while self._row < row:
            self._compute_sealed(row - self._row)

    def _compute_sealed(self, limit: int = _ROWS_MAX) -> None:
        for row in self._journal.rows(start=self._row, limit=min(limit, _ROWS_MAX)):
            self._row = row.row + 1
            found = row.inputs[self._input]
            if found.array is not None and row.out_epoch == self._out_epoch:
                self._publish(row.out_seq, found.timestamp_ns, found.array)

    def close(self, end: End | None) -> None:
        """The rows that were sealed last are computed too."""
        if end is not None:
            while self._row < self._journal.next_row:
                self._compute_sealed()
        super().close(end)

    def _publish(self, out_seq: int, timestamp_ns: int | None, payload: npt.NDArray[Any]) -> None:
        made = np.asarray(self._compute(payload))
        try:
            self.producer.publish(made, timestamp_ns, seq=out_seq)
        except NotAttached as gone:
            _log.warning("out_seq %d was not published: %s", out_seq, gone)
