// SPDX-License-Identifier: Apache-2.0
//! Which frames of a stream are still needed, so that their mapping has to stay.

use super::Stage;
use super::history::Frame;

impl Stage {
    /// The newest epoch of a stream of which something came, in this run or an earlier one.
    #[must_use]
    pub fn known_epoch(&self, stream: usize) -> Option<u64> {
        self.newest(stream).epoch()
    }

    /// Whether a frame of that epoch with a sequence below `until` waits, or may be joined again.
    #[must_use]
    pub fn needs(&self, stream: usize, epoch: u64, until: u64) -> bool {
        let is_needed = |frame: &Frame| frame.seq < until;
        if self.streams.behind[stream].is_some_and(|behind| behind.epoch() == Some(epoch)) {
            return self.streams.on[stream]
                .iter()
                .any(|input| self.inputs[*input].first_behind().is_some_and(is_needed));
        }
        self.streams.sources[stream].epoch() == Some(epoch)
            && (self.reused(stream).any(is_needed)
                || self.streams.on[stream].iter().any(|input| self.inputs[*input].front().is_some_and(is_needed)))
    }

    /// Epoch and sequence from which on no frame of a stream is decided.
    #[must_use]
    pub fn undecided_from(&self, stream: usize) -> Option<(u64, u64)> {
        let undecided = |input: &usize| self.inputs[*input].decided.map_or(0, |decided| decided + 1);
        Some((self.streams.sources[stream].epoch()?, self.streams.on[stream].iter().map(undecided).min()?))
    }

    /// Whether a frame of a stream's present epoch is the one joined most recently. A snapshot keeps it, because the
    /// next map may need it again.
    #[must_use]
    pub fn is_joined_last(&self, stream: usize, seq: u64) -> bool {
        self.streams.on[stream].iter().any(|input| self.inputs[*input].kept.is_some_and(|kept| kept.seq == seq))
    }

    /// Epoch and sequence from which frames of a stream may still be needed.
    #[must_use]
    pub fn needed_from(&self, stream: usize) -> Option<(u64, u64)> {
        let (epoch, undecided) = self.undecided_from(stream)?;
        let oldest = self.reused(stream).map(|frame| frame.seq).min();
        Some((epoch, oldest.map_or(undecided, |oldest| oldest.min(undecided))))
    }

    /// Frames of a stream that were joined and may be joined again under the applied map.
    pub(super) fn reused(&self, stream: usize) -> impl Iterator<Item = &Frame> {
        self.streams.on[stream].iter().filter_map(|input| self.reused_by(*input))
    }

    /// The frame that an input joined and may join again under the applied map.
    pub(super) fn reused_by(&self, input: usize) -> Option<&Frame> {
        self.inputs[input].reusable().filter(|_| self.is_reusing())
    }
}
