// SPDX-License-Identifier: Apache-2.0
//! The segments of one table: the finished ones, the open one, and the files made ahead for the next ones.

use std::collections::VecDeque;
use std::ffi::CString;
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{Durability, JournalError};
use crate::faults::fault;
use crate::retired::Retired;
use crate::schema::{SegmentNumbers, TableSchema};
use crate::segment::Segment;
use crate::spare::{Make, Maker, Order, Prepared, Warm, remove};

/// How long to wait before trying again after the file system was full.
const NO_ROOM_PAUSE_NS: u64 = 100_000_000;

/// Files are made ahead for what is written in this time.
const AHEAD_NS: u64 = 2_000_000_000;
/// A file is made ahead only if it takes at most this part of the file system's free space.
const FREE_PART: u64 = 4;

/// Most finished segments whose files stay open and mapped, to be reused as they are.
const WARM_MAX: usize = 256;

/// A finished segment.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) first_row: u64,
    pub(crate) end_row: u64,
    pub(crate) generation: u64,
    pub(crate) warm: Option<Warm>,
}

/// How the files of a chain are made.
#[derive(Clone, Debug)]
pub(crate) struct ChainRules {
    pub(crate) folder: PathBuf,
    pub(crate) out_stream: u64,
    pub(crate) journal_epoch: u64,
    pub(crate) segment_bytes: usize,
    pub(crate) max_bytes: u64,
    pub(crate) durability: Durability,
    /// The length of a batch's prefix and metadata.
    pub(crate) message_bytes: usize,
}

/// What happened to the files of a chain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChainCounters {
    pub(crate) made: u64,
    pub(crate) recycled: u64,
    pub(crate) dropped: u64,
    pub(crate) held: u64,
    pub(crate) no_room: u64,
    /// Rows of segments that were dropped below `max_bytes`, because the file system was full.
    pub(crate) rows_dropped_early: u64,
}

/// All segments of one table.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) schema: TableSchema,
    pub(crate) rules: ChainRules,
    pub(crate) finished: VecDeque<Finished>,
    pub(crate) open: Segment,
    pub(crate) counters: ChainCounters,
    stock: VecDeque<Prepared>,
    maker: Maker,
    next_ordinal: u64,
    next_free: u64,
    failure: Option<JournalError>,
    retry_at_ns: u64,
}

impl Chain {
    /// Begins a new segment behind those that were found.
    pub(crate) fn start(
        schema: TableSchema,
        rules: ChainRules,
        finished: VecDeque<Finished>,
        next_ordinal: u64,
        next_row: u64,
        retired: Retired,
    ) -> Result<Self, JournalError> {
        let mut next_free = 0;
        let first = Make { path: free_path(&rules.folder, &mut next_free), bytes: rules.segment_bytes };
        let numbers = numbers(&rules, next_ordinal);
        let open = Segment::begin(first.carry_out(None)?, &schema, numbers, next_row, rules.message_bytes)
            .map_err(|(error, _)| error)?;
        let maker = Maker::start(&format!("fg-{}", schema.table.name()), retired)
            .map_err(|error| JournalError::Io { path: rules.folder.clone(), error })?;
        let chain = Self {
            schema,
            rules,
            finished,
            open,
            counters: ChainCounters { made: 1, ..ChainCounters::default() },
            stock: VecDeque::new(),
            maker,
            next_ordinal: next_ordinal + 1,
            next_free,
            failure: None,
            retry_at_ns: 0,
        };
        chain.sync_folder()?;
        Ok(chain)
    }

    /// The first row that still exists.
    pub(crate) fn first_row(&self) -> u64 {
        self.finished.front().map_or(self.open.first_row, |segment| segment.first_row)
    }

    /// The length of all files of the table, including those being made.
    fn bytes(&self) -> u64 {
        let finished: u64 = self.finished.iter().map(|segment| segment.bytes).sum();
        finished + (1 + self.stock.len() + self.maker.coming()) as u64 * self.rules.segment_bytes as u64
    }

    pub(crate) fn has_spare(&mut self) -> bool {
        self.take_made();
        !self.stock.is_empty()
    }

    /// Takes the reason why no file could be made. A full file system is no such reason: making is tried again.
    pub(crate) fn take_failure(&mut self) -> Option<JournalError> {
        self.failure.take_if(|failure| !matches!(failure, JournalError::NoRoom { .. }))
    }

    /// Why there is no spare segment.
    pub(crate) fn why_no_spare(&self) -> JournalError {
        match self.failure {
            Some(JournalError::NoRoom { want_bytes }) => JournalError::NoRoom { want_bytes },
            None if self.maker.outstanding() > 0 => JournalError::SegmentComing,
            _ => JournalError::Full,
        }
    }

    /// Makes sure that a spare segment exists or is being made, and drops the oldest ones if needed. `may_drop` says
    /// whether a segment may go, by the row behind its end; `before_drop` gets the first row that stays.
    pub(crate) fn look_after(&mut self, now_ns: u64, may_drop: impl Fn(u64) -> bool, before_drop: impl Fn(u64)) {
        self.take_made();
        if now_ns < self.retry_at_ns {
            return;
        }
        if !self.stock.is_empty() || self.maker.outstanding() > 0 {
            if self.is_another_wanted(now_ns) {
                self.order();
            }
            return;
        }
        let segment_bytes = self.rules.segment_bytes as u64;
        let (mut dropped, mut is_recycled) = (Vec::new(), false);
        let mut has_room = self.failure.is_none();
        loop {
            let is_at_its_bound = self.bytes() + segment_bytes > self.rules.max_bytes;
            if has_room && !is_at_its_bound {
                break;
            }
            let Some(oldest) = self.is_in_use().then(|| self.drop_oldest(&may_drop, &before_drop)).flatten() else {
                break;
            };
            if !is_at_its_bound {
                self.counters.rows_dropped_early += oldest.end_row - oldest.first_row;
            }
            // A segment of full length becomes the spare; a shorter one only frees space.
            is_recycled = oldest.bytes == segment_bytes;
            dropped.push(oldest);
            if is_recycled {
                break;
            }
            has_room = true;
        }
        let is_made = is_recycled || self.bytes() + segment_bytes <= self.rules.max_bytes;
        let make = is_made.then(|| self.next_file());
        if make.is_some() || !dropped.is_empty() {
            self.maker.order(Order { dropped, make, is_recycled });
        }
        self.retry_at_ns = if self.failure.is_some() { now_ns + NO_ROOM_PAUSE_NS } else { 0 };
    }

    /// Whether the open segment will need a next one. A journal that is opened again and again must lose no rows for
    /// that.
    fn is_in_use(&self) -> bool {
        self.open.end_row > self.open.first_row || self.open.next > self.rules.segment_bytes / 2
    }

    /// Whether to make one more file ahead, because those that exist will soon be full at the open segment's pace. A
    /// fresh file is filled many times as fast as it is made, so a journal that starts fast needs several at once.
    fn is_another_wanted(&self, now_ns: u64) -> bool {
        let segment_bytes = self.rules.segment_bytes as u64;
        let Some(began_ns) = self.open.first_sealed_ns else { return false };
        let filled = self.open.next as u128;
        let soon = (filled * u128::from(AHEAD_NS)).checked_div(now_ns.saturating_sub(began_ns).into());
        let spares = (self.stock.len() + self.maker.coming()) as u128;
        soon.is_some_and(|bytes| bytes > spares * u128::from(segment_bytes))
            && self.failure.is_none()
            && self.bytes() + segment_bytes <= self.rules.max_bytes
            && free_bytes_in(&self.rules.folder).is_some_and(|bytes| bytes / FREE_PART >= segment_bytes)
    }

    /// Makes every segment that `max_bytes` allows.
    pub(crate) fn make_all(&mut self) -> Result<(), JournalError> {
        while self.bytes() + self.rules.segment_bytes as u64 <= self.rules.max_bytes {
            let before = self.maker.outstanding();
            self.order();
            if self.maker.outstanding() == before {
                break;
            }
        }
        while let Some(made) = self.maker.wait(Duration::from_secs(3600)) {
            self.keep(made);
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Waits for a spare segment that is being made; false if there is none.
    pub(crate) fn wait(&mut self, at_most: Duration) -> bool {
        while self.stock.is_empty()
            && let Some(made) = self.maker.wait(at_most)
        {
            self.keep(made);
        }
        !self.stock.is_empty()
    }

    /// Finishes the open segment and opens the next one; false if that one is not ready.
    pub(crate) fn next_segment(&mut self) -> Result<bool, JournalError> {
        if !self.has_spare() {
            return Ok(false);
        }
        self.finish_open()?;
        let Some(prepared) = self.stock.pop_front() else {
            return Ok(false);
        };
        let first_row = self.open.end_row;
        let numbers = numbers(&self.rules, self.next_ordinal);
        match Segment::begin(prepared, &self.schema, numbers, first_row, self.rules.message_bytes) {
            Ok(segment) => {
                let before = std::mem::replace(&mut self.open, segment);
                self.keep_warm(before);
            }
            Err((error, prepared)) => {
                self.stock.push_front(prepared);
                return Err(error);
            }
        }
        self.next_ordinal += 1;
        self.sync_folder()?;
        Ok(true)
    }

    /// Finishes the open segment, once; removes it if it has no batches.
    pub(crate) fn finish_open(&mut self) -> Result<(), JournalError> {
        if self.open.is_finished() {
            return Ok(());
        }
        if !self.open.has_batches() {
            self.open.abandon();
            return Ok(());
        }
        let (first_row, end_row, generation) = (self.open.first_row, self.open.end_row, self.open.numbers.generation);
        let (bytes, path) = self.open.finish(&self.schema, self.rules.durability)?;
        self.finished.push_back(Finished { path, bytes, first_row, end_row, generation, warm: None });
        Ok(())
    }

    /// Keeps the file of the segment that was just finished open, to be reused when it is dropped. A segment without
    /// batches was removed and is not kept.
    fn keep_warm(&mut self, segment: Segment) {
        let is_whole = |last: &&mut Finished| last.bytes == self.rules.segment_bytes as u64;
        if segment.has_batches()
            && self.finished.len() <= WARM_MAX
            && let Some(last) = self.finished.back_mut().filter(is_whole)
        {
            last.warm = Some(segment.into_warm());
        }
    }

    /// Removes files that never became segments.
    pub(crate) fn remove_spares(&mut self) {
        while let Some(made) = self.maker.wait(Duration::from_secs(3600)) {
            self.keep(made);
        }
        for prepared in std::mem::take(&mut self.stock) {
            remove(&prepared.path);
        }
    }

    /// Waits until the names of the files are on the disk, if the durability asks for it.
    pub(crate) fn sync_folder(&self) -> Result<(), JournalError> {
        if !matches!(self.rules.durability, Durability::Fsync | Durability::Checkpoint) {
            return Ok(());
        }
        let folder = &self.rules.folder;
        let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| JournalError::Io { path: folder.clone(), error })
    }

    fn take_made(&mut self) {
        while let Some(made) = self.maker.poll() {
            self.keep(made);
        }
    }

    fn keep(&mut self, made: Result<Option<Prepared>, JournalError>) {
        match made {
            Ok(None) => {}
            Ok(Some(prepared)) => {
                self.counters.held += u64::from(prepared.was_held);
                self.counters.recycled += u64::from(prepared.generation > 1);
                self.counters.made += u64::from(prepared.generation == 1);
                self.stock.push_back(prepared);
                self.failure = None;
            }
            Err(failure) => {
                self.counters.no_room += 1;
                self.failure = Some(failure);
            }
        }
    }

    /// Drops the oldest segment from the table. The newest one with batches stays, because it holds the state.
    fn drop_oldest(&mut self, may_drop: impl Fn(u64) -> bool, before_drop: impl Fn(u64)) -> Option<Finished> {
        let is_needed = self.finished.len() == 1 && !self.open.has_batches();
        let oldest = self.finished.front().filter(|oldest| !is_needed && may_drop(oldest.end_row))?;
        before_drop(oldest.end_row);
        fault!("retention.told");
        self.counters.dropped += 1;
        self.finished.pop_front()
    }

    fn next_file(&mut self) -> Make {
        Make { path: free_path(&self.rules.folder, &mut self.next_free), bytes: self.rules.segment_bytes }
    }

    /// Orders a new file.
    fn order(&mut self) {
        let make = Some(self.next_file());
        self.maker.order(Order { dropped: Vec::new(), make, is_recycled: false });
    }
}

/// The bytes that a folder's file system has free for this process.
fn free_bytes_in(folder: &Path) -> Option<u64> {
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut found = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: a zero-terminated text, and space for the answer.
    if unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded and filled it.
    let found = unsafe { found.assume_init() };
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

fn numbers(rules: &ChainRules, ordinal: u64) -> SegmentNumbers {
    SegmentNumbers { out_stream: rules.out_stream, journal_epoch: rules.journal_epoch, ordinal, generation: 0 }
}

fn free_path(folder: &Path, next_free: &mut u64) -> PathBuf {
    *next_free += 1;
    folder.join(format!("free-{next_free:08}"))
}
