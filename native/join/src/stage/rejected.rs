// SPDX-License-Identifier: Apache-2.0
//! Timestamps that go back: an input is rejected by them or, where it is told to drop such frames, goes on without them.

use super::Stage;
use super::fence::Side;
use crate::barrier::{NULL_TIMESTAMP, Regression};

/// By which frame a stream was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The stream's place in [`super::StageConfig::streams`].
    pub stream: usize,
    /// The producer's epoch.
    pub epoch: u64,
    /// Which field went back: 0 the slot header's, 1 the descriptor's.
    pub place: usize,
    /// The frame and its time.
    pub by: Regression,
}

impl Stage {
    /// The streams of this output's epoch that are rejected, each told once. Takes memory where there are some.
    pub fn take_rejections(&mut self) -> Vec<Rejection> {
        (0..self.streams.sources.len()).filter_map(|stream| self.take_rejection(stream)).collect()
    }

    /// Whether there are some.
    #[must_use]
    pub fn has_rejections(&self) -> bool {
        (0..self.streams.sources.len())
            .any(|stream| self.is_rejected(stream) && !self.streams.sources[stream].is_rejection_told)
    }

    fn take_rejection(&mut self, stream: usize) -> Option<Rejection> {
        let source = &mut self.streams.sources[stream];
        let rejected = source.seen.rejected & self.streams.ordered[stream];
        if rejected == 0 || source.is_rejection_told {
            return None;
        }
        source.is_rejection_told = true;
        let place = rejected.trailing_zeros() as usize;
        let by = source.seen.rejected_by[place]?;
        Some(Rejection { stream, epoch: source.epoch().unwrap_or(0), place, by })
    }

    /// Whether a frame is one that its stream's inputs leave out, as if it had not come.
    #[inline]
    pub(super) fn is_left_out(&mut self, stream: usize, side: Side, times: [u64; 2]) -> bool {
        if !self.drops_regressed(stream) {
            return false;
        }
        let ordered = self.streams.ordered[stream];
        let seen = &self.source_mut(stream, side).seen;
        (0..times.len()).any(|place| times[place] != NULL_TIMESTAMP && seen.goes_back(place, times[place], ordered))
    }

    /// Whether frames of a stream whose times go back are left out alone. Its inputs agree.
    #[inline]
    pub(super) fn drops_regressed(&self, stream: usize) -> bool {
        self.config.policy.is_by_time() && self.inputs[self.streams.on[stream][0]].config.drops_regressed
    }
}
