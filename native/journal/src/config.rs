// SPDX-License-Identifier: Apache-2.0
//! The configuration of a writer, and the answers it gives.

use std::fmt;
use std::io;
use std::path::PathBuf;

use framegate_counters::counters;
use serde::Deserialize;

/// What happens when the journal is full and a named reader lags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// The oldest segment is dropped, whatever readers have read.
    DropOldest,
    /// The writer takes no more rows.
    Block,
}

/// What the journal survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Only the end of its processes: the file system is in memory.
    Memory,
    /// Also what a page cache survives: the file system is on a disk.
    Disk,
    /// Also a power loss: each seal is on the disk before readers see it.
    Fsync,
    /// Also a power loss, up to the newest [`crate::Writer::sync`] that returned.
    Checkpoint,
}

/// The configuration of a writer.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The journal's directory, made if it is missing.
    #[serde(skip)]
    pub dir: PathBuf,
    /// The output stream's id.
    pub out_stream: u32,
    /// When the journal was created, realtime ns.
    pub journal_epoch: u64,
    /// The column names of the inputs, in order.
    pub inputs: Vec<String>,
    /// Most rows of a batch.
    pub seal_rows: u32,
    /// Payload bytes of a batch at which it is due.
    pub seal_bytes: u64,
    /// Age of a batch's first row at which it is due.
    pub seal_ns: u64,
    /// The length of a segment file.
    pub segment_bytes: u64,
    /// Age of a segment with rows at which the next one begins.
    pub segment_ns: u64,
    /// The length of all segments of rows together, the spare one included.
    pub max_bytes: u64,
    /// See [`WhenFull`].
    pub when_full: WhenFull,
    /// See [`Durability`].
    pub durability: Durability,
    /// Whether `open` makes every segment that `max_bytes` allows, so that none is made later.
    pub prefault_all: bool,
    /// The longest state that a seal carries.
    pub state_capacity: usize,
    /// Realtime minus monotonic clock, added to the `now_ns` of a seal.
    pub realtime_offset_ns: i64,
}

impl Default for Config {
    /// A small journal in memory, for tests and tools. `joinbarrier/config` decides the defaults of users.
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            out_stream: 1,
            journal_epoch: 1,
            inputs: Vec::new(),
            seal_rows: 1024,
            seal_bytes: 64 << 20,
            seal_ns: 10_000_000,
            segment_bytes: 256 << 20,
            segment_ns: 60_000_000_000,
            max_bytes: 1 << 30,
            when_full: WhenFull::DropOldest,
            durability: Durability::Memory,
            prefault_all: false,
            state_capacity: 1024,
            realtime_offset_ns: 0,
        }
    }
}

/// What an existing journal held when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The number of the next row.
    pub next_row: u64,
    /// How many seals there were.
    pub seals: u64,
    /// The state of the newest sealed batch, without padding.
    pub state: Option<Vec<u8>>,
    /// Batches that were cut off at the end of the open segments, because they were not whole or not accounted for.
    pub cut_batches: u64,
    /// The rows of these batches, as far as their metadata told.
    pub cut_rows: u64,
    /// Whether the previous writer closed the journal.
    pub was_clean: bool,
}

/// What a seal sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The number of this seal, from 1.
    pub seal: u64,
    /// The number of the batch's first row.
    pub first_row: u64,
    /// How many rows the batch has.
    pub rows: u32,
    /// How many unmatched rows were sealed before the batch.
    pub unmatched_rows: u32,
}

/// The answer to a request for a row's space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// Place the payloads, then commit or abandon the row.
    Ready,
    /// The open batch has no space for the row: seal it, and ask again.
    SealFirst,
    /// There is no segment for the row yet, and nothing was reserved. Ask again later.
    Full,
}

/// Why the journal cannot go on.
#[derive(Debug)]
pub enum JournalError {
    /// Another writer holds the journal.
    Locked {
        /// The file that it has locked.
        path: PathBuf,
    },
    /// The file system is full. Nothing has changed; try again later.
    NoRoom {
        /// How many bytes were wanted.
        want_bytes: u64,
    },
    /// There is no segment to write into. Nothing has changed; try again later.
    Full,
    /// The next segment's file is just being made. Try again in a moment.
    SegmentComing,
    /// The journal's files were deleted or replaced. What lies there now is left alone.
    Gone {
        /// The path that is gone.
        path: PathBuf,
    },
    /// A row does not fit any segment of the configured length.
    RowTooLarge {
        /// How many bytes the row needs.
        want_bytes: u64,
        /// The length of a segment.
        segment_bytes: u64,
    },
    /// A state is longer than `state_capacity`.
    StateTooLong {
        /// The length of the state.
        want_bytes: usize,
        /// The configured capacity.
        capacity: usize,
    },
    /// The configuration cannot work.
    Config(String),
    /// A file was not written by this kind of writer, or is damaged where nothing can be cut off.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Any other error of the system.
    Io {
        /// The file concerned.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path } => write!(out, "{}: another writer holds this journal", path.display()),
            Self::NoRoom { want_bytes } => write!(out, "the file system has no room for {want_bytes} bytes"),
            Self::Full => write!(out, "the journal is full"),
            Self::SegmentComing => write!(out, "the journal's next file is being made"),
            Self::Gone { path } => {
                write!(out, "{}: the journal's files were deleted or replaced while it was written", path.display())
            }
            Self::RowTooLarge { want_bytes, segment_bytes } => write!(
                out,
                "a row needs {want_bytes} bytes, and segment_bytes={segment_bytes} cannot hold it: raise segment_bytes"
            ),
            Self::StateTooLong { want_bytes, capacity } => {
                write!(out, "a state of {want_bytes} bytes, and {capacity} were said to be the most")
            }
            Self::Config(reason) => write!(out, "{reason}"),
            Self::Damaged { path, reason } => write!(out, "{}: {reason}", path.display()),
            Self::Io { path, error } => write!(out, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for JournalError {}

counters! {
    /// What happened since the writer opened.
    pub struct Counters {
        /// Rows that were sealed.
        rows,
        /// Payload bytes of these rows.
        bytes,
        /// How many seals there were.
        seals,
        /// Unmatched rows that were sealed.
        unmatched_rows,
        /// Segments whose file was newly made.
        segments_made,
        /// Segments whose file was reused from a dropped one.
        segments_recycled,
        /// Segments that retention dropped.
        segments_dropped,
        /// Dropped segments that a reader still held, so that their files could not be reused.
        segments_held,
        /// Bytes of sealed batches that hold no data.
        slack_bytes,
        /// How often a segment was needed and none was ready.
        blocked,
        /// How often the file system was full.
        no_room,
        /// Rows dropped below `max_bytes`, because the file system had no space for another segment.
        rows_dropped_early,
        /// The oldest row that still exists.
        first_row,
        /// The number of the next row, not counting unsealed ones.
        next_row,
    }
}
