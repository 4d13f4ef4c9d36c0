// SPDX-License-Identifier: Apache-2.0
//! What the stage proposes: an output, and for each input a frame to read or the reason why it goes without.

/// Why a row goes without an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Absence {
    /// It was silent for longer than the map's time-out.
    Stale,
    /// The output waited for it until its deadline.
    Late,
    /// It is optional and had nothing, or the row is another input's.
    NotJoined,
}

impl Absence {
    /// The word that the journal holds.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Late => "late",
            Self::NotJoined => "not_joined",
        }
    }
}

/// One input of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The frame to read.
    Frame {
        /// The stream's place in [`super::StageConfig::streams`].
        stream: u16,
        /// The producer's epoch.
        epoch: u64,
        /// The frame's sequence.
        seq: u64,
        /// Of the slot header, if it was read at arrival; all ones is null.
        timestamp_ns: u64,
        /// Of the descriptor; all ones is null.
        descriptor_timestamp_ns: u64,
        /// Of the descriptor.
        trace_id: u64,
    },
    /// No frame.
    Absent(Absence),
}

/// An output to try: read the picks, then say `joined`, or `failed` for each that could not be read.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The output's epoch.
    pub out_epoch: u64,
    /// The output's sequence.
    pub out_seq: u64,
    /// The output's time, where the policy or the drive has one.
    pub out_time_ns: Option<i64>,
    pub(super) picks: &'a [Pick],
}

impl Attempt<'_> {
    /// One pick for each input, in their order.
    #[must_use]
    pub fn picks(&self) -> &[Pick] {
        self.picks
    }
}
