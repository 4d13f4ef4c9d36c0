// SPDX-License-Identifier: Apache-2.0
//! What is known of each stream in its producer's current epoch.

use super::config::StageConfig;
use crate::barrier::Seen;

/// One stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    pub seen: Seen,
    /// A frame came, not only news of frames that nobody heard.
    pub is_observed: bool,
    pub is_ended: bool,
    /// That it was rejected by its times.
    pub is_rejection_told: bool,
    pub watermark_ms: Option<u64>,
    /// The epoch of frames that have come since the last one that counted, though a later epoch is known.
    pub older_epoch: Option<u64>,
}

impl Source {
    /// Of an epoch of which nothing came yet.
    pub fn of(epoch: u64) -> Self {
        Self { seen: Seen::of(epoch), ..Self::default() }
    }

    pub fn epoch(&self) -> Option<u64> {
        self.seen.epoch
    }

    pub fn last_seq(&self) -> Option<u64> {
        self.seen.observed.seq
    }

    /// The least sequence that may still come.
    pub fn next_seq(&self) -> Option<u64> {
        self.last_seq().map(|seq| seq.saturating_add(1))
    }
}

/// All streams of a join.
pub(super) struct Streams {
    /// Their numbers.
    pub ids: Vec<u32>,
    /// Of each, the epoch whose frames make the present outputs.
    pub sources: Vec<Source>,
    /// Of each, the epoch behind its fence, if it has one.
    pub behind: Vec<Option<Source>>,
    pub has_fence: bool,
    /// The inputs on each.
    pub on: Vec<Box<[usize]>>,
    /// Timestamp fields of each that must not decrease, as bits.
    pub ordered: Vec<u8>,
    pub has_ended: bool,
}

impl Streams {
    pub fn new(config: &StageConfig) -> Self {
        let ids = config.streams();
        let inputs_on = |id: &u32| {
            let inputs = config.inputs.iter().enumerate().filter(|(_, each)| each.stream == *id);
            inputs.map(|(at, _)| at).collect()
        };
        Self {
            sources: vec![Source::default(); ids.len()],
            behind: vec![None; ids.len()],
            has_fence: false,
            on: ids.iter().map(inputs_on).collect(),
            ordered: vec![0; ids.len()],
            has_ended: false,
            ids,
        }
    }

    /// The place of a stream.
    pub fn place(&self, id: u32) -> Option<usize> {
        self.ids.iter().position(|known| *known == id)
    }
}
