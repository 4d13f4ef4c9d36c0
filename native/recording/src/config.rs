// SPDX-License-Identifier: Apache-2.0
//! How a recording is made, and how it can fail.

use std::io;
use std::path::PathBuf;

/// How chunks are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    None,
    /// By zstd.
    Zstd,
}

impl Compression {
    /// Its name in a chunk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Zstd => "zstd",
        }
    }
}

/// What is recorded, and with how much memory.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file, which must not exist.
    pub path: PathBuf,
    /// The streams.
    pub streams: Vec<u32>,
    /// Whether payloads are recorded too.
    pub has_payload: bool,
    /// How chunks are packed.
    pub compression: Compression,
    /// Bytes of a chunk; a frame that is longer makes its chunk longer.
    pub chunk_bytes: usize,
    /// Bytes that may wait to be written.
    pub queue_bytes: usize,
    /// A chunk that is older than this is written though it is not full: so much a kill may cost.
    pub chunk_ns: u64,
    /// Which program records.
    pub library: String,
    /// More for the metadata record at the file's start.
    pub notes: Vec<(String, String)>,
}

/// Why a recording cannot be made or read.
#[derive(Debug)]
pub enum RecordingError {
    /// The file is there already.
    Exists,
    /// The file system has no room.
    NoRoom,
    /// The system refused.
    Io(io::Error),
    /// The file is no recording that can be read.
    Damaged(String),
}

impl From<io::Error> for RecordingError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Self::NoRoom,
            Some(libc::EEXIST) => Self::Exists,
            _ => Self::Io(error),
        }
    }
}

impl std::fmt::Display for RecordingError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exists => write!(out, "the file is there already"),
            Self::NoRoom => write!(out, "the file system has no room for it"),
            Self::Io(error) => write!(out, "{error}"),
            Self::Damaged(reason) => write!(out, "{reason}"),
        }
    }
}

impl std::error::Error for RecordingError {}
