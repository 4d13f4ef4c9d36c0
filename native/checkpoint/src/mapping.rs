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

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use portable_atomic::AtomicU128;

/// "FGCMDWRD".
const MAGIC: u64 = u64::from_le_bytes(*b"FGCMDWRD");
const VERSION: u64 = 1;
const VERSION_AT: usize = 8;
const WORD_AT: usize = 64;
const LAST_AT: usize = 128;
/// The size of the file.
pub const FILE_BYTES: usize = 4096;

const _: () = assert!(WORD_AT.is_multiple_of(16) && LAST_AT.is_multiple_of(16) && LAST_AT + 16 <= FILE_BYTES);

/// Why a file is refused.
#[derive(Debug)]
pub enum Refused {
    /// The system refused an operation.
    Io(io::Error),
    /// The file is not a regular file of this user.
    NotOurs,
    /// The file has another size.
    Bytes(u64),
    /// The file has another magic.
    Magic,
    /// The file has another version.
    Version(u64),
    /// Another injector polls the file.
    Busy,
}

impl From<io::Error> for Refused {
    fn from(failure: io::Error) -> Self {
        Self::Io(failure)
    }
}

/// Command word and newest emitted barrier. Shared by all who map the same file, or who hold a clone of its `Arc`.
#[derive(Debug)]
pub struct SharedWord {
    start: NonNull<u8>,
    /// The open file, which holds the lock of a source.
    _file: Option<File>,
}

// SAFETY: the address range belongs to this process, and only atomic words of it are used.
unsafe impl Send for SharedWord {}
// SAFETY: as above.
unsafe impl Sync for SharedWord {}

impl SharedWord {
    /// Maps memory that only this process can reach.
    pub fn anonymous() -> Result<Self, Refused> {
        Ok(Self { start: map(libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)?, _file: None })
    }

    /// Maps the file for the source. Makes it if it is missing, and locks out every other source until it is dropped.
    pub fn create(path: &Path) -> Result<Self, Refused> {
        let file = options().create(true).open(path)?;
        // SAFETY: locks an open descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(Refused::Busy);
        }
        is_ours(&file)?;
        if file.metadata()?.len() == 0 {
            file.set_len(FILE_BYTES as u64)?;
        }
        let shared = Self::of(file)?;
        let (magic, version) = (shared.number(0), shared.number(VERSION_AT));
        if magic.load(Ordering::Acquire) == 0 {
            version.store(VERSION.to_le(), Ordering::Relaxed);
            // Release: a process that sees the magic also sees the version.
            magic.store(MAGIC.to_le(), Ordering::Release);
        }
        shared.checked()
    }

    /// Maps the file for a handle in another process.
    pub fn open(path: &Path) -> Result<Self, Refused> {
        let file = options().open(path)?;
        is_ours(&file)?;
        let mut shared = Self::of(file)?;
        shared._file = None;
        shared.checked()
    }

    fn of(file: File) -> Result<Self, Refused> {
        let bytes = file.metadata()?.len();
        if bytes != FILE_BYTES as u64 {
            return Err(Refused::Bytes(bytes));
        }
        Ok(Self { start: map(libc::MAP_SHARED, file.as_raw_fd())?, _file: Some(file) })
    }

    fn checked(self) -> Result<Self, Refused> {
        if self.number(0).load(Ordering::Acquire) != MAGIC.to_le() {
            return Err(Refused::Magic);
        }
        match u64::from_le(self.number(VERSION_AT).load(Ordering::Relaxed)) {
            VERSION => Ok(self),
            other => Err(Refused::Version(other)),
        }
    }

    /// The command word.
    #[inline]
    #[must_use]
    pub fn word(&self) -> &AtomicU128 {
        self.wide(WORD_AT)
    }

    /// The newest barrier that was emitted, as a command.
    #[inline]
    #[must_use]
    pub fn last(&self) -> &AtomicU128 {
        self.wide(LAST_AT)
    }

    #[inline]
    fn wide(&self, offset: usize) -> &AtomicU128 {
        // SAFETY: WORD_AT or LAST_AT, inside the mapping and aligned to 16 bytes; mappings begin on pages and live as
        // long as `self`.
        unsafe { AtomicU128::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    fn number(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: 0 or VERSION_AT, inside the mapping and aligned to 8 bytes.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }
}

impl Drop for SharedWord {
    fn drop(&mut self) {
        // SAFETY: mapped in `map`, unmapped only here.
        unsafe { libc::munmap(self.start.as_ptr().cast(), FILE_BYTES) };
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // O_NONBLOCK: a pipe that somebody put there must not make this wait.
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK);
    options
}

fn is_ours(file: &File) -> Result<(), Refused> {
    let about = file.metadata()?;
    // SAFETY: reads this process's user id.
    if about.is_file() && about.uid() == unsafe { libc::geteuid() } { Ok(()) } else { Err(Refused::NotOurs) }
}

fn map(flags: libc::c_int, descriptor: libc::c_int) -> Result<NonNull<u8>, Refused> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of FILE_BYTES, of memory or of a file of that size, at an address that the kernel chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), FILE_BYTES, protection, flags, descriptor, 0) };
    if start == libc::MAP_FAILED {
        return Err(Refused::Io(io::Error::last_os_error()));
    }
    NonNull::new(start.cast()).ok_or_else(|| Refused::Io(io::Error::other("the kernel mapped it at address 0")))
}
