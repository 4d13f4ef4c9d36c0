// SPDX-License-Identifier: Apache-2.0
//! The sequence barrier (PROTOCOL 11.4).

use super::{Barrier, Demand, Entry, Observation, Policy, Processed, Reason};

/// Output n is ready when every input was observed up to the sequence that its rules ask for.
pub type SequenceBarrier = Barrier<Sequence>;

/// By sequence.
#[derive(Debug, Default)]
pub struct Sequence;

/// The two cursors of an input. One that was observed has shown `observed`; 0 stands for nothing before that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursors {
    observed: u64,
    processed: Option<u64>,
}

impl SequenceBarrier {
    /// Blocked until a map is applied.
    #[must_use]
    pub fn new(out_stream: u32, epoch: u64, needs_processed: &[u32]) -> Self {
        Self::with_policy(Sequence, out_stream, epoch, needs_processed)
    }
}

impl Policy for Sequence {
    type State = Cursors;

    fn takes(&self, is_by_time: bool) -> bool {
        !is_by_time
    }

    fn reads_times(&self) -> bool {
        false
    }

    #[inline]
    fn see(&self, _index: usize, state: &mut Cursors, seen: &Observation) {
        state.observed = state.observed.max(seen.seq);
    }

    #[inline]
    fn consumed(&self, state: &mut Cursors, processed: &Processed) {
        state.processed = state.processed.max(processed.seq);
    }

    #[inline]
    fn obstacle(&self, demand: &Demand, entry: &Entry<Cursors>, out: u64) -> Option<Reason> {
        if out < demand.start {
            return Some(Reason::BeforeStart);
        }
        if !entry.is_observed {
            return Some(Reason::NotObserved);
        }
        // Beyond the last sequence there is none to wait for: the rule stays behind.
        let Some(required) = demand.required(out) else { return Some(Reason::Behind) };
        let state = &entry.state;
        let is_behind = state.observed < required || (entry.needs_processed && state.processed < Some(required));
        is_behind.then_some(Reason::Behind)
    }
}
