// SPDX-License-Identifier: Apache-2.0
//! What a writer is told when it opens, and what it tells.

use std::fmt;
use std::io;
use std::path::PathBuf;

use framegate_counters::counters;
use serde::Deserialize;

/// What happens when the journal is full and a named reader has not read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// The oldest segment goes, readers are overtaken.
    DropOldest,
    /// The writer takes no more rows.
    Block,
}

/// What survives what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing beyond the processes: a file system in memory.
    Memory,
    /// The page cache of a file system on a disk.
    Disk,
    /// Each seal is on the disk before it is seen.
    Fsync,
    /// What was sealed is on the disk when [`crate::Writer::sync`] returns.
    Checkpoint,
}

/// How a writer works.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The journal's directory; made where it is missing.
    #[serde(skip)]
    pub dir: PathBuf,
    /// The output stream.
    pub out_stream: u32,
    /// When the journal was created, realtime ns.
    pub journal_epoch: u64,
    /// Column names of the inputs, in order.
    pub inputs: Vec<String>,
    /// Rows of a batch at most.
    pub seal_rows: u32,
    /// Payload bytes of a batch, beyond which it is due.
    pub seal_bytes: u64,
    /// Age of a batch's first row, beyond which it is due.
    pub seal_ns: u64,
    /// Length of a segment file.
    pub segment_bytes: u64,
    /// Age of a segment with rows, beyond which the next one begins.
    pub segment_ns: u64,
    /// Length of all segments of rows together, the spare one included.
    pub max_bytes: u64,
    /// See [`WhenFull`].
    pub when_full: WhenFull,
    /// See [`Durability`].
    pub durability: Durability,
    /// Make every segment that `max_bytes` allows before `open` returns, so that none is made later.
    pub prefault_all: bool,
    /// Longest state that a seal carries.
    pub state_capacity: usize,
    /// Realtime minus monotonic clock, added to the `now_ns` of a seal.
    pub realtime_offset_ns: i64,
}

impl Default for Config {
    /// A small journal in memory, for tests and tools. What users get is decided in `joinbarrier/config`.
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

/// What an existing journal held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The next row's number.
    pub next_row: u64,
    /// Seals so far.
    pub seals: u64,
    /// The state of the last sealed batch, without padding.
    pub state: Option<Vec<u8>>,
    /// Batches at the end of the open segments that were not whole, or not accounted for, and are gone.
    pub cut_batches: u64,
    /// Their rows, as far as they said how many.
    pub cut_rows: u64,
    /// Whether the last writer closed it.
    pub was_clean: bool,
}

/// What a seal did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The number of this seal, from 1.
    pub seal: u64,
    /// The batch's first row.
    pub first_row: u64,
    /// Its rows.
    pub rows: u32,
    /// Unmatched rows sealed before it.
    pub unmatched_rows: u32,
}

/// What became of a request for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// Place the payloads, then commit or abandon.
    Ready,
    /// The open batch has no room for it: seal, and ask again.
    SealFirst,
    /// There is no segment for it yet; nothing was taken. Ask again later.
    Full,
}

/// Why the journal cannot go on.
#[derive(Debug)]
pub enum JournalError {
    /// Another writer holds it.
    Locked {
        /// What it has locked.
        path: PathBuf,
    },
    /// The file system has no room; everything is as it was. Try again later.
    NoRoom {
        /// Bytes wanted.
        want_bytes: u64,
    },
    /// There is no segment to write into; everything is as it was. Try again later.
    Full,
    /// The same, but the next segment's file is being made: nobody has to do anything. Try again in a moment.
    SegmentComing,
    /// The journal's files were deleted, or others lie in their place. What is there now is left alone.
    Gone {
        /// What is not there.
        path: PathBuf,
    },
    /// A row that no segment of this length can hold.
    RowTooLarge {
        /// Bytes that it needs.
        want_bytes: u64,
        /// Length of a segment.
        segment_bytes: u64,
    },
    /// A state longer than was said.
    StateTooLong {
        /// Its length.
        want_bytes: usize,
        /// What was said.
        capacity: usize,
    },
    /// A configuration that cannot work.
    Config(String),
    /// A file that this writer did not write, or that was damaged where nothing can be cut.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Anything else that the system said.
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
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
        /// Rows sealed.
        rows,
        /// Their payload bytes.
        bytes,
        /// Seals.
        seals,
        /// Unmatched rows sealed.
        unmatched_rows,
        /// Segments made of fresh files.
        segments_made,
        /// Segments made of dropped ones.
        segments_recycled,
        /// Segments dropped by retention.
        segments_dropped,
        /// Dropped segments that a reader still held, so that they could not be used again.
        segments_held,
        /// Bytes of sealed batches that hold nothing.
        slack_bytes,
        /// How often there was no segment when one was needed.
        blocked,
        /// How often the file system had no room.
        no_room,
        /// Rows dropped below `max_bytes`, because the file system had no room for another segment.
        rows_dropped_early,
        /// The oldest row still there.
        first_row,
        /// The next row's number, unsealed ones not counted.
        next_row,
    }
}
