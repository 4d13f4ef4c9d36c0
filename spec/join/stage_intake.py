# SPDX-License-Identifier: Apache-2.0
"""Takes what comes: descriptors, losses, epochs, ends, and times that make outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.history import Frame, Input, Source
from framegate.spec.join.seen import Times, higher, times_of
from framegate.spec.join.stage_config import I64_MAX
from framegate.spec.join.stage_fence import StageFence
from framegate.spec.join.timestamp_policy import TimestampPolicy

_NS_PER_MS: Final = 1_000_000


class StageIntake(StageFence):
    """Adds what comes to the histories, or decides it at once."""

    # --- What comes in ---

    def observe(
        self,
        stream: int,
        epoch: int,
        seq: int,
        descriptor_ns: int | None = None,
        slot_ns: int | None = None,
        trace_id: int = 0,
        now_ns: int = 0,
    ) -> bool:
        """Take a frame that was announced; ``slot_ns`` is its slot's time, if the stage needs it. False if it is not a
        new frame.
        """
        times = times_of(slot_ns, descriptor_ns)
        source = self._admits(stream, epoch, seq, times)
        if source is None:
            return False
        if self.behind and self.is_nearer_to_next(stream, seq):
            self.close_epoch()
        lost = None
        given = list(times)
        if any(time is not None and time > I64_MAX for time in times):
            self.counters.out_of_range += 1
            lost, times = Cause.NO_MATCH, [None, None]
        if self._is_left_out(source, times):
            # The frame is left out, so it does not count for readiness.
            source.seen.observed.seq = seq
            lost = lost or Cause.REGRESSED
        else:
            self._see(source, seq, times, now_ns)
        is_new = False
        for each in self.on(stream):
            frame = Frame(seq, seq, times[each.place], given[0], given[1], trace_id, now_ns, self._ordered(), lost)
            if source is each.source and each.decided is not None and seq <= each.decided:
                self._take_decided(each, frame)
                continue
            is_new = True
            frame.lost = frame.lost or self._arrival_cause(each, frame, source)
            self.add(each, frame, source)
            self.policy.arrived(each, frame, now_ns)
        self.policy.observed(source, is_new, now_ns)
        return True

    def observe_lost(self, stream: int, epoch: int, seq: int, cause: Cause, now_ns: int) -> bool:
        """Take a frame that was announced but could not be read."""
        source = self._admits(stream, epoch, seq, [None, None])
        if source is None:
            return False
        self._see(source, seq, [None, None], now_ns)
        self._add_lost(source, seq, seq, cause, now_ns)
        self.policy.observed(source, False, now_ns)
        return True

    def lost_below(self, stream: int, epoch: int, gone_below: int, resume_at: int) -> None:
        """Lose the waiting frames below ``resume_at``, because the stream is written faster than it is joined. Those
        below ``gone_below`` were overwritten; the others are skipped.
        """
        if self.sources[stream].epoch != epoch or self.config.policy == "latest":
            return
        for each in self.on(stream):
            for frame in each.pending:
                if frame.lost is None and frame.seq < resume_at:
                    is_gone = frame.seq < gone_below
                    frame.lost = Cause.OVERWRITTEN if is_gone else Cause.AGED
                    self.counters.overwritten[each.index] += is_gone
            self.settle(each)

    def missed(self, stream: int, epoch: int, seq_first: int, seq_last: int, now_ns: int) -> None:
        """Take a range of sequences to which nobody listened."""
        seq_last = min(seq_last, I64_MAX)
        if epoch > I64_MAX or seq_first > seq_last:
            return
        source = self.enter(stream, epoch)
        if source is None:
            for each in self.on(stream):
                self.note(each, epoch, self._gone(seq_first, seq_last, now_ns), Cause.AGENT_DOWN)
            return
        seq_first = max(seq_first, -1 if source.last_seq is None else source.last_seq + 1)
        if seq_first > seq_last:
            return
        source.seen.observed.seq = seq_last
        if self.config.policy == "sequence":
            source.seen.heard_ns = higher(source.seen.heard_ns, now_ns)
        self._add_lost(source, seq_first, seq_last, Cause.AGENT_DOWN, now_ns)
        self.policy.observed(source, False, now_ns)

    def _add_lost(self, source: Source, seq_first: int, seq_last: int, cause: Cause, now_ns: int) -> None:
        for each in self.on(source.stream):
            decided = each.decided if source is each.source else None
            first = seq_first if decided is None else max(seq_first, decided + 1)
            if first > seq_last:
                self.counters.already_decided += 1
                continue
            self.counters.overwritten[each.index] += cause is Cause.OVERWRITTEN
            frame = self._gone(first, seq_last, now_ns)
            frame.lost = cause
            self.add(each, frame, source)
            self.policy.arrived(each, frame, now_ns)

    def _gone(self, seq_first: int, seq_last: int, now_ns: int) -> Frame:
        return Frame(seq_first, seq_last, None, None, None, 0, now_ns, self._ordered())

    def _admits(self, stream: int, epoch: int, seq: int, times: Times) -> Source | None:
        """The record of the epoch that a new frame belongs to; None if its epoch is over, or it is a repetition or out
        of range.
        """
        outside = Frame(seq, seq, None, None, None, 0, 0, 0)
        if max(seq, epoch) > I64_MAX:
            self.counters.out_of_range += 1
            for each in self.on(stream):
                self.note(each, epoch, outside, Cause.NO_MATCH)
            return None
        source = self.enter(stream, epoch)
        if source is None:
            for each in self.on(stream):
                self.note(each, epoch, replace(outside, time=times[each.place]), Cause.EPOCH)
            return None
        if source.last_seq is not None and seq <= source.last_seq:
            self.counters.repeated += 1
            return None
        return source

    def _see(self, source: Source, seq: int, times: Times, now_ns: int) -> None:
        was_rejected = self.is_rejected(source)
        source.is_observed = True
        if self.kind is None:
            source.seen.observe(seq, times, now_ns, is_ordered=False)
        else:
            self.kind.see(source.seen, seq, times, self.on(source.stream)[0].config.source, now_ns)
        if self.drops_regressed(source):
            # Until a map says which times count, the newest ones are kept.
            source.seen.rejected.clear()
        self.counters.regressions += self.is_rejected(source) and not was_rejected

    def _is_left_out(self, source: Source, times: Times) -> bool:
        """Whether a frame is left out because its time goes back and its inputs drop such frames."""
        on = [each for each in self.on(source.stream) if self.takes_part(each)]
        return self.drops_regressed(source) and any(source.seen.goes_back(each.place, times[each.place]) for each in on)

    def _arrival_cause(self, each: Input, frame: Frame, source: Source) -> Cause | None:
        """Why a new frame can never be joined; None if it may be."""
        if source is each.source:
            return self._present_cause(each, frame)
        # The outputs of a frame behind a fence are not known yet.
        if self.config.policy != "timestamp":
            return None
        if self.is_rejected(source):
            return Cause.REGRESSED
        return Cause.NULL_TIMESTAMP if frame.time is None else None

    def _present_cause(self, each: Input, frame: Frame) -> Cause | None:
        if not self.takes_part(each):
            return Cause.NO_MATCH
        if not self.has_map and self.config.policy in ("sequence", "timestamp"):
            # Only a valid map says whether a frame can be joined.
            return None
        return self.policy.arrival_cause(each, frame)

    def _take_decided(self, each: Input, frame: Frame) -> None:
        """Take a frame that was decided before a resume. Only the most recently joined one matters: it may be joined
        again.
        """
        if frame.seq == each.joined and frame.lost is None and self._present_cause(each, frame) is None:
            each.kept = frame
        else:
            self.counters.already_decided += 1

    def _ordered(self) -> int:
        self.order += 1
        return self.order

    def processed(
        self, stream: int, epoch: int, seq: int, slot_ns: int | None = None, descriptor_ns: int | None = None
    ) -> None:
        """Note how far consumers processed a stream, for inputs whose processed cursor counts."""
        seen = self.newest(stream).seen
        if seen.epoch == epoch:
            seen.consumed(seq, times_of(slot_ns, descriptor_ns))

    def ended(self, stream: int, epoch: int, now_ns: int) -> None:
        """Note that no more frames of this epoch come."""
        source = self.enter(stream, epoch) if epoch <= I64_MAX else None
        if source is not None:
            source.is_ended = True
            self.advance_watermark()

    # --- Times ---

    def watermark(self, stream: int, ms: int, now_ns: int) -> None:
        """Take a stream's watermark; one that decreases is ignored."""
        source = self.newest(stream)
        if not 0 <= ms <= I64_MAX // _NS_PER_MS:
            self.counters.time_refused += 1
        elif source.watermark_ms is None or ms > source.watermark_ms:
            source.watermark_ms = ms
            self.advance_watermark()

    def advance_watermark(self) -> None:
        """Make an output of the lowest watermark, if it has advanced."""
        marks = [each.source.watermark_ms for each in self.required if not each.source.is_ended]
        known = [mark for mark in marks if mark is not None]
        if self.config.drive != "watermark" or not marks or len(known) < len(marks):
            return
        if self.last_watermark_ms is None or min(known) > self.last_watermark_ms:
            self.last_watermark_ms = min(known)
            self._push(self.last_watermark_ms * _NS_PER_MS)

    def push_time(self, out_time_ns: int) -> bool:
        """Take an output time from the caller. False if it decreases, or if too many wait."""
        if self.config.drive != "external":
            return False
        return self._push(out_time_ns)

    def _push(self, out_time_ns: int) -> bool:
        if (
            not 0 <= out_time_ns <= I64_MAX
            or self._is_before_last(out_time_ns)
            or self.times.is_decreasing(out_time_ns)
        ):
            self.counters.time_refused += 1
            return False
        has_room = self.times.push(out_time_ns)
        self.counters.skipped_outputs += not has_room
        return has_room

    def _is_before_last(self, out_time_ns: int) -> bool:
        last_ns = self.policy.last_ns if isinstance(self.policy, TimestampPolicy) else None
        return last_ns is not None and out_time_ns < last_ns

    def tick(self, now_ns: int, clock_ns: int) -> None:
        """Take the current time. A clock drive begins at the first tick with all required inputs observed."""
        if self.config.drive != "clock" or clock_ns > I64_MAX:
            return
        is_ready = self.kind is not None and self.has_map and self.is_all_observed
        if self.times.next_tick is None and is_ready:
            if self._is_before_last(clock_ns):
                self.counters.time_refused += 1
                return
            self.times.next_tick = clock_ns
        self.times.clock_ns = max(self.times.clock_ns, clock_ns)
