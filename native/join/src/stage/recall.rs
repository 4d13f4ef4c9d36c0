// SPDX-License-Identifier: Apache-2.0
//! How a stage that resumed takes back what a checkpoint keeps beside its state.
//!
//! It is told, in this order: of each stream, by rising sequences, the frames that waited and what was lost, then how far
//! everything was heard. Its state may be a later one than the checkpoint's: what was decided since stays decided.
//! Asked for once, at the start: it allocates.

use super::config::Drive;
use super::fence::Side;
use super::observe::Observed;
use super::policy::{Policy, by_policy};
use super::unmatched::Cause;
use super::{I64_MAX, Stage};
use crate::barrier::{Kind, Regression};

/// How far an epoch of a stream was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRest {
    /// Its place in [`super::StageConfig::streams`].
    pub stream: usize,
    /// The producer's epoch.
    pub epoch: Option<u64>,
    /// The newest sequence.
    pub last_seq: Option<u64>,
    /// The newest watermark.
    pub watermark_ms: Option<u64>,
    /// Whether a frame of this epoch came.
    pub is_observed: bool,
    /// Whether it is over.
    pub is_ended: bool,
    /// Whether its times have decreased.
    pub is_rejected: bool,
    /// The newest times of slot headers and of descriptors.
    pub last_times: [Option<u64>; 2],
}

/// What is neither in the state nor said by telling the frames again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Of each stream, and of the epoch behind its fence, which follows.
    pub streams: Vec<StreamRest>,
    /// The lowest watermark that made an output.
    pub watermark_ms: Option<u64>,
    /// The next tick of a clock drive.
    pub next_tick_ns: Option<u64>,
    /// Times that wait to be outputs.
    pub out_times: Vec<u64>,
}

impl Stage {
    /// A frame that waited, or was on its way. Whether it is waited for again, and its payload is needed.
    pub fn recall_frame(&mut self, stream: usize, seen: &Observed, now_ns: u64) -> bool {
        if self.is_of_another_life(stream, seen.epoch) {
            return false;
        }
        self.make_room(stream);
        self.observe(stream, seen, now_ns);
        self.streams.on[stream].iter().any(|input| {
            let each = &self.inputs[*input];
            let side =
                if self.streams.sources[stream].epoch() == Some(seen.epoch) { Side::Present } else { Side::Behind };
            let kept = each.kept.iter().map(|kept| (Side::Present, kept));
            let waiting = each.last(side).map(|frame| (side, frame));
            kept.chain(waiting).any(|(own, frame)| own == side && frame.seq == seen.seq && frame.is_readable())
        })
    }

    /// Frames that can never be joined, and were not written down as such.
    pub fn recall_lost(&mut self, stream: usize, epoch: u64, seqs: (u64, u64), cause: Cause, now_ns: u64) {
        let (seq_first, seq_last) = (seqs.0, seqs.1.min(I64_MAX));
        if epoch > I64_MAX || self.is_of_another_life(stream, epoch) {
            return;
        }
        self.make_room(stream);
        let Some(side) = self.enter(stream, epoch) else { return };
        let source = self.source_mut(stream, side);
        let seq_first = seq_first.max(source.next_seq().unwrap_or(0));
        if seq_first > seq_last {
            return;
        }
        source.seen.observed.seq = Some(seq_last);
        self.add_lost(stream, side, (seq_first, seq_last), cause, now_ns);
    }

    /// How far everything was heard. `is_same_cut`: the state is the checkpoint's, not one that was sealed later;
    /// `keeps_clock`: ticks go on where they were, for time is that of what is fed.
    pub fn recall_rest(&mut self, rest: &Rest, now_ns: u64, is_same_cut: bool, keeps_clock: bool) {
        for each in &mut self.inputs {
            // What comes now has all the room that it would have had.
            each.reserve(self.config.history as usize);
        }
        for told in &rest.streams {
            let side = told.epoch.and_then(|epoch| self.enter(told.stream, epoch));
            if let Some(side) = side {
                self.recall_stream(told, side, now_ns);
            }
        }
        by_policy!(self, policy => policy.taken_up(self, now_ns));
        if self.config.policy.keeps_newest_only() {
            // Whatever was to be made of these frames at once was tried before the cut.
            self.numbers.ticking.has_tick = false;
            if !is_same_cut {
                // Which of the times were outputs since then, no state of this policy says.
                return;
            }
        }
        let last_ns = self.numbers.timing.last_ns;
        self.numbers.last_watermark_ms = self.numbers.last_watermark_ms.max(rest.watermark_ms);
        for &time_ns in &rest.out_times {
            if last_ns.is_none_or(|last_ns| time_ns > last_ns) {
                self.numbers.times.push(time_ns);
            }
        }
        if let (true, Some(tick_ns), Drive::Clock { .. }) = (keeps_clock, rest.next_tick_ns, self.config.drive) {
            self.numbers.times.go_on(tick_ns, last_ns);
        }
    }

    /// Epoch and sequence up to which a stream was heard; up to which it was decided, where that is all that is known.
    #[must_use]
    pub fn heard_until(&self, stream: usize) -> Option<(u64, u64)> {
        self.last_heard(stream).or_else(|| self.decided(stream))
    }

    /// The source of a stream that had ended goes on in the same life: more of it comes.
    pub fn reopen(&mut self, stream: usize) {
        self.newest_mut(stream).is_ended = false;
        self.streams.has_ended = self.streams.sources.iter().any(|source| source.is_ended);
    }

    /// Whether the stream has gone on in a higher epoch since: all of this one is decided.
    fn is_of_another_life(&mut self, stream: usize, epoch: u64) -> bool {
        let is_other = self.streams.sources[stream].epoch().is_some_and(|own| own > epoch);
        self.counters.already_decided += u64::from(is_other);
        is_other
    }

    fn recall_stream(&mut self, told: &StreamRest, side: Side, now_ns: u64) {
        // By the times of which map is not said: nothing of it is joined by either.
        let ordered = self.rules.kind.map_or(0, Kind::ordered);
        let source = self.source_mut(told.stream, side);
        source.is_observed |= told.is_observed;
        source.is_ended |= told.is_ended;
        source.watermark_ms = source.watermark_ms.max(told.watermark_ms);
        let seen = &mut source.seen;
        seen.epoch = told.epoch;
        seen.observed.seq = seen.observed.seq.max(told.last_seq);
        for (known, time) in seen.observed.times.iter_mut().zip(told.last_times) {
            *known = time.or(*known);
        }
        if told.is_observed {
            seen.heard_ns = seen.heard_ns.max(Some(now_ns));
        }
        if told.is_rejected {
            let by = Regression { seq: told.last_seq.unwrap_or(0), last_ns: None, found_ns: None };
            (0..2).filter(|place| ordered >> place & 1 == 1).for_each(|place| seen.reject(place, by));
        }
        self.streams.has_ended |= told.is_ended;
        self.rules.is_untried = true;
    }
}
