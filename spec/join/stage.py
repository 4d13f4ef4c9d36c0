# SPDX-License-Identifier: Apache-2.0
"""The join stage: a state machine that is told what came and what time it is, and says which frames to read next. It
never reads them itself.

Between ``next`` and ``joined`` or ``failed``, nothing else may be called.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final, cast

from framegate.joinbarrier.journal.causes import Cause
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.rules import refused
from framegate.spec.join.demand import start
from framegate.spec.join.history import Frame, Input
from framegate.spec.join.kind import Kind
from framegate.spec.join.latest_policy import LatestPolicy
from framegate.spec.join.out_times import OutTimes
from framegate.spec.join.sequence_policy import SequencePolicy
from framegate.spec.join.stage_config import Attempt, Pick, StageConfig
from framegate.spec.join.stage_core import encoded
from framegate.spec.join.stage_policy import Policy
from framegate.spec.join.stage_recall import StageRecall
from framegate.spec.join.stage_status import status
from framegate.spec.join.timestamp_policy import TimestampPolicy
from framegate.spec.join.union_policy import UnionPolicy
from framegate.spec.join.unmatched import Unmatched

_NS_PER_MS: Final = 1_000_000


class Stage(StageRecall):
    """The state machine of one join. ``state`` is what an earlier stage of the same configuration wrote."""

    def __init__(self, config: StageConfig, state: str | None = None) -> None:
        super().__init__(config)
        self.times = OutTimes(config.period_ns)
        self.policy = self._policy()
        self.attempt: list[Frame | None] = []
        self.is_finishing = False
        self.is_stuck = False
        self.last_watermark_ms: int | None = None
        if state is not None:
            self._resume(json.loads(state))

    def _policy(self) -> Policy:
        match self.config.policy:
            case "sequence":
                return SequencePolicy(self)
            case "timestamp":
                return TimestampPolicy(self, self.times)
            case "latest":
                return LatestPolicy(self, self.times)
            case _:
                return UnionPolicy(self)

    # --- The map ---

    def apply(self, announced: MergeMap, version: int) -> bool:
        """Apply a map; False if it is for another output. Its rules hold from the next output on. Raises MapRefused."""
        if self.kind is None or not self._takes(self.kind, announced):
            return False
        self.has_map = False
        self.kind.check(announced)
        self._check_fits(announced)
        if self.config.late == "stall" and announced.is_by_timestamp:
            announced = replace(announced, lateness_ns=0)
        self.has_map, self.is_map_fresh, self.map_version = True, True, version
        self.lateness_ns, self.stale_timeout_ns = announced.lateness_ns, announced.stale_timeout_ns
        self.start = max(map(start, announced.rules))
        self.bind(self.kind, announced)
        if isinstance(self.policy, SequencePolicy):
            self.policy.begin_not_before(self.start)
        if isinstance(self.policy, TimestampPolicy):
            self.policy.one_to_one.answers.clear()
        self.reconsider(self.policy)
        return True

    def _check_fits(self, announced: MergeMap) -> None:
        """Check that every rule's stream has an input, and that what makes the outputs has a rule."""
        facts: dict[str, object] | None = None
        for index, rule in enumerate(announced.rules):
            if rule.stream not in self.sources and facts is None:
                facts = {"reason": "unknown_stream", "rule": index, "stream": rule.stream}
        bound = [each for each in self.inputs if self.rule_of(announced, each) is not None]
        if self.config.drive == "input":
            is_driven = self.inputs[self.config.drive_input] in bound
        else:
            is_driven = self.config.policy != "sequence" or any(not each.config.optional for each in bound)
        if facts is None and not is_driven:
            facts = {"reason": "drive_without_rule"}
        if facts is not None:
            self.counters.maps_refused += 1
            raise refused(facts, out_stream=announced.out_stream, epoch=announced.epoch)

    def _takes(self, kind: Kind, announced: MergeMap) -> bool:
        """Whether a map is for this output, and of the policy's kind."""
        is_pair = (announced.out_stream, announced.epoch) == (self.config.out_stream, self.out_epoch)
        return is_pair and kind.takes(is_by_timestamp=announced.is_by_timestamp)

    def invalidate(self) -> None:
        """Invalidate the map, because another one was announced, or an invalid one. Nothing is attempted until a map is
        applied.
        """
        self.has_map = self.kind is None

    def wants_map(self) -> int | None:
        """The output epoch for which a map is needed; None if a map is in force."""
        return None if self.has_map else self.out_epoch

    # --- What goes out ---

    def next(self, now_ns: int) -> Attempt | None:
        """The next output to try, if one is possible."""
        if not self.is_finishing:
            self.close_if_due()
        if self.is_finishing or self.queue.is_backed_up or self.wants_map() is not None:
            self.is_stuck = not self.is_finishing
            return None
        if self.is_map_fresh and isinstance(self.policy, SequencePolicy):
            # The frames from before the map may be all that an input needs, so the output waits from now on.
            self.policy.start_wait(now_ns)
        self.is_map_fresh = False
        frames = self.policy.next(now_ns)
        self.is_stuck = frames is not None or self.policy.is_waiting
        if self.behind and not self.is_stuck and self.is_nothing_to_come:
            # No frame will come that could make another output of this epoch.
            self.close_epoch()
            self.is_stuck = True
        if frames is None:
            return None
        self.attempt = frames
        picks = tuple(
            why or "not_joined" if frame is None else self._pick(each, frame)
            for each, frame, why in zip(self.inputs, frames, self.absent, strict=True)
        )
        out_seq = self.policy.n or 0 if isinstance(self.policy, SequencePolicy) else self.out_seq
        return Attempt(self.out_epoch, out_seq, self.policy.out_time_ns, picks)

    def _pick(self, each: Input, frame: Frame) -> Pick:
        return Pick(each.source.epoch or 0, frame.seq, frame.slot_ns, frame.descriptor_ns, frame.trace_id)

    def failed(self, index: int, cause: Cause, now_ns: int) -> None:
        """Note that the attempt's frame of an input cannot be read; it is not tried again. Call ``next`` afterwards."""
        each, frame = self.inputs[index], self.attempt[index]
        if frame is None:
            return
        self.counters.overwritten[index] += cause is Cause.OVERWRITTEN
        frame.lost, self.attempt[index] = cause, None
        if each.kept is frame:
            each.kept = None
        self.settle(each)
        self.policy.failed(each, frame)

    def joined(self, now_ns: int) -> None:
        """Note that the attempt's row was written."""
        self.counters.rows += 1
        for each, frame in zip(self.inputs, self.attempt, strict=True):
            if frame is None:
                self.counters.absent[each.index] += 1
            else:
                self.take(each, frame)
        self.policy.joined(now_ns)
        self.out_seq += 1

    def take_unmatched(self, count: int | None = None) -> list[Unmatched]:
        """Take the unmatched, oldest first."""
        return self.queue.take(count)

    # --- The end, and going on after one ---

    def is_finished(self) -> bool:
        """Whether all inputs have ended and no more output is possible."""
        is_empty = not any(each.pending for each in self.inputs)
        return not self.behind and self.has_all_ended and (is_empty or not self.is_stuck)

    def finish(self, now_ns: int) -> None:
        """End the join cleanly: waiting frames are recorded as pending at the end."""
        self.is_finishing = True
        for each in self.inputs:
            self.drop_all(each, Cause.PENDING_AT_END)
        if self.behind:
            self.close_epoch()
            self.finish(now_ns)

    def state(self) -> str:
        """The state that a stage of the same configuration resumes from, as JSON."""
        inputs = [[each.source.epoch, each.decided, each.joined, int(self._has_ended(each))] for each in self.inputs]
        return encoded(
            {
                "out_epoch": self.out_epoch,
                "out_seq": self.out_seq,
                "map": self.map_version,
                **self.policy.state(),
                "inputs": [[-1 if value is None else value for value in each] for each in inputs],
            }
        )

    def _has_ended(self, each: Input) -> bool:
        """Whether an input has ended. The producer of what waits behind a fence has not, and will send that again."""
        return each.source.is_ended and each.config.stream not in self.behind

    def _resume(self, state: dict[str, object]) -> None:
        numbers = {key: value for key, value in state.items() if isinstance(value, int)}
        self.out_epoch, self.out_seq, self.map_version = numbers["out_epoch"], numbers["out_seq"], numbers["map"]
        self.policy.resume(numbers)
        last_ns = self.policy.last_ns if isinstance(self.policy, TimestampPolicy) else None
        if self.config.drive == "watermark" and last_ns is not None:
            # The watermark that made the newest output must not make another one.
            self.last_watermark_ms = last_ns // _NS_PER_MS
        rows = cast("list[list[int]]", state["inputs"])
        for each, (epoch, decided, joined, is_ended) in zip(self.inputs, rows, strict=True):
            if epoch >= 0:
                each.source.seen.epoch, each.source.is_ended = epoch, bool(is_ended)
            each.decided = None if decided < 0 else decided
            each.joined = None if joined < 0 else joined

    def status(self) -> dict[str, object]:
        """What the stage waits for now."""
        return status(self, self.policy)

    def needs_slot_time(self, stream: int) -> bool:
        """Whether a slot's header has to be read when its frame comes."""
        if self.config.reads_times:
            # Any map may ask for its time.
            return True
        return self.config.max_skew_ns > 0 and any(each.place == 0 for each in self.on(stream))
