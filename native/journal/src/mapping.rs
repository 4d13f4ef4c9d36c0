// SPDX-License-Identifier: Apache-2.0
//! A file mapped for writing. All its blocks are allocated before, so that a store never meets a full disk.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shared mapping of a file from its beginning; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the address range belongs to this process, and the writer that owns it is the only one that writes it. Other
// processes rely on the prefix of a message or on words of the head, which are stored atomically.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of `file`, which is at least as long.
    pub(crate) fn new(file: &File, bytes: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new shared mapping of an open file, at an address that the kernel chooses.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the kernel mapped it at address 0"))?;
        Ok(Self { start, bytes })
    }

    pub(crate) const fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The mapped bytes. Only this process writes them, through this value.
    pub(crate) const fn content(&self) -> &[u8] {
        // SAFETY: the mapping is `bytes` long; the writer's lock keeps other writers away.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The mapped bytes, for writing.
    pub(crate) const fn content_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `content`, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Touches every page for writing, without changing it, because a first touch is slow. It goes piece by piece:
    /// during a call, the kernel lets no other thread of the process map or unmap anything.
    pub(crate) fn populate(&self) {
        const PIECE: usize = 2 << 20;
        // SAFETY: the range is this whole mapping. If the system gives no huge pages to such files, nothing changes.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_HUGEPAGE) };
        for from in (0..self.bytes).step_by(PIECE) {
            let bytes = PIECE.min(self.bytes - from);
            // SAFETY: the piece lies in this mapping and begins on a page. A kernel that does not know the advice
            // ignores it, and the first stores touch the pages.
            unsafe { libc::madvise(self.start.as_ptr().add(from).cast(), bytes, libc::MADV_POPULATE_WRITE) };
        }
    }

    /// The 64-bit word at `offset`, a multiple of 8 inside the mapping.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes);
        // SAFETY: inside the mapping and aligned, by the check and because mappings begin on pages.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// Stores a word with release order: whoever sees it also sees everything stored before.
    pub(crate) fn publish(&self, offset: usize, value: u64) {
        self.word(offset).store(value.to_le(), Ordering::Release);
    }

    /// Waits until the bytes `from..to` are on the disk.
    pub(crate) fn sync(&self, from: usize, to: usize) -> io::Result<()> {
        const PAGE: usize = 4096;
        let (from, to) = (from & !(PAGE - 1), to.min(self.bytes));
        if from >= to {
            return Ok(());
        }
        // SAFETY: from < to <= bytes, and `from` lies on a page.
        match unsafe { libc::msync(self.start.as_ptr().add(from).cast(), to - from, libc::MS_SYNC) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped only here.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
