# SPDX-License-Identifier: Apache-2.0
"""A join agent's part in checkpoints: it stores and acknowledges what its engine cut, while the engine goes on.

The engine aligns streams and copies frames. This module turns the engine's news into files, which a thread of its own
writes, and into messages to the coordinator. Messages of the coordinator become calls of the engine, between two
slices.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from framegate.joinbarrier.agent.state import described, operator_id_of, sync_journal
from framegate.joinbarrier.checkpoint.inflight import inflight_file
from framegate.joinbarrier.checkpoint.manifest import InflightData, OperatorState
from framegate.joinbarrier.checkpoint.messages import FORCED, MAY_SWITCH, UNALIGNED
from framegate.joinbarrier.checkpoint.operator.member import CheckpointMember, Heard
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.operator.state import encode_head
from framegate.joinbarrier.checkpoint.operator.writer import NotStored, OperatorWriter, Stored
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import Content
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema.control import (
    AckStatus,
    CheckpointAborted,
    HoldIngress,
    IngressCut,
    InjectBarrier,
    PipelineAnnounce,
)
from framegate.shmpool.client.client import Client
from framegate.shmpool.clock import monotonic_ns

from framegate._native import JoinEngine

if TYPE_CHECKING:
    from framegate.joinbarrier.agent.republish import Republisher

_NS_PER_MS: Final = 1_000_000
_ATTEMPTS_KEPT: Final = 16
_NO_CUT: Final = {
    "past": ("INJECTION_FAILED", "is past the place at which all cut it:"),
    "other_epoch": ("INPUT_EPOCH_CHANGED", "is no longer read where all cut it:"),
}
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    """A checkpoint that this operator is storing."""

    epoch: int
    began_ns: int
    store: CheckpointStore
    is_unaligned: bool
    was_threshold_triggered: bool
    state: OperatorState | None = None
    inflight: list[InflightData] = field(default_factory=list)
    places: dict[int, dict[str, int | None]] = field(default_factory=dict)
    """The places at which it cut its ingress streams: ``stream``, ``epoch`` and ``last_seq``, by stream."""


class StoredBytes:
    """The sizes of this operator's checkpoints, and how much the frames in flight add to unaligned ones."""

    def __init__(self) -> None:
        self._count = self._state_bytes = self._inflight_bytes = self._unaligned = 0
        self._increases = 0.0

    def note(self, attempt: _Attempt) -> None:
        """Count a complete checkpoint."""
        state_bytes = attempt.state.bytes if attempt.state is not None else 0
        inflight_bytes = sum(each.bytes for each in attempt.inflight)
        self._count += 1
        self._state_bytes += state_bytes
        self._inflight_bytes += inflight_bytes
        if attempt.is_unaligned and state_bytes:
            self._unaligned += 1
            self._increases += inflight_bytes / state_bytes

    def counters(self) -> dict[str, float]:
        """The sizes; ``average_size_increase`` is the size of in-flight data relative to the state, in unaligned
        ones."""
        return {
            "stored": self._count,
            "stored_state_bytes": self._state_bytes,
            "stored_inflight_bytes": self._inflight_bytes,
            "average_size_increase": round(self._increases / self._unaligned, 6) if self._unaligned else 0.0,
        }


def member_of(client: Client, config: JoinConfig, last_checkpoint_id: int) -> CheckpointMember:
    """Make a join an operator of its pipeline."""
    ingress = ingress_of(config)
    return CheckpointMember(client, config.join.pipeline, operator_id_of(config), last_checkpoint_id, ingress)


def ingress_of(config: JoinConfig) -> tuple[int, ...]:
    """The streams that a join cuts by itself, because no barriers come in them."""
    return tuple(sorted({each.stream for each in config.input if each.barrier == "ingress"}))


class JoinCheckpoints:
    """The checkpoints of a join. Call ``work`` after each slice of the engine, and ``close`` after the last one."""

    def __init__(
        self,
        client: Client,
        config: JoinConfig,
        folder: JournalFolder,
        engine: JoinEngine,
        member: CheckpointMember | None = None,
    ) -> None:
        self._config = config
        self._folder = folder
        self._engine = engine
        self._streams = list(dict.fromkeys(each.stream for each in config.input))
        self._ingress = ingress_of(config)
        self._shared: dict[int, dict[int, tuple[int | None, int | None] | None]] = {}
        """For each checkpoint, the streams that other agents cut too, and the common place once the coordinator sent
        it."""
        last = engine.counters()["checkpoints"]["checkpoint_id"]
        self._member = member_of(client, config, last) if member is None else member
        self._member.last_checkpoint_id = max(self._member.last_checkpoint_id, last)
        self._writer = OperatorWriter()
        self._store: CheckpointStore | None = None
        self._announced: PipelineAnnounce | None = None
        self._attempts: dict[int, _Attempt] = {}
        self._maps: dict[int, MergeMap] = {}
        self._stored = StoredBytes()

    @property
    def stored(self) -> dict[str, float]:
        """How many bytes the checkpoints stored, and how much frames in flight added to them."""
        return self._stored.counters()

    def note_map(self, version: int, applied: MergeMap) -> None:
        """Note a map that is in force now. A state contains the map by which its rows were made."""
        # The newest map is last. A map that comes again has its old version again.
        self._maps.pop(version, None)
        self._maps[version] = applied
        while len(self._maps) > _ATTEMPTS_KEPT:
            del self._maps[next(iter(self._maps))]

    def obey_all(self, heard: Iterable[Heard]) -> None:
        """Carry out messages that arrived before there was an engine."""
        for message in heard:
            self._obey(message)

    def sit_out(self) -> None:
        """Take no part in the checkpoint that is under way: this join begins to read its inputs now or later, so the
        barriers may have passed already."""
        self.obey_all(self._member.heard())
        if self._announced is not None:
            self._member.refuse(self._announced)

    def work(self, *, has_news: bool, republisher: Republisher | None) -> None:
        """Carry out the coordinator's messages, handle the engine's news, and acknowledge what was stored."""
        for message in self._member.heard():
            self._obey(message)
        if has_news:
            for each in self._engine.take_news():
                if each["kind"] != "pass":
                    self._on_news(each, republisher)
                elif republisher is not None:
                    republisher.pass_on(each)
        for result in self._writer.results():
            self._on_result(result)

    def close(self) -> dict[str, int]:
        """Store and acknowledge what was begun, then leave the pipeline. Returns the counts of messages sent and
        heard."""
        self._writer.close()
        for result in self._writer.results():
            self._on_result(result)
        self._member.close()
        return dict(sorted(self._member.counts.items()))

    # --- the coordinator ---------------------------------------------------------------------------------

    def _obey(self, message: Heard) -> None:
        match message:
            case PipelineAnnounce():
                self._on_announce(message)
            case CheckpointAborted():
                self._give_up(message.checkpoint_id)
            case HoldIngress() if message.stream_id in self._ingress:
                self._hold(message)
            case IngressCut() if message.stream_id in self._ingress:
                self._cut(message)
            case InjectBarrier():
                shared = self._shared.get(message.checkpoint_id, {})
                for stream in self._ingress:
                    if stream not in shared:
                        is_unaligned = bool(message.flags & UNALIGNED)
                        self._engine.inject(stream, message.checkpoint_id, message.epoch, is_unaligned)

    def _hold(self, held: HoldIngress) -> None:
        place = self._engine.hold_ingress(held.stream_id, held.checkpoint_id, held.epoch)
        if place is not None:
            self._share(held.checkpoint_id).setdefault(held.stream_id, None)
            self._member.report_place(held, place)

    def _cut(self, cut: IngressCut) -> None:
        barrier = cut.checkpoint_id, cut.epoch, bool(cut.flags & UNALIGNED)
        at = cut.source_epoch, cut.after_seq
        answer = self._engine.cut_ingress(cut.stream_id, barrier, at)
        if answer != "over":
            self._share(cut.checkpoint_id)[cut.stream_id] = at
        if answer in _NO_CUT:
            cause, why = _NO_CUT[answer]
            reason = f"{cause}: input {self._name(cut.stream_id)} {why} epoch {at[0]}, sequence {at[1]}"
            self._member.acknowledge(cut.checkpoint_id, cut.epoch, AckStatus.FAILED, 0, 0, reason)

    def _share(self, checkpoint_id: int) -> dict[int, tuple[int | None, int | None] | None]:
        shared = self._shared.setdefault(checkpoint_id, {})
        while len(self._shared) > _ATTEMPTS_KEPT:
            del self._shared[min(self._shared)]
        return shared

    def _on_announce(self, announced: PipelineAnnounce) -> None:
        before, self._announced = self._announced, announced
        if before is None or announced.store != before.store:
            self._store = CheckpointStore(announced.store) if announced.store else None
        if before is None:
            # A checkpoint that ended before this operator joined the pipeline does not concern it.
            is_last_over = announced.current_checkpoint_id != announced.last_checkpoint_id
            self._engine.raise_checkpoint_floor(max(announced.last_checkpoint_id - (not is_last_over), 0))
        self._engine.set_alignment(
            bool(announced.flags & MAY_SWITCH),
            bool(announced.flags & FORCED),
            announced.alignment_timeout_ms * _NS_PER_MS,
            announced.late_barrier_timeout_ms * _NS_PER_MS or None,
        )
        here = self._engine.checkpoint_under_way()
        # An announce may be older than a barrier that meanwhile arrived by the descriptor stream.
        is_known = here is not None and here <= announced.last_checkpoint_id
        if here is not None and is_known and here != announced.current_checkpoint_id:
            self._give_up(here)

    def _give_up(self, checkpoint_id: int) -> None:
        self._attempts.pop(checkpoint_id, None)
        self._writer.give_up(checkpoint_id)
        self._engine.abort_checkpoint(checkpoint_id)

    # --- the engine --------------------------------------------------------------------------------------

    def _on_news(self, news: dict[str, Any], republisher: Republisher | None) -> None:
        checkpoint_id = news["checkpoint_id"]
        self._member.last_checkpoint_id = max(self._member.last_checkpoint_id, checkpoint_id)
        match news["kind"]:
            case "snapshot":
                self._on_snapshot(news)
            case "complete":
                self._on_complete(news)
            case "aborted":
                self._on_aborted(news)
            case "forward" if republisher is not None:
                republisher.publish_until(news["row"])
                republisher.forward(checkpoint_id, news["epoch"], is_unaligned=news["is_unaligned"])

    def _on_snapshot(self, news: dict[str, Any]) -> None:
        checkpoint_id, snapshot = news["checkpoint_id"], news["snapshot"]
        head = snapshot.head()
        if head["why"] is not None:
            late = [self._streams[index] for index in head["late_inputs"]]
            told = self._waiting(late, head["buffered"])
            level = logging.INFO if head["why"] == "requested" else logging.WARNING
            _log.log(level, "checkpoint %d is taken unaligned (%s); %s", checkpoint_id, head["why"], told)
        if self._store is None:
            _log.info(
                "checkpoint %d is not stored: no coordinator of %s said where", checkpoint_id, self._member.pipeline
            )
            return
        attempt = _Attempt(
            epoch=news["epoch"],
            began_ns=monotonic_ns() - head["duration_ns"],
            store=self._store,
            is_unaligned=head["why"] is not None,
            was_threshold_triggered=head["why"] == "threshold",
        )
        self._attempts[checkpoint_id] = attempt
        while len(self._attempts) > _ATTEMPTS_KEPT:
            del self._attempts[min(self._attempts)]
        is_synced = self._config.journal.durability == "checkpoint"
        state_head = described(head, self._config, self._folder, self._maps.get(head["map_version"]))
        attempt.places.update(self._ingress_places(state_head["rest"]))

        def store() -> int:
            if is_synced:
                sync_journal(self._folder.path)
            state = Content(encode_head(state_head), snapshot.records)
            stored = attempt.store.write_state(checkpoint_id, self._member.operator_id, state)
            attempt.state = stored
            return stored.bytes

        self._writer.put(checkpoint_id, store, is_complete=False)

    def _ingress_places(self, rest: dict[str, Any]) -> dict[int, dict[str, int | None]]:
        """The places of this agent in its ingress streams at its snapshot."""
        names = ("stream", "epoch", "last_seq")
        newest = [each | (each.get("then") or {}) for each in rest["streams"]]
        cut = [each for each in newest if each["stream"] in self._ingress]
        return {each["stream"]: {name: each[name] for name in names} for each in cut}

    def _cuts(self, checkpoint_id: int, attempt: _Attempt) -> tuple[dict[str, int | None], ...]:
        """The places at which this agent's ingress streams were cut: its own, or the common one, which may arrive
        later."""
        places = dict(attempt.places)
        for stream, at in self._shared.get(checkpoint_id, {}).items():
            if at is not None:
                places[stream] = {"stream": stream, "epoch": at[0], "last_seq": at[1]}
        return tuple(places.values())

    def _on_complete(self, news: dict[str, Any]) -> None:
        checkpoint_id = news["checkpoint_id"]
        attempt = self._attempts.get(checkpoint_id)
        if attempt is None:
            return

        cuts = self._cuts(checkpoint_id, attempt)

        def store() -> int:
            for input_id, records, lost in news["inflight"]:
                gone = [{"epoch": epoch, "seq": seq, "cause": "overwritten"} for epoch, seq in lost]
                attempt.inflight.append(
                    attempt.store.write_inflight_file(
                        checkpoint_id,
                        self._member.operator_id,
                        input_id,
                        inflight_file(input_id, records),
                        len(records),
                        gone,
                    )
                )
            assert attempt.state is not None  # noqa: S101  (steps are stored in their order, or not at all)
            part = OperatorPart(
                state=replace(attempt.state, ingress=cuts),
                inflight=tuple(attempt.inflight),
                is_unaligned=attempt.is_unaligned,
                was_threshold_triggered=attempt.was_threshold_triggered,
            )
            attempt.store.write_part(checkpoint_id, part)
            return sum(each.bytes for each in attempt.inflight)

        self._writer.put(checkpoint_id, store, is_complete=True)

    def _on_aborted(self, news: dict[str, Any]) -> None:
        checkpoint_id, cause = news["checkpoint_id"], news["cause"]
        self._attempts.pop(checkpoint_id, None)
        self._writer.give_up(checkpoint_id)
        guilty = self._names([news["input"]] if news["input"] is not None else news["pending"])
        told = self._waiting(news["pending"], news["buffered"])
        _log.warning("checkpoint %d is given up: %s, input %s; %s", checkpoint_id, cause, guilty, told)
        if cause != "COORDINATOR":
            reason = f"{cause}: input {guilty}"
            self._member.acknowledge(checkpoint_id, news["epoch"], AckStatus.FAILED, 0, 0, reason)

    def _waiting(self, pending: list[int], buffered: int) -> str:
        aligned = [stream for stream in self._streams if stream not in pending]
        return f"aligned inputs: {self._names(aligned)}; pending: {self._names(pending)}; {buffered} events waited"

    def _names(self, streams: list[int]) -> str:
        return ", ".join(self._name(stream) for stream in streams) or "none"

    def _name(self, stream: int) -> str:
        names = "/".join(each.name for each in self._config.input if each.stream == stream)
        return f"{names} (stream {stream})"

    # --- the files ---------------------------------------------------------------------------------------

    def _on_result(self, result: Stored | NotStored) -> None:
        attempt = self._attempts.get(result.checkpoint_id)
        if attempt is None:
            return
        duration_ns = monotonic_ns() - attempt.began_ns
        if isinstance(result, NotStored):
            del self._attempts[result.checkpoint_id]
            self._engine.fail_checkpoint(result.checkpoint_id)
            self._member.acknowledge(
                result.checkpoint_id, attempt.epoch, AckStatus.FAILED, duration_ns, 0, result.reason
            )
            return
        status = AckStatus.COMPLETE if result.is_complete else AckStatus.SNAPSHOT_TAKEN
        self._member.acknowledge(result.checkpoint_id, attempt.epoch, status, duration_ns, result.bytes)
        if result.is_complete:
            del self._attempts[result.checkpoint_id]
            self._stored.note(attempt)
