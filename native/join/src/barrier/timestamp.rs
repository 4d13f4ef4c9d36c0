// SPDX-License-Identifier: Apache-2.0
//! The timestamp barrier (PROTOCOL 11.5).

use super::{Barrier, Demand, Entry, NULL_TIMESTAMP, Observation, Policy, Processed, Reason};

/// Output t is ready when every input's time has come as far as its rules ask, less the map's lateness.
pub type TimestampBarrier = Barrier<Timestamp>;

/// By timestamp.
#[derive(Debug, Default)]
pub struct Timestamp {
    last_emitted_ns: u64,
}

/// An output was emitted for an earlier time than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputTimeDecreased {
    /// The one before it.
    pub last_ns: u64,
}

/// What slot headers and frame descriptors of an input have shown. Both fields are followed, so that a map may change a
/// rule's source; a rule reads its own alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct InputTimes {
    observed: [u64; 2],
    processed: [u64; 2],
    /// Fields that have shown a time, as bits; the others' `observed` says nothing.
    has_observed: u8,
    /// Fields of which a time was consumed, as bits.
    has_processed: u8,
    /// Fields that decreased, as bits.
    rejected: u8,
}

impl TimestampBarrier {
    /// Blocked until a map is applied.
    #[must_use]
    pub fn new(out_stream: u32, epoch: u64, needs_processed: &[u32]) -> Self {
        Self::with_policy(Timestamp::default(), out_stream, epoch, needs_processed)
    }

    /// These fields of an input, as bits, are known to have decreased.
    pub fn reject(&mut self, index: usize, fields: u8) {
        if let Some(entry) = self.inputs.get_mut(index) {
            entry.state.rejected |= fields;
        }
    }

    /// An output was made: from now on no earlier one is ready.
    ///
    /// # Errors
    /// It is itself earlier than the last.
    pub fn emitted(&mut self, out: u64) -> Result<(), OutputTimeDecreased> {
        let last_ns = self.policy.last_emitted_ns;
        if out < last_ns {
            return Err(OutputTimeDecreased { last_ns });
        }
        self.policy.last_emitted_ns = out;
        Ok(())
    }
}

impl Policy for Timestamp {
    type State = InputTimes;

    fn takes(&self, is_by_time: bool) -> bool {
        is_by_time
    }

    fn reads_times(&self) -> bool {
        true
    }

    fn new_epoch(&mut self) {
        self.last_emitted_ns = 0;
    }

    #[inline]
    fn see(&self, _index: usize, state: &mut InputTimes, seen: &Observation) {
        for (place, &time) in seen.times.iter().enumerate() {
            let field = 1 << place;
            if time == NULL_TIMESTAMP || state.rejected & field != 0 {
                continue;
            }
            // Of a field that has shown nothing yet, it is 0: no time is less.
            if time < state.observed[place] {
                state.rejected |= field;
            } else {
                state.observed[place] = time;
                state.has_observed |= field;
            }
        }
    }

    #[inline]
    fn consumed(&self, state: &mut InputTimes, processed: &Processed) {
        for (place, &time) in processed.times.iter().enumerate() {
            if time != NULL_TIMESTAMP {
                state.processed[place] = state.processed[place].max(time);
                state.has_processed |= 1 << place;
            }
        }
    }

    #[inline]
    fn is_too_early(&self, out: u64) -> bool {
        out < self.last_emitted_ns
    }

    #[inline]
    fn obstacle(&self, demand: &Demand, entry: &Entry<InputTimes>, out: u64) -> Option<Reason> {
        if out < demand.start {
            return Some(Reason::BeforeStart);
        }
        let (state, place) = (&entry.state, usize::from(demand.source));
        if state.rejected & demand.sources != 0 {
            return Some(Reason::Rejected);
        }
        if state.has_observed >> place & 1 == 0 {
            return Some(Reason::NotObserved);
        }
        let Some(least) = demand.required(out) else { return Some(Reason::Behind) };
        let is_unprocessed = || state.has_processed >> place & 1 == 0 || state.processed[place] < least;
        let is_behind = state.observed[place] < least || (entry.needs_processed && is_unprocessed());
        is_behind.then_some(Reason::Behind)
    }
}
