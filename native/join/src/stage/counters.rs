// SPDX-License-Identifier: Apache-2.0
//! What a stage counts.

use framegate_counters::counters;

use super::unmatched::CAUSES;

/// Of one input, since the start.
#[derive(Clone, Debug, Default)]
pub struct InputCounters {
    /// Rows without it.
    pub absent: u64,
    /// Frames that were lapped or could not be read.
    pub overwritten: u64,
    /// One-to-one choices that were made before it was certain that nothing later changes them.
    pub closed_early: u64,
    /// Frames that were not joined, by cause.
    pub unmatched: [u64; CAUSES],
}

counters! {
    /// Of all inputs, since the start.
    pub struct Counters {
        /// Rows.
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
        /// Frames of before a resume, seen again.
        already_decided,
        /// Frames whose entries found no room: nobody drained.
        unmatched_dropped,
        /// Maps that name other streams than the inputs'.
        maps_refused,
    }
}
