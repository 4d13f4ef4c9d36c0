// SPDX-License-Identifier: Apache-2.0
//! What a stage waits for, in words for people. Making it allocates, so ask seldom.

use super::Stage;
use super::history::Wide;
use super::policy::{Policy, by_policy};

/// An input that the current output waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the input.
    pub input: u16,
    /// `not_observed`, `rejected` or `behind`.
    pub reason: &'static str,
    /// The newest sequence.
    pub last_seq: Option<u64>,
    /// The newest time.
    pub last_time_ns: Option<u64>,
    /// How much the input lacks, in sequences or nanoseconds.
    pub missing: Option<u64>,
}

/// The current output, the inputs it waits for, and how many frames wait for each input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The current output, a sequence or a time, if it is known.
    pub out: Option<u64>,
    /// When the output began to wait.
    pub since_ns: Option<u64>,
    /// Whether a valid map is applied, or none is needed.
    pub has_map: bool,
    /// Whether the unmatched must be drained first.
    pub is_backed_up: bool,
    /// The inputs that the output waits for.
    pub waiting: Vec<Waiting>,
    /// How many frames of each input wait.
    pub pending: Vec<u32>,
}

impl Stage {
    /// What the stage waits for now.
    #[must_use]
    pub fn status(&self) -> Status {
        let out = by_policy!(self, policy => policy.proposed(self));
        Status {
            out,
            since_ns: self.current.asked_ns,
            has_map: self.rules.is_valid,
            is_backed_up: self.queue.is_backed_up(),
            waiting: (0..self.inputs.len()).filter_map(|input| self.waiting(input, out)).collect(),
            pending: self.inputs.iter().map(|each| each.len() as u32).collect(),
        }
    }

    fn waiting(&self, input: usize, out: Option<u64>) -> Option<Waiting> {
        if !self.takes_part(input) {
            return None;
        }
        let each = &self.inputs[input];
        let source = &self.streams.sources[each.source];
        let (last_seq, last_time_ns) = (source.last_seq(), source.seen.observed.times[each.place]);
        let mut missing = None;
        let reason = if !source.is_observed {
            "not_observed"
        } else if self.is_rejected(each.source) {
            "rejected"
        } else if out.is_some() && self.config.policy.is_by_time() && each.is_by_sequence() {
            missing = Some(self.sequences_missing(input)?);
            "behind"
        } else {
            let out = out.filter(|out| self.lacks(input, *out).is_some())?;
            let known = if self.config.policy.is_by_sequence() { last_seq } else { last_time_ns };
            let lacks = |known: u64| (Wide::from(out) + each.shift - Wide::from(known)).max(0) as u64;
            missing = known.map(lacks);
            "behind"
        };
        Some(Waiting { input: input as u16, reason, last_seq, last_time_ns, missing })
    }
}
