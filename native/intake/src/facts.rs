// SPDX-License-Identifier: Apache-2.0
//! What an engine has seen of a stream: the engine's thread counts it, any thread reads it.

use std::sync::atomic::{AtomicU64, Ordering};

use framegate_counters::counters;

/// Stands for None in an atomic.
const NONE: u64 = u64::MAX;

counters! {
    /// What is counted for each stream, apart from the decisions of a stage.
    pub struct PortCounters {
        /// Frames that were taken.
        frames,
        /// Sequences that the producer left out or could not announce: nobody can have their frames.
        gap_drops,
        /// Frames that were overwritten before they were read.
        late_drops,
        /// Sequences that passed while this agent was not listening.
        missed,
        /// Descriptors that show a second writer.
        regressions,
        /// Descriptors that came while no regions were mapped.
        unmapped,
        /// Descriptors of epochs that are not mapped.
        other_epoch,
        /// Frames that no descriptor brought and that were found in the ring; they count in `frames` too.
        recovered,
        /// Descriptors of frames that nobody had published.
        false_descriptors,
        /// Epochs that are over and stay mapped because frames in them wait.
        retired_epochs,
        /// Bytes of their mappings.
        retired_bytes,
    }
}

/// What an engine has seen of a stream. The engine writes it; only `epoch` is also set when regions are mapped, before
/// the engine knows them.
pub struct PortFacts {
    /// The stream's id.
    pub stream_id: u32,
    epoch: AtomicU64,
    last_seq: AtomicU64,
    counters: [AtomicU64; PortCounters::NAMES.len()],
}

impl PortFacts {
    pub(crate) fn new(stream_id: u32) -> Self {
        Self {
            stream_id,
            epoch: AtomicU64::new(NONE),
            last_seq: AtomicU64::new(NONE),
            counters: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Publishes what the engine has seen.
    pub fn publish(&self, epoch: Option<u64>, last_seq: Option<u64>, counters: &PortCounters) {
        for (cell, value) in self.counters.iter().zip(counters.values()) {
            cell.store(value, Ordering::Relaxed);
        }
        self.last_seq.store(last_seq.unwrap_or(NONE), Ordering::Relaxed);
        self.epoch.store(epoch.unwrap_or(NONE), Ordering::Release);
    }

    /// Notes an epoch that is mapped and that the engine does not know yet.
    pub(crate) fn expect(&self, epoch: u64) {
        if self.epoch().is_none() {
            self.epoch.store(epoch, Ordering::Release);
        }
    }

    /// Clears the epoch: the lease is gone, and the engine does not know it yet.
    pub(crate) fn forget_epoch(&self) {
        self.epoch.store(NONE, Ordering::Release);
    }

    /// The epoch that is read; None while the stream is detached.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        Some(self.epoch.load(Ordering::Acquire)).filter(|epoch| *epoch != NONE)
    }

    /// The highest sequence seen in this epoch; None before the first.
    #[must_use]
    pub fn last_seq(&self) -> Option<u64> {
        Some(self.last_seq.load(Ordering::Acquire)).filter(|seq| *seq != NONE)
    }

    /// Every counter, with its name.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        PortCounters::NAMES.into_iter().zip(self.counters.iter().map(|cell| cell.load(Ordering::Relaxed)))
    }
}
