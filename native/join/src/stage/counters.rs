// SPDX-License-Identifier: Apache-2.0
//! What a stage counts.

use framegate_counters::counters;

use super::unmatched::CAUSES;

/// What was counted of one input since the start.
#[derive(Clone, Debug, Default)]
pub struct InputCounters {
    /// Rows without the input.
    pub absent: u64,
    /// Frames that were lapped or could not be read.
    pub overwritten: u64,
    /// One-to-one choices made before it was certain that nothing later would change them.
    pub closed_early: u64,
    /// Frames that were not joined, by cause.
    pub unmatched: [u64; CAUSES],
}

counters! {
    /// What was counted of all inputs since the start.
    pub struct Counters {
        /// Rows that were made.
        rows,
        /// Outputs that were asked for before they were possible.
        ticks_not_ready,
        /// Outputs that gave no row.
        skipped_outputs,
        /// Output times that decreased or are out of range.
        time_refused,
        /// Streams that were rejected because their times decreased.
        regressions,
        /// Frames with numbers above the range of an i64.
        out_of_range,
        /// Frames whose sequence did not grow.
        repeated,
        /// Frames that were decided before a resume and came again.
        already_decided,
        /// Frames whose entries found no space, because nobody drained them.
        unmatched_dropped,
        /// Maps that name a stream which is no input.
        maps_refused,
    }
}
