// SPDX-License-Identifier: Apache-2.0
//! The thread that makes the next segment's file before it is needed: from a dropped segment, whose pages are warm, or
//! as a new file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::chain::Finished;
use crate::config::JournalError;
use crate::faults::fault;
use crate::mapping::Mapping;
use crate::retired::Retired;

/// Most orders that wait; more segments make no journal faster.
const ORDERS_MAX: usize = 1024;
const MODE: u32 = 0o660;

/// A file prepared to become a segment, locked against readers.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) file: File,
    pub(crate) mapping: Mapping,
    pub(crate) path: PathBuf,
    /// The number of its next use, counted from 1.
    pub(crate) generation: u64,
    /// Whether a reader still held the dropped segment that should have been reused.
    pub(crate) was_held: bool,
}

/// The file of a finished segment, still open and mapped. To map it again would cost the kernel more than to copy the
/// payloads that it holds.
#[derive(Debug)]
pub(crate) struct Warm {
    pub(crate) file: File,
    pub(crate) mapping: Mapping,
}

/// The file of a dropped segment.
#[derive(Debug)]
pub(crate) struct Used {
    /// The number of its previous use, counted from 1.
    pub(crate) generation: u64,
    /// The open file. None if an earlier writer made it, or if too many files are kept open.
    pub(crate) warm: Option<Warm>,
}

/// What the thread is asked to do.
#[derive(Debug)]
pub(crate) struct Order {
    /// The segments to remove, oldest first.
    pub(crate) dropped: Vec<Finished>,
    /// The file to make afterwards, if one is wanted.
    pub(crate) make: Option<Make>,
    /// Whether that file is made from the newest of the removed segments.
    pub(crate) is_recycled: bool,
}

impl Order {
    /// Counts and removes each segment, then makes the file.
    fn carry_out(self, retired: &mut Retired) -> Result<Option<Prepared>, JournalError> {
        let Self { dropped, make, is_recycled } = self;
        let (mut used, last) = (None, dropped.len().saturating_sub(1));
        for (index, segment) in dropped.into_iter().enumerate() {
            count(retired, &segment)?;
            match &make {
                Some(make) if is_recycled && index == last => used = make.rename(segment),
                _ => remove(&segment.path),
            }
        }
        make.map(|make| make.carry_out(used)).transpose()
    }
}

fn count(retired: &mut Retired, segment: &Finished) -> Result<(), JournalError> {
    let found = match &segment.warm {
        Some(_) => None,
        None => File::options()
            .read(true)
            .write(true)
            .open(&segment.path)
            .ok()
            .and_then(|file| Mapping::new(&file, usize::try_from(segment.bytes).ok()?).ok()),
    };
    let mapping = segment.warm.as_ref().map(|warm| &warm.mapping).or(found.as_ref());
    match retired.count(mapping.map_or(&[], Mapping::content), segment.first_row, segment.end_row) {
        // The segment has to go, to free space. It is counted in memory, and written with the next account.
        Err(JournalError::NoRoom { .. }) => Ok(()),
        counted => counted,
    }
}

/// Removes a file, if it still exists and can be removed.
pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    fault!("retention.dropped");
}

/// A file to be made.
#[derive(Debug)]
pub(crate) struct Make {
    /// The path of the new file.
    pub(crate) path: PathBuf,
    pub(crate) bytes: usize,
}

impl Make {
    /// Takes the file of a dropped segment. None if somebody removed it; then a new file is made.
    fn rename(&self, segment: Finished) -> Option<Used> {
        fs::rename(&segment.path, &self.path).ok()?;
        fault!("recycle.renamed");
        Some(Used { generation: segment.generation, warm: segment.warm })
    }

    /// Makes the file, on any thread; a new one if no used file is given.
    pub(crate) fn carry_out(self, used: Option<Used>) -> Result<Prepared, JournalError> {
        let generation = used.as_ref().map_or(1, |used| used.generation + 1);
        let again = used.map(|used| self.again(used)).transpose()?;
        let was_held = matches!(again, Some(None));
        let prepared = match again.flatten() {
            Some(Warm { file, mapping }) => Prepared { file, mapping, path: self.path, generation, was_held },
            None => {
                let file = self.fresh()?;
                let mapping = self.mapped(&file)?;
                Prepared { file, mapping, path: self.path, generation: 1, was_held }
            }
        };
        fault!("spare.made");
        Ok(prepared)
    }

    /// Reuses the dropped file. None if a reader holds it; then the directory entry is removed, and the reader keeps
    /// the file.
    fn again(&self, used: Used) -> Result<Option<Warm>, JournalError> {
        let (file, mapping) = match used.warm {
            Some(Warm { file, mapping }) => (file, Some(mapping)),
            None => (self.options().open(&self.path).map_err(|error| self.failed(error))?, None),
        };
        let is_mine = lock_exclusively(&file).map_err(|error| self.failed(error))?;
        fault!("recycle.locked");
        if !is_mine {
            fs::remove_file(&self.path).map_err(|error| self.failed(error))?;
            return Ok(None);
        }
        let mapping = mapping.map_or_else(|| self.mapped(&file), Ok)?;
        Ok(Some(Warm { file, mapping }))
    }

    fn mapped(&self, file: &File) -> Result<Mapping, JournalError> {
        let mapping = Mapping::new(file, self.bytes).map_err(|error| self.failed(error))?;
        mapping.populate();
        Ok(mapping)
    }

    fn fresh(&self) -> Result<File, JournalError> {
        let file = self.options().create_new(true).open(&self.path).map_err(|error| self.failed(error))?;
        allocate(&file, self.bytes).map_err(|error| {
            // `create_new` has just made this file, so it is ours to remove.
            let _ = fs::remove_file(&self.path);
            self.failed(error)
        })?;
        lock_exclusively(&file).map_err(|error| self.failed(error))?;
        Ok(file)
    }

    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(MODE).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        options
    }

    fn failed(&self, error: io::Error) -> JournalError {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG | libc::ENOMEM) => {
                JournalError::NoRoom { want_bytes: self.bytes as u64 }
            }
            _ => JournalError::Io { path: self.path.clone(), error },
        }
    }
}

/// Allocates all blocks of a file now. Later, a full file system would mean a SIGBUS.
fn allocate(file: &File, bytes: usize) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    loop {
        // SAFETY: an open descriptor and two numbers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
            0 => return Ok(()),
            // An interrupted call has done nothing, so it is repeated.
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// Takes the lock that keeps readers away; false if a reader holds the file.
pub(crate) fn lock_exclusively(file: &File) -> io::Result<bool> {
    // SAFETY: an open descriptor and a number.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
}

/// Releases the lock that keeps readers away.
pub(crate) fn unlock(file: &File) {
    // SAFETY: an open descriptor and a number. Releasing a held lock does not fail.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}

/// Whether the order was for a file, and the result.
type Made = (bool, Result<Option<Prepared>, JournalError>);

/// The thread that makes files, and what it still has to deliver.
#[derive(Debug)]
pub(crate) struct Maker {
    orders: Option<SyncSender<Order>>,
    made: Receiver<Made>,
    thread: Option<JoinHandle<()>>,
    outstanding: usize,
    /// How many of the outstanding orders make a file.
    coming: usize,
}

impl Maker {
    pub(crate) fn start(name: &str, mut retired: Retired) -> io::Result<Self> {
        let (orders, taken) = sync_channel::<Order>(ORDERS_MAX);
        let (deliver, made) = sync_channel(ORDERS_MAX);
        let work = move || {
            for order in taken {
                if deliver.send((order.make.is_some(), order.carry_out(&mut retired))).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self { orders: Some(orders), made, thread: Some(thread), outstanding: 0, coming: 0 })
    }

    pub(crate) const fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// How many files are being made.
    pub(crate) const fn coming(&self) -> usize {
        self.coming
    }

    pub(crate) fn order(&mut self, order: Order) {
        let is_file = order.make.is_some();
        let is_taken = self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok());
        self.outstanding += usize::from(is_taken);
        self.coming += usize::from(is_taken && is_file);
    }

    /// The next result, if one is ready.
    pub(crate) fn poll(&mut self) -> Option<Result<Option<Prepared>, JournalError>> {
        match (self.outstanding > 0).then(|| self.made.try_recv())? {
            Ok(made) => Some(self.delivered(made)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => self.died(),
        }
    }

    /// The next result, waiting for it for at most this long.
    pub(crate) fn wait(&mut self, at_most: Duration) -> Option<Result<Option<Prepared>, JournalError>> {
        match (self.outstanding > 0).then(|| self.made.recv_timeout(at_most))? {
            Ok(made) => Some(self.delivered(made)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => self.died(),
        }
    }

    fn delivered(&mut self, (is_file, made): Made) -> Result<Option<Prepared>, JournalError> {
        self.outstanding -= 1;
        self.coming -= usize::from(is_file);
        made
    }

    fn died(&mut self) -> Option<Result<Option<Prepared>, JournalError>> {
        (self.outstanding, self.coming) = (0, 0);
        None
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, that was reported when it happened.
            let _ = thread.join();
        }
    }
}
