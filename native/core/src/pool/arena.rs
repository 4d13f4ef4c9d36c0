// SPDX-License-Identifier: Apache-2.0
//! An arena: memory for copies of frames. Its address space is reserved at the start, and used in chunks.
//!
//! A chunk is free again when the last copy in it is released; nothing is evicted. A helper thread can fault in the
//! chunks ahead of those in use, so that a thread that copies does not wait for page faults.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

const CHUNK_BYTES_MAX: usize = 1 << 20;
const CHUNK_BYTES_MIN: usize = 4096;
/// The least number of chunks. A small arena has smaller chunks, so that each of several streams finds one.
const CHUNKS_LEAST: usize = 64;
/// Huge pages begin at multiples of this.
const ALIGNMENT: usize = 2 << 20;
/// How much the helper faults in at once.
const STEP_BYTES: usize = 4 << 20;

/// Why there is no place for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// Too many copies are kept already.
    Full,
    /// There is space, but the system has not given its memory yet.
    NotYet,
}

/// Memory in chunks. Only one thread takes and gives back.
#[derive(Debug)]
pub struct Arena {
    mapping: Mapping,
    chunk_bytes: usize,
    /// How many copies are in each chunk; 0 if it is free.
    copies: Box<[u32]>,
    /// How many chunks are in use.
    taken: usize,
    peak: usize,
    ahead: Option<Ahead>,
}

impl Default for Arena {
    /// Makes an arena of no bytes.
    fn default() -> Self {
        Self {
            mapping: Mapping::default(),
            chunk_bytes: CHUNK_BYTES_MIN,
            copies: Box::default(),
            taken: 0,
            peak: 0,
            ahead: None,
        }
    }
}

impl Arena {
    /// Reserves `bytes` of address space. The first `ahead_bytes` have memory when this returns, and a helper thread
    /// keeps as many ahead of what is in use. With 0 there is no helper, and a page gets memory when it is first
    /// written.
    ///
    /// # Errors
    /// If the system gives no address space, or no thread.
    pub fn new(bytes: usize, ahead_bytes: usize) -> io::Result<Self> {
        let chunk_bytes = (bytes / CHUNKS_LEAST).next_power_of_two().clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        let chunks = bytes.div_ceil(chunk_bytes);
        let mapping = Mapping::new(chunks * chunk_bytes)?;
        let ahead = match ahead_bytes.min(bytes).div_ceil(chunk_bytes) {
            0 => None,
            ahead => Some(Ahead::start(mapping.start, chunk_bytes, chunks, ahead)?),
        };
        Ok(Self { mapping, chunk_bytes, copies: vec![0; chunks].into_boxed_slice(), taken: 0, peak: 0, ahead })
    }

    /// The most bytes that were in use at one time, counted in whole chunks.
    #[must_use]
    pub const fn peak_bytes(&self) -> usize {
        self.peak * self.chunk_bytes
    }

    /// Finds a place for `bytes`, which are at least one: right after `end` if that is free, else in adjacent free
    /// chunks. With `may_fault`, memory that has not come from the system yet may be used; the copy then waits for it.
    ///
    /// # Errors
    /// See [`NoPlace`].
    pub fn place(&self, end: Option<usize>, bytes: usize, may_fault: bool) -> Result<usize, NoPlace> {
        let usable = match &self.ahead {
            Some(ahead) if !may_fault => ahead.faulted(),
            _ => self.copies.len(),
        };
        let is_free = |chunk: usize| chunk < usable && self.copies[chunk] == 0;
        if let Some(end) = end
            && ((end - 1) / self.chunk_bytes + 1..=(end + bytes - 1) / self.chunk_bytes).all(is_free)
        {
            return Ok(end);
        }
        let need = bytes.div_ceil(self.chunk_bytes);
        let mut run = 0;
        for chunk in 0..usable {
            run = if self.copies[chunk] == 0 { run + 1 } else { 0 };
            if run == need {
                return Ok((chunk + 1 - need) * self.chunk_bytes);
            }
        }
        Err(if usable < self.copies.len() { NoPlace::NotYet } else { NoPlace::Full })
    }

    /// Marks the place as used by a copy.
    pub fn take(&mut self, start: usize, bytes: usize) {
        for chunk in self.chunks_of(start, bytes) {
            self.taken += usize::from(self.copies[chunk] == 0);
            self.copies[chunk] += 1;
        }
        self.peak = self.peak.max(self.taken);
        if let Some(ahead) = &self.ahead {
            ahead.want(self.taken);
        }
    }

    /// Marks the place of a copy as no longer used.
    pub fn give_back(&mut self, start: usize, bytes: usize) {
        for chunk in self.chunks_of(start, bytes) {
            self.copies[chunk] -= 1;
            self.taken -= usize::from(self.copies[chunk] == 0);
        }
    }

    /// The bytes at a place, which must be one that `place` returned.
    #[must_use]
    pub fn bytes(&self, start: usize, bytes: usize) -> &[u8] {
        assert!(start + bytes <= self.mapping.bytes, "a place outside of the arena");
        // SAFETY: the range lies in the mapping, which is readable, and zero before it is written. A writer needs `&mut
        // self`.
        unsafe { std::slice::from_raw_parts(self.mapping.start.as_ptr().add(start), bytes) }
    }

    /// The bytes at a place, for writing.
    pub fn bytes_mut(&mut self, start: usize, bytes: usize) -> &mut [u8] {
        assert!(start + bytes <= self.mapping.bytes, "a place outside of the arena");
        // SAFETY: as in `bytes`, and nobody else refers to the range while `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.start.as_ptr().add(start), bytes) }
    }

    fn chunks_of(&self, start: usize, bytes: usize) -> std::ops::RangeInclusive<usize> {
        start / self.chunk_bytes..=(start + bytes - 1) / self.chunk_bytes
    }
}

/// Reserved address space. It has no memory until it is written.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    /// The mapping as the system gave it; 0 bytes if there is none.
    whole: (NonNull<u8>, usize),
}

impl Default for Mapping {
    fn default() -> Self {
        Self { start: NonNull::dangling(), bytes: 0, whole: (NonNull::dangling(), 0) }
    }
}

// SAFETY: the mapping is plain memory of this process, which only the arena writes.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(bytes: usize) -> io::Result<Self> {
        if bytes == 0 {
            return Ok(Self::default());
        }
        let length = bytes + ALIGNMENT;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the system's choice; nothing that exists is touched.
        let found = unsafe { libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0) };
        if found == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let whole = NonNull::new(found.cast::<u8>()).ok_or_else(io::Error::last_os_error)?;
        let ahead = whole.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: the offset is below ALIGNMENT, by which the mapping is longer.
        let start = unsafe { whole.add(ahead) };
        // SAFETY: the range lies in the mapping. This is only advice: a system without huge pages refuses it, which
        // does no harm.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        Ok(Self { start, bytes, whole: (whole, length) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.whole.1 == 0 {
            return;
        }
        // SAFETY: it is the mapping that `new` made. References into it borrow the arena, and the helper has ended:
        // the arena drops it first (`Drop for Arena`).
        unsafe { libc::munmap(self.whole.0.as_ptr().cast(), self.whole.1) };
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.ahead = None;
    }
}

/// The helper that faults in chunks before they are used.
#[derive(Debug)]
struct Ahead {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// How many chunks it keeps ahead of those in use.
    ahead: usize,
    chunks: usize,
}

#[derive(Debug, Default)]
struct Shared {
    /// How many chunks must have memory, counted from the first.
    wanted: AtomicUsize,
    /// How many chunks have memory.
    faulted: AtomicUsize,
    is_over: AtomicBool,
}

impl Ahead {
    fn start(start: NonNull<u8>, chunk_bytes: usize, chunks: usize, ahead: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared { wanted: AtomicUsize::new(ahead), ..Shared::default() });
        let range = Range { start, chunk_bytes, chunks };
        // The first part is faulted in before this returns, because the caller is about to use it.
        range.fault_in(&shared);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("framegate-arena".into()).spawn(move || {
            while !theirs.is_over.load(Ordering::Acquire) {
                range.fault_in(&theirs);
                std::thread::park();
            }
        })?;
        Ok(Self { shared, thread: Some(thread), ahead, chunks })
    }

    #[inline]
    fn faulted(&self) -> usize {
        // Acquire: only this number passes between the threads; the kernel keeps the page tables.
        self.shared.faulted.load(Ordering::Acquire)
    }

    /// Lets the helper keep its lead over this many chunks in use.
    #[inline]
    fn want(&self, taken: usize) {
        let wanted = (taken + self.ahead).min(self.chunks);
        if wanted > self.shared.wanted.load(Ordering::Relaxed) {
            self.shared.wanted.store(wanted, Ordering::Release);
            if let Some(thread) = &self.thread {
                thread.thread().unpark();
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The helper does not panic; if it did, nothing could be done about it here.
            _ = thread.join();
        }
    }
}

/// The part of the arena that the helper uses.
struct Range {
    start: NonNull<u8>,
    chunk_bytes: usize,
    chunks: usize,
}

// SAFETY: the pointer is given to `madvise` alone, while the arena, which joins the helper first, keeps the mapping.
unsafe impl Send for Range {}

impl Range {
    /// Faults in every chunk that must have memory.
    fn fault_in(&self, shared: &Shared) {
        let step = (STEP_BYTES / self.chunk_bytes).max(1);
        let mut from = shared.faulted.load(Ordering::Relaxed);
        while from < shared.wanted.load(Ordering::Acquire) {
            let to = (from + step).min(self.chunks);
            let bytes = (to - from) * self.chunk_bytes;
            // SAFETY: the range lies in the arena's mapping. Populating changes no byte, so a thread that writes there
            // meanwhile is not disturbed.
            let done = unsafe {
                let first = self.start.as_ptr().add(from * self.chunk_bytes);
                libc::madvise(first.cast(), bytes, libc::MADV_POPULATE_WRITE)
            };
            // An old kernel does not know the call, or memory is short. Then the thread that copies takes the page
            // faults.
            from = if done == 0 { to } else { self.chunks };
            shared.faulted.store(from, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = 4096;

    fn arena(chunks: usize) -> Arena {
        let arena = Arena::new(chunks * CHUNK, 0).unwrap();
        assert_eq!(arena.chunk_bytes, CHUNK);
        arena
    }

    /// The place of a copy that is kept.
    fn kept(arena: &mut Arena, end: Option<usize>, bytes: usize) -> Result<usize, NoPlace> {
        let start = arena.place(end, bytes, false)?;
        arena.take(start, bytes);
        Ok(start)
    }

    #[test]
    fn copies_lie_behind_each_other_across_chunks_that_are_free() {
        let mut arena = arena(4);
        assert_eq!(kept(&mut arena, None, 3000), Ok(0));
        assert_eq!(kept(&mut arena, Some(3000), 3000), Ok(3000));
        assert_eq!(arena.taken, 2);
        // Somebody else's chunk is in the way.
        assert_eq!(kept(&mut arena, None, 10), Ok(2 * CHUNK));
        assert_eq!(kept(&mut arena, Some(6000), 3000), Ok(3 * CHUNK));
        assert_eq!(kept(&mut arena, Some(3 * CHUNK + 3000), 3000), Err(NoPlace::Full));
        assert_eq!(arena.peak_bytes(), 4 * CHUNK);
    }

    #[test]
    fn a_chunk_is_free_when_its_last_copy_is_released() {
        let mut arena = arena(2);
        for start in [0, 2000, 4000] {
            arena.take(start, 2000);
        }
        arena.give_back(0, 2000);
        assert_eq!(arena.place(None, 1, false), Err(NoPlace::Full));
        arena.give_back(2000, 2000);
        assert_eq!(arena.place(None, 1, false), Err(NoPlace::Full), "the third copy begins there");
        arena.give_back(4000, 2000);
        assert_eq!(arena.place(None, 2 * CHUNK, false), Ok(0));
        assert_eq!((arena.taken, arena.peak_bytes()), (0, 2 * CHUNK));
    }

    #[test]
    fn a_copy_larger_than_a_chunk_takes_neighbours() {
        let mut arena = arena(5);
        assert_eq!(kept(&mut arena, None, 1), Ok(0));
        assert_eq!(kept(&mut arena, None, 1), Ok(CHUNK));
        assert_eq!(kept(&mut arena, None, 1), Ok(2 * CHUNK));
        arena.give_back(CHUNK, 1);
        assert_eq!(arena.place(None, CHUNK + 1, false), Ok(3 * CHUNK));
        assert_eq!(arena.place(None, 3 * CHUNK, false), Err(NoPlace::Full));
    }

    #[test]
    fn an_arena_of_nothing_has_no_place() {
        assert_eq!(Arena::new(0, 1 << 20).unwrap().place(None, 1, true), Err(NoPlace::Full));
    }

    #[test]
    fn what_is_ahead_has_memory_and_the_helper_keeps_as_much_ahead_of_what_is_taken() {
        let mut arena = Arena::new(64 << 20, 4 << 20).unwrap();
        assert_eq!(arena.place(None, 5 << 20, false), Err(NoPlace::NotYet));
        assert_eq!(arena.place(None, 5 << 20, true), Ok(0));
        let before = minor_faults();
        assert_eq!(kept(&mut arena, None, 4 << 20), Ok(0));
        arena.bytes_mut(0, 4 << 20).fill(7);
        let pages = (4 << 20) / 4096;
        assert!(minor_faults() - before < pages / 16, "{} of {pages}", minor_faults() - before);
        let started = std::time::Instant::now();
        while arena.place(Some(4 << 20), 4 << 20, false).is_err() {
            assert!(started.elapsed().as_secs() < 60, "the helper does nothing");
            std::thread::yield_now();
        }
        assert!(arena.bytes(0, 4 << 20).iter().all(|byte| *byte == 7), "faulting in changes nothing");
    }

    fn minor_faults() -> i64 {
        let mut usage = std::mem::MaybeUninit::zeroed();
        // SAFETY: the structure is as large as the call expects, and zeroes are a value of it.
        let usage: libc::rusage = unsafe {
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
            usage.assume_init()
        };
        usage.ru_minflt
    }
}
