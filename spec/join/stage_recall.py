# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint keeps of a stage beside its state, and how a stage that resumed takes it back.

It is told, in this order: of each stream, by rising sequences, the frames that waited and what was lost
(``recall_frame``, ``recall_lost``), then how far everything was heard (``recall_rest``). Its state may be a later one
than the checkpoint's: what was decided since stays decided.
"""

from __future__ import annotations

from dataclasses import dataclass

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.history import Frame, Source
from framegate.spec.join.latest_policy import LatestPolicy
from framegate.spec.join.seen import Regression, higher
from framegate.spec.join.sequence_policy import SequencePolicy
from framegate.spec.join.stage_config import I64_MAX
from framegate.spec.join.stage_intake import StageIntake
from framegate.spec.join.timestamp_policy import TimestampPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRest:
    """How far a stream was heard."""

    stream: int
    epoch: int | None
    last_seq: int | None
    watermark_ms: int | None
    is_observed: bool
    is_ended: bool
    is_rejected: bool
    last_slot_ns: int | None
    last_descriptor_ns: int | None
    then: StreamRest | None = None
    """Of the epoch behind the stream's fence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What is neither in the state nor said by telling the frames again."""

    streams: tuple[StreamRest, ...]
    watermark_ms: int | None
    next_tick_ns: int | None
    out_times: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A frame of a stream that may still be joined, or frames that never can be, with their cause."""

    stream: int
    epoch: int
    seq: int
    seq_last: int
    descriptor_ns: int | None
    slot_ns: int | None
    trace_id: int
    lost: Cause | None


class StageRecall(StageIntake):
    """Tells what it stands on, and is told it."""

    # --- What is kept ---

    def waiting(self) -> list[Waiting]:
        """Every frame that waits, once, in the order in which they came; then what is lost."""
        frames: dict[tuple[int, int, int], tuple[tuple[int, int, int], Waiting]] = {}
        lost: dict[tuple[int, int, int, int], tuple[tuple[int, int, int], Waiting]] = {}
        for each in self.inputs:
            present = ([each.kept] if each.kept is not None else []) + each.pending
            for source, frame in [(each.source, frame) for frame in present] + [
                (self.newest(each.config.stream), frame) for frame in each.behind
            ]:
                epoch = source.epoch or 0
                found = (frame.order, epoch, frame.seq), _waiting(source, frame)
                if frame.lost is None:
                    key = each.config.stream, epoch, frame.seq
                    frames[key] = min(frames.get(key, found), found, key=lambda entry: entry[0])
                else:
                    span = each.config.stream, epoch, frame.seq, frame.seq_last
                    lost[span] = min(lost.get(span, found), found, key=lambda entry: entry[0])
        return [told for known in (frames, lost) for _, told in sorted(known.values(), key=lambda entry: entry[0])]

    def rest(self) -> Rest:
        """See ``Rest``."""
        return Rest(
            streams=tuple(self._rest_of(source) for source in self.sources.values()),
            watermark_ms=self.last_watermark_ms,
            next_tick_ns=self.times.next_tick,
            out_times=tuple(self.times.queue),
        )

    # --- How it is taken back ---

    def recall_frame(
        self,
        stream: int,
        epoch: int,
        seq: int,
        descriptor_ns: int | None = None,
        slot_ns: int | None = None,
        trace_id: int = 0,
        now_ns: int = 0,
    ) -> bool:
        """A frame that waited, or was on its way. Whether it is waited for again, and its payload is needed."""
        if self._is_of_another_life(stream, epoch):
            return False
        self._make_room(stream)
        self.observe(stream, epoch, seq, descriptor_ns, slot_ns, trace_id, now_ns)
        return any(
            frame.seq == seq and frame.lost is None
            for each in self.on(stream)
            for frame in (
                ([each.kept] if each.kept is not None else []) + each.pending
                if self.sources[stream].epoch == epoch
                else each.behind
            )
        )

    def recall_lost(self, stream: int, epoch: int, seq_first: int, seq_last: int, cause: Cause, now_ns: int) -> None:
        """Frames that never can be joined, and were not written down as that."""
        seq_last = min(seq_last, I64_MAX)
        if epoch > I64_MAX or self._is_of_another_life(stream, epoch):
            return
        self._make_room(stream)
        source = self.enter(stream, epoch)
        if source is None:
            return
        seq_first = max(seq_first, -1 if source.last_seq is None else source.last_seq + 1)
        if seq_first > seq_last:
            return
        source.seen.observed.seq = seq_last
        self._add_lost(source, seq_first, seq_last, cause, now_ns)

    def recall_rest(self, rest: Rest, now_ns: int, *, is_same_cut: bool, keeps_clock: bool) -> None:
        """How far everything was heard. ``is_same_cut``: the state is the checkpoint's, not one that was sealed later;
        ``keeps_clock``: ticks go on where they were, for time is that of what is fed."""
        for each in self.inputs:
            # What comes now has all the room that it would have had.
            each.room = max(each.room, len(each.pending) + len(each.behind) + self.config.history)
        for told in [record for each in rest.streams for record in (each, each.then) if record is not None]:
            if told.stream in self.sources and told.epoch is not None:
                source = self.enter(told.stream, told.epoch)
                if source is not None:
                    self._recall_stream(source, told, now_ns)
        if isinstance(self.policy, SequencePolicy):
            # What was heard until then may be all that an input needs: the output waits from now on.
            self.policy.touch(now_ns)
        if isinstance(self.policy, LatestPolicy):
            # Whatever was to be made of these frames at once was tried before the cut.
            self.policy.has_tick = False
            if not is_same_cut:
                # Which of the times were outputs since then, no state of this policy says.
                return
        self._recall_times(rest, keeps_clock=keeps_clock)

    def reopen(self, stream: int) -> None:
        """The source of a stream that had ended goes on in the same life: more of it comes."""
        self.newest(stream).is_ended = False

    def _recall_times(self, rest: Rest, *, keeps_clock: bool) -> None:
        """The times that wait to be outputs; those that are decided are none any more."""
        last_ns = self.policy.last_ns if isinstance(self.policy, TimestampPolicy) else None
        if rest.watermark_ms is not None:
            self.last_watermark_ms = max(rest.watermark_ms, self.last_watermark_ms or 0)
        for time_ns in rest.out_times:
            if last_ns is None or time_ns > last_ns:
                self.times.push(time_ns)
        if keeps_clock and rest.next_tick_ns is not None and self.config.drive == "clock":
            behind_ns = 0 if last_ns is None else max(0, last_ns + 1 - rest.next_tick_ns)
            self.times.next_tick = rest.next_tick_ns + -(-behind_ns // self.times.period_ns) * self.times.period_ns

    def _make_room(self, stream: int) -> None:
        """The next frame of a stream is one of a checkpoint's: it was promised its place."""
        for each in self.on(stream):
            each.room = max(each.room, len(each.pending) + len(each.behind) + 1)

    def _is_of_another_life(self, stream: int, epoch: int) -> bool:
        """Whether the stream has gone on in a higher epoch since: all of this one is decided."""
        own = self.sources[stream].epoch
        is_other = own is not None and epoch < own
        self.counters.already_decided += is_other
        return is_other

    def _recall_stream(self, source: Source, told: StreamRest, now_ns: int) -> None:
        source.is_observed |= told.is_observed
        source.is_ended |= told.is_ended
        if told.watermark_ms is not None:
            source.watermark_ms = higher(source.watermark_ms, told.watermark_ms)
        seen = source.seen
        if told.last_seq is not None:
            seen.observed.seq = higher(seen.observed.seq, told.last_seq)
        times = [told.last_slot_ns, told.last_descriptor_ns]
        seen.observed.times = [
            known if time is None else time for time, known in zip(times, seen.observed.times, strict=True)
        ]
        if told.is_observed:
            seen.heard_ns = higher(seen.heard_ns, now_ns)
        if told.is_rejected:
            # By the times of which map is not said: nothing of it is joined by either.
            regression = Regression(told.last_seq or 0, None, None)
            seen.rejected.update(dict.fromkeys((0, 1), regression) if self.config.policy == "timestamp" else {})

    def _rest_of(self, source: Source) -> StreamRest:
        return StreamRest(
            stream=source.stream,
            epoch=source.epoch,
            last_seq=source.last_seq,
            watermark_ms=source.watermark_ms,
            is_observed=source.is_observed,
            is_ended=source.is_ended,
            is_rejected=self.is_rejected(source),
            last_slot_ns=source.last_times[0],
            last_descriptor_ns=source.last_times[1],
            then=self._rest_of(self.behind[source.stream]) if self._is_fenced(source) else None,
        )

    def _is_fenced(self, source: Source) -> bool:
        return source is self.sources[source.stream] and source.stream in self.behind


def _waiting(source: Source, frame: Frame) -> Waiting:
    span = source.stream, source.epoch or 0, frame.seq, frame.seq_last
    if frame.lost is not None:
        # Its cause is all that is asked of it.
        return Waiting(*span, None, None, 0, frame.lost)
    return Waiting(*span, frame.descriptor_ns, frame.slot_ns, frame.trace_id, None)
