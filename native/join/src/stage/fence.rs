// SPDX-License-Identifier: Apache-2.0
//! Fences in the histories of inputs. If a stream begins a new epoch while frames of the old one wait, new frames go
//! behind a fence, and only frames before it are candidates. The output's epoch goes on until nothing more can be made
//! of it, the next one is nearer, a third epoch begins, or space runs out. Then all fences are removed at once.

use super::Stage;
use super::config::Drive;
use super::history::Wide;
use super::policy::{Policy, by_policy};
use super::source::Source;
use super::unmatched::Cause;

/// The side of a stream's fence that something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The epoch that outputs are made of.
    Present,
    /// The epoch behind the fence.
    Behind,
}

impl Stage {
    /// The side that something of this epoch belongs to; None if the epoch is over. A higher epoch begins here.
    #[inline]
    pub(super) fn enter(&mut self, stream: usize, epoch: u64) -> Option<Side> {
        if !self.streams.has_fence && self.streams.sources[stream].epoch() == Some(epoch) {
            return Some(Side::Present);
        }
        self.enter_another(stream, epoch)
    }

    #[cold]
    fn enter_another(&mut self, stream: usize, epoch: u64) -> Option<Side> {
        let side = self.side_of(stream, epoch)?;
        let is_full = self.streams.on[stream].iter().any(|input| self.inputs[*input].is_full());
        if self.streams.has_fence && is_full {
            // Otherwise a newer frame would be lost for the sake of old ones.
            self.close_epoch();
            return self.side_of(stream, epoch);
        }
        Some(side)
    }

    fn side_of(&mut self, stream: usize, epoch: u64) -> Option<Side> {
        let next = self.streams.behind[stream].and_then(|behind| behind.epoch());
        match self.streams.sources[stream].epoch() {
            None => {
                self.streams.sources[stream].seen.epoch = Some(epoch);
                Some(Side::Present)
            }
            Some(own) if epoch <= own => (epoch == own).then_some(Side::Present),
            Some(_) if next.is_some_and(|next| epoch <= next) => (next == Some(epoch)).then_some(Side::Behind),
            Some(_) => Some(self.begin_epoch(stream, epoch)),
        }
    }

    fn begin_epoch(&mut self, stream: usize, epoch: u64) -> Side {
        if self.streams.behind[stream].is_some() {
            self.close_epoch();
        }
        let waits = |input: &usize| !self.inputs[*input].is_empty();
        if !self.config.policy.keeps_newest_only()
            && (self.streams.has_fence || self.streams.on[stream].iter().any(waits))
        {
            self.fence(stream, epoch);
            return Side::Behind;
        }
        self.begin_next(stream, Source::of(epoch));
        self.new_out_epoch();
        Side::Present
    }

    fn fence(&mut self, stream: usize, epoch: u64) {
        self.streams.behind[stream] = Some(Source::of(epoch));
        for at in 0..self.streams.on[stream].len() {
            self.inputs[self.streams.on[stream][at]].fence();
        }
        // No more frames of the old epoch are waited for.
        self.streams.sources[stream].is_ended = true;
        (self.streams.has_fence, self.streams.has_ended) = (true, true);
    }

    /// The record of one side, to be changed.
    #[inline]
    pub(super) fn source_mut(&mut self, stream: usize, side: Side) -> &mut Source {
        match (side, &mut self.streams.behind[stream]) {
            (Side::Behind, Some(behind)) => behind,
            _ => &mut self.streams.sources[stream],
        }
    }

    /// The record of one side, to be read.
    pub(super) fn source_at(&self, stream: usize, side: Side) -> &Source {
        match (side, &self.streams.behind[stream]) {
            (Side::Behind, Some(behind)) => behind,
            _ => &self.streams.sources[stream],
        }
    }

    /// The record that a stream's next frame belongs to.
    pub(super) fn newest(&self, stream: usize) -> &Source {
        self.streams.behind[stream].as_ref().unwrap_or(&self.streams.sources[stream])
    }

    pub(super) fn newest_mut(&mut self, stream: usize) -> &mut Source {
        self.streams.behind[stream].as_mut().unwrap_or(&mut self.streams.sources[stream])
    }

    // --- The fences are removed ----------------------------------------------------------------------------

    /// Moves all streams that have a fence to their next epoch. What is left of the old ones is dropped.
    pub(super) fn close_epoch(&mut self) {
        for stream in 0..self.streams.sources.len() {
            if let Some(next) = self.streams.behind[stream].take() {
                self.begin_next(stream, next);
            }
        }
        self.new_out_epoch();
        self.advance_watermark();
    }

    fn begin_next(&mut self, stream: usize, next: Source) {
        for at in 0..self.streams.on[stream].len() {
            let input = self.streams.on[stream][at];
            self.drop_all(input, Cause::Epoch);
            self.inputs[input].begin();
        }
        self.streams.sources[stream] = next;
        for at in 0..self.streams.on[stream].len() {
            self.settle(self.streams.on[stream][at]);
        }
    }

    fn new_out_epoch(&mut self) {
        self.streams.has_fence = self.streams.behind.iter().any(Option::is_some);
        self.streams.has_ended = self.streams.sources.iter().any(|source| source.is_ended);
        (self.out_epoch, self.out_seq) = (self.out_epoch + 1, 0);
        self.numbers.last_watermark_ms = None;
        self.invalidate();
        by_policy!(self, policy => policy.new_epoch(self));
    }

    /// Begins the outputs of an epoch; none was asked for yet.
    pub(super) fn begin_outputs_anew(&mut self) {
        self.numbers.times.new_epoch();
        self.next_output();
    }

    /// Closes the output's epoch if nothing more can be made of it, or if the next one is nearer. True if it was
    /// closed.
    #[cold]
    pub(super) fn close_if_due(&mut self) -> bool {
        let is_due = !self.config.policy.closes_by_order()
            && (self.is_drained() || by_policy!(self, policy => policy.is_next_nearer(self)));
        if is_due {
            self.close_epoch();
        }
        is_due
    }

    /// Whether nothing waits before any fence.
    fn is_drained(&self) -> bool {
        self.inputs.iter().all(|each| self.streams.behind[each.source].is_none() || each.is_empty())
    }

    /// Whether all streams have ended, according to these records.
    pub(super) fn has_all_ended_in<'a>(&self, record: impl Fn(usize) -> &'a Source) -> bool {
        (0..self.streams.sources.len()).all(|stream| {
            let is_awaited = self.streams.on[stream].iter().any(|input| self.is_required(*input));
            let record = record(stream);
            record.is_ended || !(is_awaited || record.is_observed)
        })
    }

    // --- By sequence ---------------------------------------------------------------------------------------

    /// Whether every input has what the first output of the next epoch asks for, while one lacks what this epoch's
    /// would.
    pub(super) fn is_next_nearer_at_begin(&self) -> bool {
        if !self.rules.is_valid || self.numbers.counting.n.is_some() || !self.is_all_observed() {
            return false;
        }
        let n = self.first_output(|input| self.first_seq(input));
        let is_far = |n| (0..self.inputs.len()).any(|input| self.is_required(input) && self.lacks(input, n).is_some());
        n.is_none_or(is_far) && self.is_next_complete(None)
    }

    /// Whether the new frame is too old for the current output, and would complete the first output of the next epoch.
    pub(super) fn is_nearer_to_next(&self, stream: usize, seq: u64) -> bool {
        let known = self.numbers.counting.n.filter(|_| self.config.policy.is_by_sequence());
        let (Some(n), None) = (known, &self.streams.behind[stream]) else { return false };
        let is_below = |input: &usize| Wide::from(seq) < self.floor(*input, n.into());
        self.streams.on[stream].iter().all(is_below) && self.is_next_complete(Some((stream, seq)))
    }

    /// Whether every input has what the first output of the next epoch asks for. `newest` is a frame that just came.
    fn is_next_complete(&self, newest: Option<(usize, u64)>) -> bool {
        let newest_of = |stream: usize| newest.filter(|(own, _)| *own == stream).map(|(_, seq)| seq);
        let first = |input: usize| {
            let each = &self.inputs[input];
            if self.streams.behind[each.source].is_some() {
                return each.first_behind().map(|frame| frame.seq);
            }
            each.front().map(|frame| frame.seq).or(newest_of(each.source)).or_else(|| self.first_seq(input))
        };
        let Some(n) = self.first_output(first) else { return false };
        (0..self.inputs.len()).filter(|input| self.is_required(*input)).all(|input| {
            let each = &self.inputs[input];
            let last_seq = newest_of(each.source).or(self.newest(each.source).last_seq());
            last_seq.is_some_and(|seq| Wide::from(seq) >= Wide::from(n) + each.shift)
        })
    }

    // --- By timestamp --------------------------------------------------------------------------------------

    /// Whether the current output lies in the next epoch of an input, or this epoch can have no more outputs.
    pub(super) fn is_next_asked_for(&self) -> bool {
        let Some(t) = self.proposed(0) else { return self.has_no_more_times() };
        self.inputs.iter().any(|each| {
            let first = self.streams.behind[each.source].and_then(|_| each.first_behind());
            first.is_some_and(|first| first.is_readable() && t + each.shift >= Wide::from(first.time))
        })
    }

    fn has_no_more_times(&self) -> bool {
        match (self.numbers.anchor, self.config.drive) {
            (Some(anchor), _) => self.streams.sources[self.inputs[anchor].source].is_ended,
            (None, Drive::Watermark) => (0..self.inputs.len())
                .all(|input| !self.is_required(input) || self.streams.sources[self.inputs[input].source].is_ended),
            _ => false,
        }
    }

    // --- Unions --------------------------------------------------------------------------------------------

    /// Keeps frames in the order in which they came: a fence is removed once everything that waits came after it.
    #[cold]
    pub(super) fn pass_in_order(&mut self) {
        loop {
            let oldest = self.inputs.iter().filter_map(|each| Some(each.front()?.order)).min().unwrap_or(u64::MAX);
            let order = |stream: usize| {
                let first = self.streams.on[stream].iter().filter_map(|input| self.inputs[*input].first_behind());
                first.map(|frame| frame.order).min().unwrap_or(u64::MAX)
            };
            let is_oldest = |order: u64| order < oldest || oldest == u64::MAX;
            let is_due = |stream: &usize| self.streams.behind[*stream].is_some() && is_oldest(order(*stream));
            let Some(stream) = (0..self.streams.sources.len()).find(is_due) else { return };
            if let Some(next) = self.streams.behind[stream].take() {
                self.begin_next(stream, next);
            }
            self.new_out_epoch();
        }
    }
}
