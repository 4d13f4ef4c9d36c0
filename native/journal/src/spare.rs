// SPDX-License-Identifier: Apache-2.0
//! The thread that makes the next segment's file ahead of need: out of a dropped segment, whose pages are warm, or
//! fresh.

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

/// Orders that wait at most; more segments than that make no journal faster.
const ORDERS_MAX: usize = 1024;
const MODE: u32 = 0o660;

/// A file on its way to be a segment, locked against readers.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) file: File,
    pub(crate) mapping: Mapping,
    pub(crate) path: PathBuf,
    /// How often the file will have been used.
    pub(crate) generation: u64,
    /// Whether a reader still held the dropped segment that was to be used again.
    pub(crate) was_held: bool,
}

/// A finished segment's file as its writer had it, open and mapped. To map a file again costs the kernel more than to
/// copy the payloads that it holds.
#[derive(Debug)]
pub(crate) struct Warm {
    pub(crate) file: File,
    pub(crate) mapping: Mapping,
}

/// A dropped segment's file.
#[derive(Debug)]
pub(crate) struct Used {
    /// How often it was used.
    pub(crate) generation: u64,
    /// None: an earlier writer made it, or more files than that are not kept open.
    pub(crate) warm: Option<Warm>,
}

/// What is asked of the thread.
#[derive(Debug)]
pub(crate) struct Order {
    /// Segments that go, oldest first.
    pub(crate) dropped: Vec<Finished>,
    /// A file that is to be made then.
    pub(crate) make: Option<Make>,
    /// Out of the last of those that go.
    pub(crate) is_recycled: bool,
}

impl Order {
    /// Each segment is counted before it goes.
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
        // The segment has to go to make room. What it held is counted, and written with the next account.
        Err(JournalError::NoRoom { .. }) => Ok(()),
        counted => counted,
    }
}

/// Takes a file away. It may be gone already, and there is nothing to do about one that will not go.
pub(crate) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    fault!("retention.dropped");
}

/// A file that is to be made.
#[derive(Debug)]
pub(crate) struct Make {
    /// Where it shall be.
    pub(crate) path: PathBuf,
    pub(crate) bytes: usize,
}

impl Make {
    /// Takes a dropped segment's file; None where somebody took it away, and a fresh one is made.
    fn rename(&self, segment: Finished) -> Option<Used> {
        fs::rename(&segment.path, &self.path).ok()?;
        fault!("recycle.renamed");
        Some(Used { generation: segment.generation, warm: segment.warm })
    }

    /// Makes it, on whatever thread; a fresh one where nothing is used again.
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

    /// The dropped file, if no reader holds it; else it is taken out of the directory and theirs alone.
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
            // Ours: `create_new` made it a moment ago.
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

/// Gives a file all its blocks now; later a full file system would be a SIGBUS.
fn allocate(file: &File, bytes: usize) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    loop {
        // SAFETY: an open descriptor and two numbers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
            0 => return Ok(()),
            // It has done nothing, so it is simply asked again.
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// Takes the lock that keeps readers away; false when one holds it.
pub(crate) fn lock_exclusively(file: &File) -> io::Result<bool> {
    // SAFETY: an open descriptor and a number.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
}

/// Lets readers in.
pub(crate) fn unlock(file: &File) {
    // SAFETY: an open descriptor and a number. Letting go of a lock that is held does not fail.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}

/// Whether a file was to be made, and what came of the order.
type Made = (bool, Result<Option<Prepared>, JournalError>);

/// The thread and what it has yet to deliver.
#[derive(Debug)]
pub(crate) struct Maker {
    orders: Option<SyncSender<Order>>,
    made: Receiver<Made>,
    thread: Option<JoinHandle<()>>,
    outstanding: usize,
    /// Of those, the files.
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

    /// Files that are on their way.
    pub(crate) const fn coming(&self) -> usize {
        self.coming
    }

    pub(crate) fn order(&mut self, order: Order) {
        let is_file = order.make.is_some();
        let is_taken = self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok());
        self.outstanding += usize::from(is_taken);
        self.coming += usize::from(is_taken && is_file);
    }

    /// The next file, if one is ready.
    pub(crate) fn poll(&mut self) -> Option<Result<Option<Prepared>, JournalError>> {
        match (self.outstanding > 0).then(|| self.made.try_recv())? {
            Ok(made) => Some(self.delivered(made)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => self.died(),
        }
    }

    /// The next file, waiting for it.
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
            // A panic of it was reported when it happened.
            let _ = thread.join();
        }
    }
}
