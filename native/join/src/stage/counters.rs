// SPDX-License-Identifier: Apache-2.0
//! What a stage counts.

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

/// Since the start.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Rows.
    pub rows: u64,
    /// Outputs that were asked for before they were possible.
    pub ticks_not_ready: u64,
    /// Outputs that gave no row.
    pub skipped_outputs: u64,
    /// Output times that decreased or are out of range.
    pub time_refused: u64,
    /// Streams that were rejected because their times decreased.
    pub regressions: u64,
    /// Frames with numbers above the range of an i64.
    pub out_of_range: u64,
    /// Frames whose sequence did not grow.
    pub repeated: u64,
    /// Frames of before a resume, seen again.
    pub already_decided: u64,
    /// Frames whose entries found no room: nobody drained.
    pub unmatched_dropped: u64,
    /// Maps that name other streams than the inputs'.
    pub maps_refused: u64,
    /// By input.
    pub inputs: Vec<InputCounters>,
}
