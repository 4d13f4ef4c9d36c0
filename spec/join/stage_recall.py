# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint keeps of a stage beside its state, and how a resumed stage takes it back.

The caller gives each stream's waiting and lost frames, by rising sequences (``recall_frame``, ``recall_lost``), and
then how far everything was heard (``recall_rest``). The stage's state may be newer than the checkpoint; what was
decided since stays decided.
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
    """How far one epoch of a stream was heard."""

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
    """The same of the epoch behind the stream's fence, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What neither the state nor the frames say."""

    streams: tuple[StreamRest, ...]
    watermark_ms: int | None
    next_tick_ns: int | None
    out_times: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A frame that may still be joined, or frames that never can be, with their cause."""

    stream: int
    epoch: int
    seq: int
    seq_last: int
    descriptor_ns: int | None
    slot_ns: int | None
    trace_id: int
    lost: Cause | None


class StageRecall(StageIntake):
    """Gives out what a checkpoint keeps, and takes it back."""

    # --- What is kept ---

    def waiting(self) -> list[Waiting]:
        """All waiting frames, once each and in the order in which they came; then all lost ones."""
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
        """What neither the state nor the frames say; see ``Rest``."""
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
        """Take back a frame that waited or was in flight. True if it waits again, so that its payload is needed."""
        if self._is_before_present(stream, epoch):
            return False
        self._reserve_one(stream)
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
        """Take back frames that can never be joined and were not recorded yet."""
        seq_last = min(seq_last, I64_MAX)
        if epoch > I64_MAX or self._is_before_present(stream, epoch):
            return
        self._reserve_one(stream)
        source = self.enter(stream, epoch)
        if source is None:
            return
        seq_first = max(seq_first, -1 if source.last_seq is None else source.last_seq + 1)
        if seq_first > seq_last:
            return
        source.seen.observed.seq = seq_last
        self._add_lost(source, seq_first, seq_last, cause, now_ns)

    def recall_rest(self, rest: Rest, now_ns: int, *, is_same_cut: bool, keeps_clock: bool) -> None:
        """Take back how far everything was heard. ``is_same_cut``: the state is the checkpoint's own, not a later one.
        ``keeps_clock``: ticks go on where they were, because time comes from what is fed.
        """
        for each in self.inputs:
            # New frames get all the space that they would have had without the recalled ones.
            each.capacity = max(each.capacity, len(each.pending) + len(each.behind) + self.config.history)
        for told in [record for each in rest.streams for record in (each, each.then) if record is not None]:
            if told.stream in self.sources and told.epoch is not None:
                source = self.enter(told.stream, told.epoch)
                if source is not None:
                    self._recall_stream(source, told, now_ns)
        if isinstance(self.policy, SequencePolicy):
            # The frames heard so far may be all that an input needs, so the output waits from now on.
            self.policy.start_wait(now_ns)
        if isinstance(self.policy, LatestPolicy):
            # What these frames could make at once was tried before the cut.
            self.policy.has_tick = False
            if not is_same_cut:
                # No state of this policy says which of the times became outputs since the cut.
                return
        self._recall_times(rest, keeps_clock=keeps_clock)

    def reopen(self, stream: int) -> None:
        """Reopen a stream that had ended: its source continues its sequences, and more of it comes."""
        self.newest(stream).is_ended = False

    def _recall_times(self, rest: Rest, *, keeps_clock: bool) -> None:
        """Take back the times that wait to be outputs, except those that are decided."""
        last_ns = self.policy.last_ns if isinstance(self.policy, TimestampPolicy) else None
        if rest.watermark_ms is not None:
            self.last_watermark_ms = max(rest.watermark_ms, self.last_watermark_ms or 0)
        for time_ns in rest.out_times:
            if last_ns is None or time_ns > last_ns:
                self.times.push(time_ns)
        if keeps_clock and rest.next_tick_ns is not None and self.config.drive == "clock":
            behind_ns = 0 if last_ns is None else max(0, last_ns + 1 - rest.next_tick_ns)
            self.times.next_tick = rest.next_tick_ns + -(-behind_ns // self.times.period_ns) * self.times.period_ns

    def _reserve_one(self, stream: int) -> None:
        """Make space for one more frame of a stream, which comes from a checkpoint."""
        for each in self.on(stream):
            each.capacity = max(each.capacity, len(each.pending) + len(each.behind) + 1)

    def _is_before_present(self, stream: int, epoch: int) -> bool:
        """Whether the stream has gone on to a higher epoch, so that all of this one is decided."""
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
            # The checkpoint does not say which field went back, so every field that counts is rejected.
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
        # Nothing but the cause is needed.
        return Waiting(*span, None, None, 0, frame.lost)
    return Waiting(*span, frame.descriptor_ns, frame.slot_ns, frame.trace_id, None)
