// SPDX-License-Identifier: Apache-2.0
//! What is known of each stream in one epoch of its producer.

use super::config::StageConfig;
use crate::barrier::Seen;

/// What is known of one epoch of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    pub seen: Seen,
    /// Whether a frame of the epoch came, not only news of missed frames.
    pub is_observed: bool,
    pub is_ended: bool,
    /// Whether the engine has taken the rejection of the stream by its times.
    pub is_rejection_taken: bool,
    pub watermark_ms: Option<u64>,
    /// The earlier epoch of frames that came since the newest frame that counted.
    pub older_epoch: Option<u64>,
}

impl Source {
    /// Makes the record of an epoch of which nothing came yet.
    pub fn of(epoch: u64) -> Self {
        Self { seen: Seen::of(epoch), ..Self::default() }
    }

    pub fn epoch(&self) -> Option<u64> {
        self.seen.epoch
    }

    pub fn last_seq(&self) -> Option<u64> {
        self.seen.observed.seq
    }

    /// The smallest sequence that may still come.
    pub fn next_seq(&self) -> Option<u64> {
        self.last_seq().map(|seq| seq.saturating_add(1))
    }
}

/// All streams of a join.
pub(super) struct Streams {
    /// The stream ids.
    pub ids: Vec<u32>,
    /// For each stream, the epoch whose frames make the present outputs.
    pub sources: Vec<Source>,
    /// For each stream, the epoch behind its fence, if it has one.
    pub behind: Vec<Option<Source>>,
    pub has_fence: bool,
    /// For each stream, its inputs.
    pub on: Vec<Box<[usize]>>,
    /// For each stream, the timestamp fields that must not decrease, as bits.
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

    /// The index of a stream.
    pub fn place(&self, id: u32) -> Option<usize> {
        self.ids.iter().position(|known| *known == id)
    }
}
