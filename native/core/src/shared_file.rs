// SPDX-License-Identifier: Apache-2.0
//! A small file of atomic words, mapped by several processes of one user.
//!
//! It begins with a magic and a version, and has a fixed size. It gets its memory when it is made, so that a full file
//! system is an error here and never a SIGBUS later.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const VERSION_AT: usize = 8;

/// The properties of a kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its first eight bytes.
    pub magic: [u8; 8],
    /// The version of its layout.
    pub version: u64,
    /// Its size.
    pub bytes: usize,
}

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
    /// Another process holds the lock of the file.
    Busy,
}

impl From<io::Error> for Refused {
    fn from(failure: io::Error) -> Self {
        Self::Io(failure)
    }
}

/// A mapped file, or memory of the same layout that only this process can reach.
#[derive(Debug)]
pub struct SharedFile {
    start: NonNull<u8>,
    bytes: usize,
    /// The open file, if it holds a lock.
    lock: Option<File>,
    /// Device and inode of the file; None for memory.
    identity: Option<(u64, u64)>,
}

// SAFETY: the address range belongs to this process, and only atomic words of it are used.
unsafe impl Send for SharedFile {}
// SAFETY: as above.
unsafe impl Sync for SharedFile {}

impl SharedFile {
    /// Maps memory that only this process can reach.
    ///
    /// # Errors
    /// If the system gives no memory.
    pub fn anonymous(kind: Kind) -> Result<Self, Refused> {
        let start = map(kind.bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)?;
        let made = Self { start, bytes: kind.bytes, lock: None, identity: None };
        made.begin(kind);
        Ok(made)
    }

    /// Maps a file, and makes it if it is missing. Several processes may do that at once.
    ///
    /// # Errors
    /// If the file is not of this kind, or cannot be made.
    pub fn make(path: &Path, kind: Kind) -> Result<Self, Refused> {
        Self::begun(&options().create(true).open(path)?, kind)
    }

    /// Like `make`, and locks the file until this is dropped. No other process can lock it meanwhile.
    ///
    /// # Errors
    /// Like `make`, and [`Refused::Busy`].
    pub fn make_locked(path: &Path, kind: Kind) -> Result<Self, Refused> {
        let file = options().create(true).open(path)?;
        // SAFETY: locks an open descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(Refused::Busy);
        }
        let mut made = Self::begun(&file, kind)?;
        made.lock = Some(file);
        Ok(made)
    }

    /// Maps a file that another process made.
    ///
    /// # Errors
    /// Like `make`, and if there is no file.
    pub fn open(path: &Path, kind: Kind) -> Result<Self, Refused> {
        Self::of(&options().open(path)?, kind)?.checked(kind)
    }

    fn begun(file: &File, kind: Kind) -> Result<Self, Refused> {
        is_ours(file)?;
        if file.metadata()?.len() == 0 {
            // SAFETY: gives memory to an open descriptor; no memory is passed.
            match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, kind.bytes as libc::off_t) } {
                0 => {}
                error => return Err(Refused::Io(io::Error::from_raw_os_error(error))),
            }
        }
        let mapped = Self::of(file, kind)?;
        mapped.begin(kind);
        mapped.checked(kind)
    }

    /// Writes magic and version, unless another process has.
    fn begin(&self, kind: Kind) {
        if self.word64(0).load(Ordering::Acquire) == 0 {
            self.word64(VERSION_AT).store(kind.version.to_le(), Ordering::Relaxed);
            // Release: a process that sees the magic also sees the version.
            self.word64(0).store(u64::from_ne_bytes(kind.magic), Ordering::Release);
        }
    }

    fn of(file: &File, kind: Kind) -> Result<Self, Refused> {
        is_ours(file)?;
        let about = file.metadata()?;
        if about.len() != kind.bytes as u64 {
            return Err(Refused::Bytes(about.len()));
        }
        let start = map(kind.bytes, libc::MAP_SHARED, file.as_raw_fd())?;
        Ok(Self { start, bytes: kind.bytes, lock: None, identity: Some((about.dev(), about.ino())) })
    }

    fn checked(self, kind: Kind) -> Result<Self, Refused> {
        if self.word64(0).load(Ordering::Acquire) != u64::from_ne_bytes(kind.magic) {
            return Err(Refused::Magic);
        }
        match u64::from_le(self.word64(VERSION_AT).load(Ordering::Relaxed)) {
            version if version == kind.version => Ok(self),
            other => Err(Refused::Version(other)),
        }
    }

    /// The identity of the file; None for memory.
    #[must_use]
    pub const fn identity(&self) -> Option<(u64, u64)> {
        self.identity
    }

    /// The 8-byte word at an offset.
    #[inline]
    #[must_use]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: `at` checks that the word lies inside the mapping and is aligned; the mapping lives as long as self.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// The 4-byte word at an offset.
    #[inline]
    #[must_use]
    pub fn word32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    /// The address of a word of that many bytes.
    ///
    /// # Panics
    /// If the word is not inside the mapping, or is not aligned.
    #[inline]
    #[must_use]
    pub fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset.is_multiple_of(bytes) && offset + bytes <= self.bytes, "no word lies there");
        // SAFETY: inside the mapping, as was just checked.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // SAFETY: mapped in `map`, unmapped only here.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // O_NONBLOCK: if somebody put a pipe there, opening it must not wait.
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK);
    options
}

fn is_ours(file: &File) -> Result<(), Refused> {
    let about = file.metadata()?;
    // SAFETY: reads this process's user id.
    if about.is_file() && about.uid() == unsafe { libc::geteuid() } { Ok(()) } else { Err(Refused::NotOurs) }
}

fn map(bytes: usize, flags: libc::c_int, descriptor: libc::c_int) -> Result<NonNull<u8>, Refused> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of memory, or of a file of that size, at an address that the kernel chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, descriptor, 0) };
    if start == libc::MAP_FAILED {
        return Err(Refused::Io(io::Error::last_os_error()));
    }
    NonNull::new(start.cast()).ok_or_else(|| Refused::Io(io::Error::other("the kernel mapped it at address 0")))
}
