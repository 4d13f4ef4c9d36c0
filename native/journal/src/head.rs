// SPDX-License-Identifier: Apache-2.0
//! `journal.head`, the file in which the writer tells readers about the journal, one word for each fact.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::config::JournalError;
use crate::layout::{HEAD_BYTES, HEAD_MAGIC, HeadWord, STATE_CLOSED, STATE_RUNNING};
use crate::mapping::Mapping;
use crate::segment::is_same_file;
use crate::spare::lock_exclusively;

/// The mapped head file. Only the writer stores into it, and holds it locked. A journal's own lock already excludes a
/// second writer; this one holds even if somebody forgot to take that.
#[derive(Debug)]
pub(crate) struct Head {
    mapping: Mapping,
    locked: File,
    path: PathBuf,
}

impl Head {
    /// Opens or makes the head; also says whether the previous writer closed the journal. The file is never replaced, so
    /// a reader's mapping stays valid.
    pub(crate) fn open(path: &Path) -> Result<(Self, bool), JournalError> {
        let failed = |error| JournalError::Io { path: path.to_owned(), error };
        let file = open_file(path).map_err(failed)?;
        if !lock_exclusively(&file).map_err(failed)? {
            return Err(JournalError::Locked { path: path.to_owned() });
        }
        Self::map(file, path).map_err(failed)
    }

    fn map(file: File, path: &Path) -> io::Result<(Self, bool)> {
        if file.metadata()?.len() != HEAD_BYTES as u64 {
            file.set_len(HEAD_BYTES as u64)?;
        }
        let head = Self { mapping: Mapping::new(&file, HEAD_BYTES)?, locked: file, path: path.to_owned() };
        let is_ours = head.get(HeadWord::Magic) == HEAD_MAGIC;
        let was_clean = is_ours && head.get(HeadWord::State) == STATE_CLOSED;
        Ok((head, was_clean))
    }

    /// Says that this process writes the journal now. `set` writes the words about rows.
    pub(crate) fn begin(&self, journal_epoch: u64) {
        self.set(HeadWord::Version, 1);
        self.set(HeadWord::JournalEpoch, journal_epoch);
        self.set(HeadWord::WriterPid, u64::from(std::process::id()));
        self.set(HeadWord::State, STATE_RUNNING);
        self.set(HeadWord::Magic, HEAD_MAGIC);
    }

    pub(crate) fn set(&self, word: HeadWord, value: u64) {
        self.mapping.publish(word as usize * 8, value);
    }

    pub(crate) fn get(&self, word: HeadWord) -> u64 {
        u64::from_le(self.mapping.word(word as usize * 8).load(Ordering::Acquire))
    }

    /// Whether the journal still lies where it was opened: nobody deleted or replaced its directory.
    pub(crate) fn is_there(&self) -> bool {
        is_same_file(&self.locked, &self.path)
    }

    pub(crate) fn closed(&self) {
        self.set(HeadWord::State, STATE_CLOSED);
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.mapping.sync(0, HEAD_BYTES)
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o660)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}
