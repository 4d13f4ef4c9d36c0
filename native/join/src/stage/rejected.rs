// SPDX-License-Identifier: Apache-2.0
//! Handles timestamps that go back: the input is rejected or, if it is configured to drop such frames, goes on without
//! them.

use super::Stage;
use super::fence::Side;
use crate::barrier::{NULL_TIMESTAMP, Regression};

/// The frame by which a stream was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The index of the stream in [`super::StageConfig::streams`].
    pub stream: usize,
    /// The producer's epoch.
    pub epoch: u64,
    /// The field that went back: 0 the slot header's, 1 the descriptor's.
    pub place: usize,
    /// The frame and its time.
    pub by: Regression,
}

impl Stage {
    /// Takes the rejections of this output epoch that were not taken yet. Allocates if there are some.
    pub fn take_rejections(&mut self) -> Vec<Rejection> {
        (0..self.streams.sources.len()).filter_map(|stream| self.take_rejection(stream)).collect()
    }

    /// Whether there are rejections to take.
    #[must_use]
    pub fn has_rejections(&self) -> bool {
        (0..self.streams.sources.len())
            .any(|stream| self.is_rejected(stream) && !self.streams.sources[stream].is_rejection_taken)
    }

    fn take_rejection(&mut self, stream: usize) -> Option<Rejection> {
        let source = &mut self.streams.sources[stream];
        let rejected = source.seen.rejected & self.streams.ordered[stream];
        if rejected == 0 || source.is_rejection_taken {
            return None;
        }
        source.is_rejection_taken = true;
        let place = rejected.trailing_zeros() as usize;
        let by = source.seen.rejected_by[place]?;
        Some(Rejection { stream, epoch: source.epoch().unwrap_or(0), place, by })
    }

    /// Whether a frame is left out because its time goes back and its inputs drop such frames.
    #[inline]
    pub(super) fn is_left_out(&mut self, stream: usize, side: Side, times: [u64; 2]) -> bool {
        if !self.drops_regressed(stream) {
            return false;
        }
        let ordered = self.streams.ordered[stream];
        let seen = &self.source_mut(stream, side).seen;
        (0..times.len()).any(|place| times[place] != NULL_TIMESTAMP && seen.goes_back(place, times[place], ordered))
    }

    /// Whether the inputs of a stream drop frames whose times go back. All inputs of a stream agree on that.
    #[inline]
    pub(super) fn drops_regressed(&self, stream: usize) -> bool {
        self.config.policy.is_by_time() && self.inputs[self.streams.on[stream][0]].config.drops_regressed
    }
}
