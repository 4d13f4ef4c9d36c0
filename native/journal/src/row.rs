// SPDX-License-Identifier: Apache-2.0
//! The contents of a row, and of a row of the unmatched table.

/// Whether a row has a frame of an input, or why not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The row has the input's frame.
    Present = 0,
    /// The input has been silent for too long.
    Stale = 1,
    /// The input's deadline passed.
    Late = 2,
    /// The row is another input's, or the input is optional and had no frame.
    #[default]
    NotJoined = 3,
}

impl Status {
    /// The word for this status in the column `status`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Stale => "stale",
            Self::Late => "late",
            Self::NotJoined => "not_joined",
        }
    }
}

/// One input of a row. If its status is not present, the rest is ignored and the columns are null.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Whether the frame is there, or why not.
    pub status: Status,
    /// The frame's sequence. Like all numbers here, at most `i64::MAX`.
    pub seq: u64,
    /// The frame's timestamp.
    pub timestamp_ns: Option<u64>,
    /// The frame's epoch.
    pub epoch: u64,
    /// The frame's trace id, any 64 bits.
    pub trace_id: u64,
    /// The number of the frame's dtype.
    pub dtype: i16,
    /// The elements along each dimension, at most eight dimensions.
    pub dims: &'a [i32],
    /// The size of the frame's payload, as reserved.
    pub bytes: u32,
}

/// The columns of a row before those of its inputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowHead {
    /// The epoch of the output.
    pub out_epoch: u64,
    /// The sequence of the output.
    pub out_seq: u64,
    /// The time of the output.
    pub out_time_ns: Option<i64>,
    /// The wall clock when the row was made, in microseconds.
    pub joined_at_us: i64,
    /// The largest minus the smallest timestamp of the row's frames.
    pub skew_ns: Option<i64>,
    /// The version of the map that made the row.
    pub map_version: u64,
    /// The newest checkpoint barrier before the row.
    pub checkpoint_id: u64,
}

/// A frame, or a range of frames, that was not joined.
#[derive(Clone, Copy, Debug)]
pub struct Unmatched<'a> {
    /// Index of the input.
    pub input: usize,
    /// The id of the frames' stream.
    pub stream: u32,
    /// The frames' epoch.
    pub epoch: u64,
    /// The first sequence.
    pub seq: u64,
    /// The last sequence.
    pub seq_last: u64,
    /// The timestamp of the first frame.
    pub timestamp_ns: Option<u64>,
    /// The output that the frame was not joined to.
    pub out_seq: Option<u64>,
    /// When this was decided, realtime.
    pub at_ns: i64,
    /// Why the frames were not joined, at most [`crate::CAUSE_BYTES`] long.
    pub cause: &'a str,
}
