// SPDX-License-Identifier: Apache-2.0
//! What is known of one stream in its producer's current epoch.

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
