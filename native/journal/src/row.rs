// SPDX-License-Identifier: Apache-2.0
//! What a row says, and what an unmatched frame's row says.

/// Whether an input's frame is in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// It is.
    Present = 0,
    /// The input has been silent for too long.
    Stale = 1,
    /// Its deadline passed.
    Late = 2,
    /// Another input's row, or an optional input that was not there.
    #[default]
    NotJoined = 3,
}

impl Status {
    /// Its name in the column `status`.
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

/// One input of a row. With a status other than present the rest is ignored and the columns are null.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Whether the frame is there.
    pub status: Status,
    /// Its sequence, at most `i64::MAX`, as everything here.
    pub seq: u64,
    /// Its timestamp.
    pub timestamp_ns: Option<u64>,
    /// Its epoch.
    pub epoch: u64,
    /// Its trace id, any 64 bits.
    pub trace_id: u64,
    /// Its dtype number.
    pub dtype: i16,
    /// Elements along each dimension, at most eight.
    pub dims: &'a [i32],
    /// Bytes of its payload, as reserved.
    pub bytes: u32,
}

/// What a row says about itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowHead {
    /// Output epoch.
    pub out_epoch: u64,
    /// Output sequence.
    pub out_seq: u64,
    /// Output time.
    pub out_time_ns: Option<i64>,
    /// Wall clock when the row was made, microseconds.
    pub joined_at_us: i64,
    /// Largest minus smallest timestamp.
    pub skew_ns: Option<i64>,
    /// Which applied map made it.
    pub map_version: u64,
    /// Last checkpoint barrier before it.
    pub checkpoint_id: u64,
}

/// A frame, or a range of frames, that was not joined.
#[derive(Clone, Copy, Debug)]
pub struct Unmatched<'a> {
    /// Index of the input.
    pub input: usize,
    /// Its stream.
    pub stream: u32,
    /// Its epoch.
    pub epoch: u64,
    /// The first sequence.
    pub seq: u64,
    /// The last one.
    pub seq_last: u64,
    /// Timestamp of the first.
    pub timestamp_ns: Option<u64>,
    /// The output that it was not joined to.
    pub out_seq: Option<u64>,
    /// When, realtime.
    pub at_ns: i64,
    /// Why, at most [`crate::CAUSE_BYTES`] long.
    pub cause: &'a str,
}
