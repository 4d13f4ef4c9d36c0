// SPDX-License-Identifier: Apache-2.0
//! How a resumed stage takes back what a checkpoint keeps beside its state.
//!
//! The caller gives each stream's waiting and lost frames, by rising sequences, and then how far everything was heard.
//! The stage's state may be newer than the checkpoint; what was decided since stays decided. Called once, at the start,
//! because it allocates.

use super::config::Drive;
use super::fence::Side;
use super::observe::Observed;
use super::policy::{Policy, by_policy};
use super::unmatched::Cause;
use super::{I64_MAX, Stage};
use crate::barrier::{Kind, Regression};

/// How far one epoch of a stream was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRest {
    /// The index of the stream in [`super::StageConfig::streams`].
    pub stream: usize,
    /// The producer's epoch.
    pub epoch: Option<u64>,
    /// The newest sequence.
    pub last_seq: Option<u64>,
    /// The newest watermark.
    pub watermark_ms: Option<u64>,
    /// Whether a frame of this epoch came.
    pub is_observed: bool,
    /// Whether the epoch is over.
    pub is_ended: bool,
    /// Whether the stream's times have decreased.
    pub is_rejected: bool,
    /// The newest times of slot headers and of descriptors.
    pub last_times: [Option<u64>; 2],
}

/// What neither the state nor the frames say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// How far each stream was heard; the epoch behind its fence follows, if it has one.
    pub streams: Vec<StreamRest>,
    /// The lowest watermark that made an output.
    pub watermark_ms: Option<u64>,
    /// The next tick of a clock drive.
    pub next_tick_ns: Option<u64>,
    /// Times that wait to be outputs.
    pub out_times: Vec<u64>,
}

impl Stage {
    /// Takes back a frame that waited or was in flight. True if it waits again, so that its payload is needed.
    pub fn recall_frame(&mut self, stream: usize, seen: &Observed, now_ns: u64) -> bool {
        if self.is_before_present(stream, seen.epoch) {
            return false;
        }
        self.reserve_one(stream);
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

    /// Takes back frames that can never be joined and were not recorded yet.
    pub fn recall_lost(&mut self, stream: usize, epoch: u64, seqs: (u64, u64), cause: Cause, now_ns: u64) {
        let (seq_first, seq_last) = (seqs.0, seqs.1.min(I64_MAX));
        if epoch > I64_MAX || self.is_before_present(stream, epoch) {
            return;
        }
        self.reserve_one(stream);
        let Some(side) = self.enter(stream, epoch) else { return };
        let source = self.source_mut(stream, side);
        let seq_first = seq_first.max(source.next_seq().unwrap_or(0));
        if seq_first > seq_last {
            return;
        }
        source.seen.observed.seq = Some(seq_last);
        self.add_lost(stream, side, (seq_first, seq_last), cause, now_ns);
    }

    /// Takes back how far everything was heard. `is_same_cut`: the state is the checkpoint's own, not a later one.
    /// `keeps_clock`: ticks go on where they were, because time comes from what is fed.
    pub fn recall_rest(&mut self, rest: &Rest, now_ns: u64, is_same_cut: bool, keeps_clock: bool) {
        for each in &mut self.inputs {
            // New frames get all the space that they would have had without the recalled ones.
            each.reserve(self.config.history as usize);
        }
        for told in &rest.streams {
            let side = told.epoch.and_then(|epoch| self.enter(told.stream, epoch));
            if let Some(side) = side {
                self.recall_stream(told, side, now_ns);
            }
        }
        by_policy!(self, policy => policy.map_applied(self, now_ns));
        if self.config.policy.keeps_newest_only() {
            // What these frames could make at once was tried before the cut.
            self.numbers.ticking.has_tick = false;
            if !is_same_cut {
                // No state of this policy says which of the times became outputs since the cut.
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
            self.numbers.times.resume_ticks(tick_ns, last_ns);
        }
    }

    /// Epoch and sequence up to which a stream was heard or, if that is not known, decided.
    #[must_use]
    pub fn heard_until(&self, stream: usize) -> Option<(u64, u64)> {
        self.last_heard(stream).or_else(|| self.decided(stream))
    }

    /// Reopens a stream that had ended: its source continues its sequences, and more of it comes.
    pub fn reopen(&mut self, stream: usize) {
        self.newest_mut(stream).is_ended = false;
        self.streams.has_ended = self.streams.sources.iter().any(|source| source.is_ended);
    }

    /// Whether the stream has gone on to a higher epoch, so that all of this one is decided.
    fn is_before_present(&mut self, stream: usize, epoch: u64) -> bool {
        let is_other = self.streams.sources[stream].epoch().is_some_and(|own| own > epoch);
        self.counters.already_decided += u64::from(is_other);
        is_other
    }

    fn recall_stream(&mut self, told: &StreamRest, side: Side, now_ns: u64) {
        // The checkpoint does not say which field went back, so every field that counts is rejected.
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
