# SPDX-License-Identifier: Apache-2.0
"""A join stage of either implementation, driven by hand: frames in, rows and leftovers out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from framegate.joinbarrier.journal.causes import Cause
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.rules import refused
from framegate.schema.merge import SequenceMergeMapAnnounce
from framegate.spec.join.history import Rejection
from framegate.spec.join.stage import Stage
from framegate.spec.join.stage_config import Attempt, Pick, StageConfig
from framegate.spec.join.stage_recall import Rest, StreamRest, Waiting
from framegate.spec.join.unmatched import Unmatched

from tests.joins.stage_rules import RuledConfig, RuledInput

Implementation: TypeAlias = Literal["reference", "native"]
IMPLEMENTATIONS: tuple[Implementation, ...] = ("reference", "native")


class NativeStage:
    """The native stage in the words of the reference."""

    def __init__(self, config: StageConfig, state: str | None = None) -> None:
        from framegate._native import JoinStage

        self._stage = JoinStage(_plan(config), state)
        for name in (
            *("invalidate", "wants_map", "observe", "observe_lost", "missed", "processed", "watermark", "ended"),
            *("push_time", "tick", "failed", "joined", "is_finished", "finish", "state", "status", "needs_slot_time"),
            *("recall_frame", "reopen", "lost_below"),
        ):
            setattr(self, name, getattr(self._stage, name))

    def apply(self, announced: MergeMap, version: int) -> bool:
        """As the twin's."""
        message = announced.to_message()
        if isinstance(message, SequenceMergeMapAnnounce):
            times = None
            rules = [
                (each.input_stream_id, int(each.rule_type), 0, each.offset, each.window_size) for each in message.rules
            ]
        else:
            times = (int(message.clock_domain), message.lateness_ns)
            rules = [
                (each.input_stream_id, int(each.rule_type), int(each.timestamp_source), each.offset_ns, each.window_ns)
                for each in message.rules
            ]
        pair = (message.out_stream_id, message.epoch)
        is_in_force, refusal = self._stage.apply(*pair, message.stale_timeout_ns, times, rules, version)
        if refusal is not None:
            rule, stream, reason = refusal
            where = {} if rule is None else {"rule": rule, "stream": stream}
            raise refused({"reason": reason, **where}, out_stream=pair[0], epoch=pair[1])
        return is_in_force

    def next(self, now_ns: int) -> Attempt | None:
        """As the twin's."""
        tried = self._stage.next(now_ns)
        if tried is None:
            return None
        out_epoch, out_seq, out_time_ns, picks = tried
        made: list[Any] = [pick if isinstance(pick, str) else Pick(*pick) for pick in picks]
        return Attempt(out_epoch, out_seq, out_time_ns, tuple(made))

    def take_unmatched(self, count: int | None = None) -> list[Unmatched]:
        """As the twin's."""
        taken: list[Any] = self._stage.take_unmatched(count)
        return [Unmatched(index, Cause(cause), *rest) for index, cause, *rest in taken]

    def waiting(self) -> list[Waiting]:
        """As the twin's."""
        return [Waiting(*each[:-1], None if each[-1] is None else Cause(each[-1])) for each in self._stage.waiting()]

    def rest(self) -> Rest:
        """As the twin's."""
        found = json.loads(self._stage.rest())
        streams = tuple(_stream_rest(each) for each in found.pop("streams"))
        return Rest(streams=streams, out_times=tuple(found.pop("out_times")), **found)

    def recall_lost(self, stream: int, epoch: int, first: int, last: int, cause: Cause, now_ns: int) -> None:
        """As the twin's."""
        self._stage.recall_lost(stream, epoch, first, last, str(cause), now_ns)

    def recall_rest(self, rest: Rest, now_ns: int, *, is_same_cut: bool, keeps_clock: bool) -> None:
        """As the twin's."""
        self._stage.recall_rest(asdict(rest), now_ns, is_same_cut, keeps_clock)

    def take_rejections(self) -> list[Rejection]:
        """As the twin's."""
        return [Rejection(*each) for each in self._stage.take_rejections()]

    def counted(self) -> dict[str, Any]:
        """The counters as plain values."""
        return self._stage.counters()


def _stream_rest(found: dict[str, Any]) -> StreamRest:
    then = found.pop("then", None)
    record = None if then is None else StreamRest(stream=found["stream"], **then)
    return StreamRest(**found, then=record)


class ReferenceStage(Stage):
    """The twin, with its counters as plain values."""

    def counted(self) -> dict[str, Any]:
        """The counters as plain values."""
        values = asdict(self.counters)
        values["unmatched"] = [{str(cause): count for cause, count in each.items()} for each in self.counters.unmatched]
        return values


def make_stage(impl: Implementation, config: StageConfig, state: str | None = None) -> Any:
    """A stage; both kinds answer alike."""
    return ReferenceStage(config, state) if impl == "reference" else NativeStage(config, state)


def recall(stage: Any, waiting: Iterable[Waiting], rest: Rest, now_ns: int, *, is_same_cut: bool = True) -> None:
    """Give a stage back what another stood on: of each stream frames and losses by their sequences, then the rest."""
    waiting = list(waiting)
    lost = sorted((each for each in waiting if each.lost is not None), key=_at)
    for frame in [each for each in waiting if each.lost is None]:
        for each in [each for each in lost if each.stream == frame.stream and _at(each) < _at(frame)]:
            lost.remove(each)
            _recall_lost(stage, each, now_ns)
        times = frame.descriptor_ns, frame.slot_ns
        stage.recall_frame(frame.stream, frame.epoch, frame.seq, *times, frame.trace_id, now_ns)
    for each in lost:
        _recall_lost(stage, each, now_ns)
    stage.recall_rest(rest, now_ns, is_same_cut=is_same_cut, keeps_clock=True)


def _at(each: Waiting) -> tuple[int, int]:
    return each.epoch, each.seq


def _recall_lost(stage: Any, each: Waiting, now_ns: int) -> None:
    stage.recall_lost(each.stream, each.epoch, each.seq, each.seq_last, each.lost, now_ns)


class World:
    """A stage with a map, and what came out of it. Inputs are named by index, times are nanoseconds."""

    def __init__(
        self,
        impl: Implementation,
        inputs: Iterable[dict[str, Any]],
        *,
        stale_timeout_ns: int | None = None,
        lateness_ns: int = 0,
        has_map: bool = True,
        state: str | None = None,
        **config: Any,
    ) -> None:
        made = (RuledInput(**{"stream": 10 + index, **each}) for index, each in enumerate(inputs))
        self.config = RuledConfig(inputs=tuple(made), **config)
        self.stage = make_stage(impl, self.config, state)
        self.limits: dict[str, Any] = {"stale_timeout_ns": stale_timeout_ns, "lateness_ns": lateness_ns}
        self.now_ns = 0
        self.unreadable: set[tuple[int, int]] = set()
        """(input, seq) that cannot be read."""
        self.rows: list[tuple[int, ...]] = []
        if has_map:
            self.map()

    def map(self) -> bool:
        """Apply the map that the configuration describes, for the epoch that wants one."""
        if self.config.policy == "union":
            return False
        wanted = self.stage.wants_map()
        return bool(
            self.stage.apply(self.config.map(self.config.out_epoch if wanted is None else wanted, **self.limits), 1)
        )

    def frame(self, index: int, seq: int, time: int | None = None, *, epoch: int = 1, now: int | None = None) -> bool:
        """A frame of an input's stream; ``time`` stands in its slot and its descriptor."""
        self.now_ns = self.now_ns if now is None else now
        stream = self.config.inputs[index].stream
        return bool(self.stage.observe(stream, epoch, seq, time, time, seq % 1000, self.now_ns))

    def frames(self, index: int, seqs: Iterable[int], *, step: int | None = None, epoch: int = 1) -> None:
        """Several; each one's time is its sequence times ``step``."""
        for seq in seqs:
            self.frame(index, seq, None if step is None else seq * step, epoch=epoch)

    def end(self, *indices: int, epoch: int = 1) -> None:
        """The ends of streams."""
        for index in indices:
            self.stage.ended(self.config.inputs[index].stream, epoch, self.now_ns)

    def join(self, *, now: int | None = None, limit: int = 10_000) -> list[tuple[Any, ...]]:
        """Every row that is possible now: (output, pick of each input), a pick being a sequence or the absence."""
        self.now_ns = self.now_ns if now is None else now
        made: list[tuple[Any, ...]] = []
        while len(made) < limit and (attempt := self.stage.next(self.now_ns)) is not None:
            picks = [pick if isinstance(pick, str) else pick.seq for pick in attempt.picks]
            bad = [(index, seq) for index, seq in enumerate(picks) if (index, seq) in self.unreadable]
            if bad:
                self.stage.failed(
                    bad[0][0], "overwritten" if isinstance(self.stage, NativeStage) else Cause.OVERWRITTEN, self.now_ns
                )
                continue
            self.stage.joined(self.now_ns)
            out = attempt.out_seq if attempt.out_time_ns is None else attempt.out_time_ns
            made.append((out, *picks))
        self.rows += made
        return made

    def left(self, index: int | None = None) -> list[tuple[Any, ...]]:
        """What was not joined since the last call: (input, first, last, cause); of one input without it."""
        taken = [(each.input, each.seq, each.seq_last, str(each.cause)) for each in self.stage.take_unmatched()]
        return taken if index is None else [each[1:] for each in taken if each[0] == index]

    def leftovers(self) -> list[tuple[Any, ...]]:
        """A clean end, and everything that was not joined."""
        self.stage.finish(self.now_ns)
        return sorted(self.left())

    @property
    def counters(self) -> dict[str, Any]:
        """Since the start."""
        return self.stage.counted()  # type: ignore[no-any-return]


def _plan(config: StageConfig) -> dict[str, Any]:
    """The twin's configuration as the native stage takes it."""
    given = asdict(config)
    drive, place, period_ns = (given.pop(key) for key in ("drive", "drive_input", "period_ns"))
    given["drive"] = {"input": {"input": place}, "clock": {"clock": {"period_ns": period_ns}}}.get(drive, drive)
    given["is_late_stalled"] = given.pop("late") == "stall"
    given["is_ordered_by_time"] = given.pop("order_by") == "timestamp"
    inputs = [{**each, "source": each["source"].name.lower()} for each in given["inputs"]]
    return {**given, "inputs": inputs}
