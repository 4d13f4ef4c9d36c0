// SPDX-License-Identifier: Apache-2.0
//! The command word in a file that another process can map.
//!
//! ```text
//!  0          8       12                64             80              128             144        4096
//!  +----------+-------+-----------------+--------------+---------------+---------------+----------+
//!  | magic    | ver.  | 0               | command word | 0             | last emitted  | 0        |
//!  +----------+-------+-----------------+--------------+---------------+---------------+----------+
//! ```
//!
//! Handles write the command word, and the injector takes it. Only the injector writes the newest barrier it emitted,
//! in the form of a command; that outlives the injector. Each has a cache line of its own. Little-endian.

use std::path::Path;

pub use framegate_core::shared_file::Refused;
use framegate_core::shared_file::{Kind, SharedFile};
use portable_atomic::AtomicU128;

const WORD_AT: usize = 64;
const LAST_AT: usize = 128;
const WIDE: usize = size_of::<AtomicU128>();
/// The size of the file.
pub const FILE_BYTES: usize = 4096;
const KIND: Kind = Kind { magic: *b"FGCMDWRD", version: 1, bytes: FILE_BYTES };

/// Command word and newest emitted barrier. Shared by all who map the same file, or who hold a clone of its `Arc`.
#[derive(Debug)]
pub struct SharedWord(SharedFile);

impl SharedWord {
    /// Maps memory that only this process can reach.
    pub fn anonymous() -> Result<Self, Refused> {
        SharedFile::anonymous(KIND).map(Self)
    }

    /// Maps the file for the source. Makes it if it is missing, and locks out every other source until it is dropped.
    pub fn create(path: &Path) -> Result<Self, Refused> {
        SharedFile::make_locked(path, KIND).map(Self)
    }

    /// Maps the file for a handle in another process.
    pub fn open(path: &Path) -> Result<Self, Refused> {
        SharedFile::open(path, KIND).map(Self)
    }

    /// The command word.
    #[inline]
    #[must_use]
    pub fn word(&self) -> &AtomicU128 {
        // SAFETY: inside the mapping and aligned to 16 bytes; the mapping lives as long as `self`.
        unsafe { AtomicU128::from_ptr(self.0.at(WORD_AT, WIDE).cast()) }
    }

    /// The newest barrier that was emitted, as a command.
    #[inline]
    #[must_use]
    pub fn last(&self) -> &AtomicU128 {
        // SAFETY: as above.
        unsafe { AtomicU128::from_ptr(self.0.at(LAST_AT, WIDE).cast()) }
    }
}
