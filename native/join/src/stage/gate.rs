// SPDX-License-Identifier: Apache-2.0
//! The barrier of the stage's policy. A union has none: nothing of it waits for a map or for another input.

use super::config::{PolicyKind, StageConfig};
use crate::barrier::{Blocked, LatestBarrier, Observation, Processed, Ready, SequenceBarrier, TimestampBarrier};
use crate::input_set::InputSet;
use crate::map::{Announced, Refusal};

// One for each stage, and never moved.
#[allow(clippy::large_enum_variant)]
enum Kind {
    Sequence(SequenceBarrier),
    Timestamp(TimestampBarrier),
    Latest(LatestBarrier),
    Open,
}

/// The same words for whichever barrier it is.
macro_rules! each {
    ($kind:expr, $barrier:ident => $work:expr, else $nothing:expr) => {
        match $kind {
            Kind::Sequence($barrier) => $work,
            Kind::Timestamp($barrier) => $work,
            Kind::Latest($barrier) => $work,
            Kind::Open => $nothing,
        }
    };
}

/// A barrier, and where the stage's streams stand in it.
pub(super) struct Gate {
    kind: Kind,
    places: Vec<usize>,
}

impl Gate {
    pub fn new(config: &StageConfig) -> Self {
        let processed: Vec<u32> = config.inputs.iter().filter(|each| each.processed).map(|each| each.stream).collect();
        let (stream, epoch) = (config.out_stream, config.out_epoch);
        let kind = match config.policy {
            PolicyKind::Sequence => Kind::Sequence(SequenceBarrier::new(stream, epoch, &processed)),
            PolicyKind::Timestamp => Kind::Timestamp(TimestampBarrier::new(stream, epoch, &processed)),
            PolicyKind::Latest => Kind::Latest(LatestBarrier::new(stream, epoch, config.is_ordered_by_time)),
            PolicyKind::Union => Kind::Open,
        };
        Self { kind, places: Vec::new() }
    }

    pub fn apply(&mut self, announced: &Announced<'_>, streams: &[u32]) -> Result<bool, Refusal> {
        let is_in_force = each!(&mut self.kind, barrier => barrier.apply(announced)?, else false);
        let own = each!(&self.kind, barrier => barrier.streams(), else &[]);
        let place = |stream| own.iter().position(|known| known == stream).unwrap_or(usize::MAX);
        self.places = streams.iter().map(place).collect();
        Ok(is_in_force)
    }

    pub fn invalidate(&mut self) {
        each!(&mut self.kind, barrier => barrier.invalidate(), else ());
    }

    pub fn new_epoch(&mut self, epoch: u64) {
        each!(&mut self.kind, barrier => { barrier.new_epoch(epoch); }, else ());
    }

    #[inline]
    pub fn is_valid(&self) -> bool {
        each!(&self.kind, barrier => barrier.is_valid(), else true)
    }

    pub fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Open)
    }

    #[inline]
    pub fn observe(&mut self, stream: usize, seen: &Observation, now_ns: u64) {
        each!(&mut self.kind, barrier => { barrier.observe(self.places[stream], seen, now_ns); }, else ());
    }

    pub fn heard(&mut self, stream: usize, now_ns: u64) {
        each!(&mut self.kind, barrier => barrier.heard(self.places[stream], now_ns), else ());
    }

    pub fn input_epoch(&mut self, stream: usize, epoch: u64) {
        each!(&mut self.kind, barrier => { barrier.input_epoch(self.places[stream], epoch); }, else ());
    }

    pub fn processed(&mut self, stream: usize, processed: &Processed) {
        each!(&mut self.kind, barrier => { barrier.processed(self.places[stream], processed); }, else ());
    }

    /// Of the latest policy: the newest frame cannot be read.
    pub fn invalid(&mut self, stream: usize, seq: u64) {
        if let Kind::Latest(barrier) = &mut self.kind {
            barrier.invalid(self.places[stream], seq);
        }
    }

    /// Of the timestamp policy: these fields of a stream, as bits, are known to have decreased.
    pub fn reject(&mut self, stream: usize, fields: u8) {
        if let Kind::Timestamp(barrier) = &mut self.kind {
            barrier.reject(self.places[stream], fields);
        }
    }

    /// Of the timestamp policy: no earlier output from now on.
    pub fn emitted(&mut self, out: u64) {
        if let Kind::Timestamp(barrier) = &mut self.kind {
            // Outputs were put in order before they were tried.
            let is_in_order = barrier.emitted(out).is_ok();
            debug_assert!(is_in_order);
        }
    }

    #[inline]
    pub fn attempt(&mut self, out: u64, now_ns: u64) -> Result<InputSet, Blocked> {
        each!(&mut self.kind, barrier => barrier.attempt(out, now_ns), else Ok(InputSet::EMPTY))
    }

    pub fn ready(&self, out: u64, now_ns: u64) -> Option<Ready> {
        each!(&self.kind, barrier => Some(barrier.ready(out, now_ns)), else None)
    }

    pub fn is_in(&self, stream: usize, set: &InputSet) -> bool {
        set.contains(self.places[stream])
    }
}
