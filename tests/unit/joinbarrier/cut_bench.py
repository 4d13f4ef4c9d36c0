# SPDX-License-Identifier: Apache-2.0
"""A join's engine that is fed frame by frame, without a driver: what is cut is decided by the order of these calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from framegate.joinbarrier.agent.duties import apply_map
from framegate.joinbarrier.agent.plan import engine_plan
from framegate.joinbarrier.agent.restoring import open_engine
from framegate.joinbarrier.checkpoint.operator.state import encode_head
from framegate.joinbarrier.checkpoint.restore_choice import Chosen
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.description import JournalInput
from framegate.joinbarrier.journal.folder import JournalFolder, JournalShape
from framegate.joinbarrier.journal.journal import Journal
from framegate.schema.control import CheckpointBarrier, ControlSignal, SignalCategory, SignalKind, Watermark

from framegate._native import JoinMailbox
from tests.unit.watchdog import until

LEFT, RIGHT = 10_001, 10_002
EPOCH = 7
_UINT8, _ROW_MAJOR = 1, 1
MS = 1_000_000


class CutBench:
    """Two streams joined by sequence, or as ``tables`` say. Time passes only where a call says so.


    ``computes``: as where a function makes frames of the left input's rows, which are published by Python.
    """

    def __init__(
        self,
        path: Path,
        *,
        pending_bytes: int = 1 << 20,
        computes: bool = False,
        chosen: Chosen | None = None,
        **tables: Any,
    ) -> None:
        inputs = [{"name": "left", "stream": LEFT}, {"name": "right", "stream": RIGHT}]
        given: dict[str, Any] = {"input": inputs, **tables}
        given["join"] = {"journal": str(path), "policy": "sequence", **tables.get("join", {})}
        self.config = JoinConfig.model_validate(given)
        shape = JournalShape(
            out_stream=self.config.join.out_stream,
            policy=self.config.join.policy,
            inputs=tuple(JournalInput(name=each.name, stream=each.stream) for each in self.config.input),
            durability=self.config.journal.durability,
            reader_lease_s=self.config.journal.reader_lease_s,
        )
        self.path = path
        self.folder = JournalFolder(path, shape)
        plan = engine_plan(self.config)
        plan["pending_bytes"] = pending_bytes
        if computes:
            plan["checkpoints"] |= {"is_computed": True, "published_input": 0}
        mailbox = JoinMailbox([LEFT, RIGHT])
        self.engine, self.resumption = open_engine(mailbox, plan, self.config, self.folder, chosen)
        self.first = self.engine.recovered()["next_row"]
        own = self.config.merge_map(self.engine.out_epoch())
        if own is not None:
            apply_map(self.engine, self.config, self.folder, own)
        self.now_ns = 1_000 * MS
        self.news: list[dict[str, Any]] = []
        self.takes_news = True
        """Whether this bench takes what the engine tells, or somebody else does."""
        self.outcome: dict[str, Any] = {}

    # --- what comes --------------------------------------------------------------------------------------

    def frame(self, stream: int, seq: int, payload: bytes | None = None) -> None:
        """A frame; its payload says which one it is."""
        payload = payload_of(stream, seq) if payload is None else payload
        no_strides: list[int] = []
        tensor = (_UINT8, _ROW_MAJOR, [len(payload)], no_strides)
        times = (seq * MS, None)
        self._answered(self.engine.feed(stream, EPOCH, seq, payload, tensor, times, seq, self._at(), 0))

    def frames(self, stream: int, *seqs: int) -> None:
        for seq in seqs:
            self.frame(stream, seq)

    def barrier(self, stream: int, checkpoint_id: int, *, unaligned: bool = False) -> None:
        message = CheckpointBarrier(
            checkpoint_id=checkpoint_id,
            epoch=1,
            flags=int(unaligned),
            stream_id=stream,
            source_epoch=EPOCH,
            after_seq=None,
        )
        self._control(message.encode())

    def watermark(self, stream: int, ms: int) -> None:
        self._control(Watermark(timestamp_ms=ms, stream_id=stream, source_epoch=EPOCH).encode())

    def end(self, stream: int, after_seq: int | None, barrier_id: int = 0, *, instant: bool = False) -> None:
        self._control(self._signal(stream, SignalKind.STREAM_GRACEFUL_END, barrier_id, after_seq, instant=instant))

    def probe(self, stream: int) -> None:
        """An instant signal."""
        self._control(self._signal(stream, SignalKind.SYNC_TEST, 0, None, instant=True))

    def sync_test(self, stream: int, barrier_id: int) -> None:
        self._control(self._signal(stream, SignalKind.SYNC_TEST, barrier_id, None))

    def wait(self, ms: float) -> None:
        """Time passes, and the engine looks at it."""
        self.now_ns += int(ms * MS)
        self.watermark(LEFT + 77, 0)

    # --- what came of it ---------------------------------------------------------------------------------

    def told(self, kind: str) -> list[dict[str, Any]]:
        """All news of a kind so far."""
        return [each for each in self.news if each["kind"] == kind]

    def kinds(self) -> list[tuple[str, int]]:
        return [(each["kind"], each.get("checkpoint_id", 0)) for each in self.news]

    def counters(self) -> dict[str, Any]:
        return self.engine.counters()

    def seal(self) -> None:
        """Every row so far is in the journal: whatever happens now, it stays."""
        want = self.first + self.counters()["rows"]

        def is_sealed() -> bool:
            self._answered(self.engine.settle(0))
            return bool(Journal(self.path).next_row >= want)

        until(is_sealed)

    def kill(self) -> None:
        """What was not sealed is gone."""
        self.engine.discard()
        self.folder.close()

    def finish(self) -> dict[str, Any]:
        counted = self.engine.finish()
        self.folder.close()
        return counted

    def rows(self) -> list[Any]:
        """Of the journal; the engine has finished."""
        return list(Journal(self.path).rows())

    def checkpoints_of_rows(self) -> dict[int, int]:
        return {row.out_seq: row.checkpoint_id for row in self.rows()}

    def _control(self, message: bytes) -> None:
        self._answered(self.engine.feed_control(message, self._at(), 0))

    def _answered(self, outcome: dict[str, Any]) -> None:
        self.outcome = outcome
        if outcome["has_news"] and self.takes_news:
            self.news += self.engine.take_news()

    def _at(self) -> tuple[int, int]:
        return self.now_ns, self.now_ns

    def _signal(
        self, stream: int, kind: SignalKind, barrier_id: int, after_seq: int | None, *, instant: bool = False
    ) -> bytes:
        return ControlSignal(
            category=SignalCategory.INSTANT if instant else SignalCategory.BARRIER,
            kind=kind,
            barrier_id=barrier_id,
            stream_id=stream,
            source_epoch=EPOCH,
            after_seq=after_seq,
            pipeline="",
        ).encode()


def payload_of(stream: int, seq: int) -> bytes:
    return f"{stream}/{seq}".encode()


def state_of(news: dict[str, Any]) -> bytes:
    """A snapshot as a file of its own, with the head that the engine gave."""
    snapshot = news["snapshot"]
    return encode_head(snapshot.head()) + bytes(snapshot.records)


def rest_of(news: dict[str, Any]) -> dict[int, Any]:
    return {each["stream"]: each for each in json.loads(news["snapshot"].head()["rest"])["streams"]}
