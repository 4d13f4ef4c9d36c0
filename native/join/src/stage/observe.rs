// SPDX-License-Identifier: Apache-2.0
//! Takes what comes: descriptors, losses, epochs and ends.

use super::fence::Side;
use super::history::Frame;
use super::policy::{Policy, by_policy};
use super::unmatched::Cause;
use super::{I64_MAX, Stage};
use crate::barrier::{NULL_TIMESTAMP, Observation, Processed};

const NO_TIMES: [u64; 2] = [NULL_TIMESTAMP; 2];

/// One frame, by its descriptor and, if it was read, its slot's timestamp. All ones is null.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// The producer's epoch.
    pub epoch: u64,
    /// The frame's sequence.
    pub seq: u64,
    /// The time at which the descriptor was published.
    pub descriptor_timestamp_ns: u64,
    /// The time at which the frame was captured.
    pub slot_timestamp_ns: u64,
    /// The trace id, which is only passed on.
    pub trace_id: u64,
}

impl Stage {
    /// Takes a frame that was announced. False if it is a repetition, of an earlier epoch, or out of range.
    ///
    /// `stream` is the index in [`super::StageConfig::streams`]. Under the latest policy, call `next` after each frame:
    /// all that come between two calls are one tick.
    pub fn observe(&mut self, stream: usize, seen: &Observed, now_ns: u64) -> bool {
        let given = [seen.slot_timestamp_ns, seen.descriptor_timestamp_ns];
        let Some(side) = self.admits(stream, seen.epoch, seen.seq, given) else { return false };
        if self.streams.has_fence && self.is_nearer_to_next(stream, seen.seq) {
            self.close_epoch();
        }
        let is_out_of_range = given.iter().any(|time| *time > I64_MAX && *time != NULL_TIMESTAMP);
        self.counters.out_of_range += u64::from(is_out_of_range);
        let times = if is_out_of_range { NO_TIMES } else { given };
        let is_left_out = self.is_left_out(stream, side, times);
        if is_left_out {
            // The frame is left out, so it does not count for readiness.
            self.source_mut(stream, side).seen.observed.seq = Some(seen.seq);
        } else {
            self.see(stream, side, &Observation { seq: seen.seq, epoch: None, times }, now_ns);
        }
        let mut is_new = false;
        for at in 0..self.streams.on[stream].len() {
            let input = self.streams.on[stream][at];
            self.order += 1;
            let mut frame = Frame {
                time: times[self.inputs[input].place],
                slot_ns: given[0],
                descriptor_ns: given[1],
                trace_id: seen.trace_id,
                lost: if is_out_of_range { Some(Cause::NoMatch) } else { is_left_out.then_some(Cause::Regressed) },
                ..Frame::gone(seen.seq, seen.seq, now_ns, self.order)
            };
            if self.is_decided(input, side, seen.seq) {
                self.take_decided(input, &frame);
                continue;
            }
            is_new = true;
            frame.lost = frame.lost.or_else(|| self.arrival_cause(input, &frame, side));
            frame.lost = self.add(input, frame, side);
            by_policy!(self, policy => policy.arrived(self, input, &frame));
        }
        by_policy!(self, policy => policy.observed(self, stream, is_new, now_ns));
        true
    }

    /// Takes a frame that was announced but could not be read. False as for `observe`.
    pub fn observe_lost(&mut self, stream: usize, epoch: u64, seq: u64, cause: Cause, now_ns: u64) -> bool {
        let Some(side) = self.admits(stream, epoch, seq, NO_TIMES) else { return false };
        self.see(stream, side, &Observation::of(seq), now_ns);
        self.add_lost(stream, side, (seq, seq), cause, now_ns);
        by_policy!(self, policy => policy.observed(self, stream, false, now_ns));
        true
    }

    /// Loses the waiting frames below `resume_at`, except those with a copy, because the stream is written faster than
    /// it is joined. Those below `gone_below` were overwritten; the others are skipped.
    pub fn lost_below(
        &mut self,
        stream: usize,
        epoch: u64,
        (gone_below, resume_at): (u64, u64),
        is_copied: impl Fn(u64) -> bool,
    ) {
        // Frames behind a fence are checked when they are picked.
        if self.streams.sources[stream].epoch() != Some(epoch) || self.config.policy.keeps_newest_only() {
            return;
        }
        for at in 0..self.streams.on[stream].len() {
            let input = self.streams.on[stream][at];
            let each = &mut self.inputs[input];
            for position in each.head..each.position_from(resume_at.into()) {
                let frame = each.at_mut(position);
                if frame.lost.is_some() || is_copied(frame.seq) {
                    continue;
                }
                let is_gone = frame.seq < gone_below;
                frame.lost = Some(if is_gone { Cause::Overwritten } else { Cause::Aged });
                self.by_input[input].overwritten += u64::from(is_gone);
            }
            self.settle(input);
        }
    }

    /// Takes a range of sequences to which nobody listened.
    pub fn missed(&mut self, stream: usize, epoch: u64, seq_first: u64, seq_last: u64, now_ns: u64) {
        let seq_last = seq_last.min(I64_MAX);
        if epoch > I64_MAX || seq_first > seq_last {
            return;
        }
        let Some(side) = self.enter(stream, epoch) else {
            for at in 0..self.streams.on[stream].len() {
                self.note(
                    self.streams.on[stream][at],
                    epoch,
                    &Frame::gone(seq_first, seq_last, 0, 0),
                    Cause::AgentDown,
                );
            }
            return;
        };
        let is_by_sequence = self.config.policy.is_by_sequence();
        let source = self.source_mut(stream, side);
        let seq_first = seq_first.max(source.next_seq().unwrap_or(0));
        if seq_first > seq_last {
            return;
        }
        let seen = &mut source.seen;
        seen.observed.seq = Some(seq_last);
        if is_by_sequence {
            seen.heard_ns = seen.heard_ns.max(Some(now_ns));
        }
        self.add_lost(stream, side, (seq_first, seq_last), Cause::AgentDown, now_ns);
        by_policy!(self, policy => policy.observed(self, stream, false, now_ns));
    }

    #[inline]
    fn see(&mut self, stream: usize, side: Side, frame: &Observation, now_ns: u64) {
        let (kind, ordered, place) =
            (self.rules.kind, self.streams.ordered[stream], self.inputs[self.streams.on[stream][0]].place);
        let drops_regressed = self.drops_regressed(stream);
        let source = self.source_mut(stream, side);
        let was_rejected = source.seen.rejected & ordered != 0;
        source.is_observed = true;
        match kind {
            Some(kind) => kind.see(&mut source.seen, frame, place, now_ns),
            None => source.seen.observe(frame.seq, frame.times, 0, now_ns),
        }
        if drops_regressed {
            // Until a map says which times count, the newest ones are kept.
            source.seen.rejected = 0;
        }
        let is_rejected = source.seen.rejected & ordered != 0;
        self.counters.regressions += u64::from(is_rejected && !was_rejected);
    }

    pub(super) fn add_lost(&mut self, stream: usize, side: Side, seqs: (u64, u64), cause: Cause, now_ns: u64) {
        let (seq_first, seq_last) = seqs;
        for at in 0..self.streams.on[stream].len() {
            let input = self.streams.on[stream][at];
            let decided = self.inputs[input].decided.filter(|_| side == Side::Present);
            let first = decided.map_or(seq_first, |decided| seq_first.max(decided + 1));
            if first > seq_last {
                self.counters.already_decided += 1;
                continue;
            }
            self.by_input[input].overwritten += u64::from(cause == Cause::Overwritten);
            self.order += 1;
            let frame = Frame { lost: Some(cause), ..Frame::gone(first, seq_last, now_ns, self.order) };
            self.add(input, frame, side);
            by_policy!(self, policy => policy.arrived(self, input, &frame));
        }
    }

    /// Notes that something came of an epoch that is over.
    pub fn note_older(&mut self, stream: usize, epoch: u64) {
        self.newest_mut(stream).older_epoch = Some(epoch);
    }

    /// The side of the fence that a new frame belongs to; None if its epoch is over, or it is a repetition or out of
    /// range.
    #[inline]
    fn admits(&mut self, stream: usize, epoch: u64, seq: u64, times: [u64; 2]) -> Option<Side> {
        let is_out_of_range = seq.max(epoch) > I64_MAX;
        let side = if is_out_of_range { None } else { self.enter(stream, epoch) };
        let Some(side) = side else {
            self.counters.out_of_range += u64::from(is_out_of_range);
            if !is_out_of_range {
                self.note_older(stream, epoch);
            }
            for at in 0..self.streams.on[stream].len() {
                let input = self.streams.on[stream][at];
                let time = if is_out_of_range { NULL_TIMESTAMP } else { times[self.inputs[input].place] };
                let frame = Frame { time, ..Frame::gone(seq, seq, 0, 0) };
                self.note(input, epoch, &frame, if is_out_of_range { Cause::NoMatch } else { Cause::Epoch });
            }
            return None;
        };
        let source = self.source_mut(stream, side);
        source.older_epoch = None;
        let is_repeated = source.last_seq().is_some_and(|last| seq <= last);
        self.counters.repeated += u64::from(is_repeated);
        (!is_repeated).then_some(side)
    }

    #[inline]
    fn is_decided(&self, input: usize, side: Side, seq: u64) -> bool {
        side == Side::Present && self.inputs[input].decided.is_some_and(|decided| seq <= decided)
    }

    /// Takes a frame that was decided before a resume. Only the most recently joined one matters: it may be joined
    /// again.
    fn take_decided(&mut self, input: usize, frame: &Frame) {
        let is_joined = self.inputs[input].joined == Some(frame.seq);
        if is_joined && frame.is_readable() && self.arrival_cause(input, frame, Side::Present).is_none() {
            self.inputs[input].kept = Some(*frame);
        } else {
            self.counters.already_decided += 1;
        }
    }

    #[inline]
    fn arrival_cause(&self, input: usize, frame: &Frame, side: Side) -> Option<Cause> {
        if side == Side::Behind {
            return by_policy!(self, policy => policy.fenced_cause(self, input, frame));
        }
        if !self.takes_part(input) {
            return Some(Cause::NoMatch);
        }
        by_policy!(self, policy => policy.arrival_cause(self, input, frame))
    }

    /// Notes how far consumers processed a stream, for inputs whose processed cursor counts. All ones: no such time.
    pub fn processed(
        &mut self,
        stream: usize,
        epoch: u64,
        seq: u64,
        slot_timestamp_ns: u64,
        descriptor_timestamp_ns: u64,
    ) {
        let times = [slot_timestamp_ns, descriptor_timestamp_ns];
        self.newest_mut(stream).seen.consumed(&Processed { seq: Some(seq), epoch: Some(epoch), times });
    }

    /// Notes that no more frames of this epoch come.
    pub fn ended(&mut self, stream: usize, epoch: u64, _now_ns: u64) {
        if epoch > I64_MAX {
            return;
        }
        if let Some(side) = self.enter(stream, epoch) {
            self.source_mut(stream, side).is_ended = true;
            self.streams.has_ended = true;
            self.advance_watermark();
        }
    }
}
