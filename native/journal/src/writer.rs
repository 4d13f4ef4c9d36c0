// SPDX-License-Identifier: Apache-2.0
//! The journal's writer: takes rows, and seals them in batches.

use std::time::Duration;

use crate::batch::{Batch, empty_body_bytes};
use crate::chain::Chain;
use crate::config::{Config, Counters, Durability, JournalError, Recovered, Reserved, Sealed, WhenFull};
use crate::faults::{fault, index_of};
use crate::head::Head;
use crate::layout::{COLUMN_BYTES_MAX, HeadWord};
use crate::message::{BatchNumbers, Encoder};
use crate::opening;
use crate::row::{Cell, RowHead, Unmatched};
use crate::rows::{self, Shared};
use crate::segment::SealPoints;
use crate::unmatched::{self, UnmatchedRows};
use crate::walk::batch_crc;

/// How long unmatched rows wait at most for a seal of rows.
const UNMATCHED_WAIT_NS: u64 = 1_000_000_000;

/// How many batches without rows every segment keeps space for until the journal is closed, so that the final states
/// can be sealed even if no further segment may be opened.
pub(crate) const CLOSING_BATCHES: usize = 2;
/// How often the writer checks that its files still exist, apart from every seal.
const LOOK_NS: u64 = 500_000_000;

const ROWS_POINTS: SealPoints = SealPoints {
    metadata: index_of("seal.metadata"),
    cleared: index_of("seal.cleared"),
    prefix: index_of("seal.prefix"),
};
const UNMATCHED_POINTS: SealPoints = SealPoints {
    metadata: index_of("unmatched.metadata"),
    cleared: index_of("unmatched.cleared"),
    prefix: index_of("unmatched.prefix"),
};

/// Writes one journal, from one thread at a time.
///
/// Reserve a row, place its payloads, then commit or abandon it. A seal lets readers see what was committed.
#[derive(Debug)]
pub struct Writer {
    pub(crate) config: Config,
    pub(crate) rows: Chain,
    pub(crate) rows_encoder: Encoder,
    pub(crate) batch: Batch,
    pub(crate) unmatched: Chain,
    pub(crate) unmatched_encoder: Encoder,
    pub(crate) unmatched_rows: UnmatchedRows,
    pub(crate) head: Head,
    pub(crate) seals: u64,
    pub(crate) unmatched_next_row: u64,
    pub(crate) floor: Option<u64>,
    /// The space for one batch in an empty segment.
    pub(crate) fresh_space: usize,
    /// The space that each segment keeps for the end of the journal.
    pub(crate) closing_bytes: usize,
    pub(crate) is_closing: bool,
    /// When the writer last checked that its files exist.
    pub(crate) looked_at_ns: u64,
    pub(crate) counters: Counters,
}

impl Writer {
    /// Opens or makes a journal.
    ///
    /// # Errors
    /// As the variants of [`JournalError`] say.
    pub fn open(config: Config) -> Result<(Self, Recovered), JournalError> {
        opening::open(config)
    }

    /// Reserves a row with payloads of these lengths; 0 for an absent input.
    ///
    /// # Errors
    /// The row fits no segment, or the system failed.
    pub fn reserve(&mut self, payload_bytes: &[u32], now_ns: u64) -> Result<Reserved, JournalError> {
        assert_eq!(payload_bytes.len(), self.config.inputs.len(), "one length for each input");
        if self.batch.rows() > 0 {
            if !self.batch.has_space(payload_bytes) {
                return Ok(Reserved::SealFirst);
            }
        } else if !self.begin_batch(payload_bytes, self.batch.least_bytes(payload_bytes), now_ns)? {
            self.counters.blocked += 1;
            return Ok(Reserved::Full);
        }
        self.batch.reserve(payload_bytes, now_ns);
        Ok(Reserved::Ready)
    }

    /// The address for an input's payload, valid for the reserved bytes until the row is committed or abandoned. Prefer
    /// `copy_payload`: what is written here must be read once more for its CRC.
    #[must_use]
    pub fn place(&mut self, input: usize) -> *mut u8 {
        self.batch.place(input, self.rows.open.mapping.start())
    }

    /// Copies an input's payload, and takes its CRC from the same bytes.
    ///
    /// # Safety
    /// `source` must be valid for `bytes` bytes, at most as many as were reserved. If another process writes there
    /// meanwhile, the row must be abandoned.
    pub unsafe fn copy_payload(&mut self, input: usize, source: *const u8, bytes: usize) {
        // SAFETY: the caller vouches for the source, and the segment is the open one.
        unsafe { self.batch.copy_payload(input, source, bytes, self.rows.open.mapping.start()) };
        fault!("row.copied");
    }

    /// Sets an input's cell in the reserved row. An input without a cell was not joined.
    pub fn cell(&mut self, input: usize, cell: &Cell<'_>) {
        self.batch.cell(input, cell);
    }

    /// Adds the reserved row to the open batch.
    pub fn commit_row(&mut self, head: &RowHead) {
        self.batch.commit_row(head, self.rows.open.mapping.start());
        fault!("row.committed");
    }

    /// Drops the reserved row.
    pub fn abandon_row(&mut self) {
        self.batch.abandon_row();
    }

    /// Whether something waits to be sealed that is old or large enough.
    #[must_use]
    pub fn is_seal_due(&self, now_ns: u64) -> bool {
        let batch = &self.batch;
        let is_old = |first_ns: u64, wait_ns: u64| now_ns.saturating_sub(first_ns) >= wait_ns;
        batch.is_full()
            || self.unmatched_rows.is_full()
            || batch.rows() > 0
                && (batch.payload_bytes >= self.config.seal_bytes || is_old(batch.first_row_ns, self.config.seal_ns))
            || self.unmatched_rows.first_ns().is_some_and(|first_ns| is_old(first_ns, UNMATCHED_WAIT_NS))
    }

    /// How long the rows of the open batch still wait for more of them; None if there are none.
    #[must_use]
    pub fn seals_in_ns(&self, now_ns: u64) -> Option<u64> {
        let waited_ns = now_ns.saturating_sub(self.batch.first_row_ns);
        (self.batch.rows() > 0).then(|| self.config.seal_ns.saturating_sub(waited_ns))
    }

    /// Takes an unmatched row; false if no more fit before the next seal or spill.
    pub fn unmatched(&mut self, row: &Unmatched<'_>, now_ns: u64) -> bool {
        assert!(row.input < self.config.inputs.len(), "no such input");
        self.unmatched_rows.push(row, now_ns)
    }

    /// Seals the unmatched rows, then the rows and the state. A batch may have no rows.
    ///
    /// # Errors
    /// Nothing has changed, and the caller may try again.
    pub fn seal(&mut self, now_ns: u64, write_state: impl FnOnce(&mut Vec<u8>)) -> Result<Sealed, JournalError> {
        assert!(!self.batch.is_reserved(), "a row is neither committed nor abandoned");
        self.look(now_ns)?;
        let capacity = self.config.state_capacity;
        self.rows_encoder.set_state(write_state).map_err(|want_bytes| {
            let is_text = want_bytes > capacity;
            let not_text = || JournalError::Config("the state is not UTF-8".into());
            if is_text { JournalError::StateTooLong { want_bytes, capacity } } else { not_text() }
        })?;
        if self.batch.rows() == 0 && !self.begin_empty_batch(now_ns)? {
            self.counters.blocked += 1;
            return Err(self.why_full());
        }
        let unmatched_rows = self.seal_unmatched(now_ns)?;
        let (first_row, rows) = (self.rows.open.end_row, self.batch.rows());
        self.seal_rows(now_ns)?;
        Ok(Sealed { seal: self.seals, first_row, rows, unmatched_rows })
    }

    fn seal_rows(&mut self, now_ns: u64) -> Result<(), JournalError> {
        let (segment, encoder, batch) = (&mut self.rows.open, &mut self.rows_encoder, &mut self.batch);
        let (config, limit) = (&self.config, segment.limit(0, 0));
        let (first_row, generation) = (segment.end_row, segment.numbers.generation);
        let shared = Shared { first_row, out_stream: config.out_stream, journal_epoch: config.journal_epoch };
        let written = rows::write(batch, &shared, &mut segment.mapping.content_mut()[batch.body..limit], encoder);
        fault!("seal.columns");
        let rows = batch.rows();
        let sealed_at_ns = now_ns.saturating_add_signed(config.realtime_offset_ns);
        let mut numbers = BatchNumbers { first_row, rows, generation, seal: self.seals + 1, sealed_at_ns, crc: 0 };
        numbers.crc = batch_crc(written.crc, encoder.state(), &numbers);
        segment.seal(encoder, &numbers, written.body_bytes, config.durability, &ROWS_POINTS)?;
        segment.first_sealed_ns.get_or_insert(now_ns);
        self.seals += 1;
        self.counters.rows += u64::from(rows);
        self.counters.bytes += batch.payload_bytes;
        self.counters.seals += 1;
        self.counters.slack_bytes += (written.body_bytes - written.used_bytes) as u64;
        batch.restart();
        self.tell_sealed();
        fault!("seal.head");
        Ok(())
    }

    /// Seals the waiting unmatched rows ahead of the next seal of rows, which will account for them. Needed where a
    /// state counts more unmatched rows than can wait at once.
    ///
    /// # Errors
    /// As `seal`.
    pub fn spill_unmatched(&mut self, now_ns: u64) -> Result<(), JournalError> {
        self.seal_unmatched(now_ns).map(drop)
    }

    fn seal_unmatched(&mut self, now_ns: u64) -> Result<u32, JournalError> {
        let rows = self.unmatched_rows.rows();
        if rows == 0 {
            return Ok(0);
        }
        let need = self.unmatched_encoder.message_bytes() + self.unmatched_rows.bytes_max(&self.config.inputs);
        if self.unmatched.open.next + need > self.unmatched.open.limit(0, 0) {
            // No reader holds back this table, so its oldest rows may go.
            self.unmatched.look_after(now_ns, |_| true, |_| {});
            if !self.unmatched.next_segment()? {
                return Err(self.unmatched.take_failure().unwrap_or_else(|| self.unmatched.why_no_spare()));
            }
        }
        let (segment, encoder) = (&mut self.unmatched.open, &mut self.unmatched_encoder);
        let seal = self.seals + 1;
        // It fits: the capacity allows for the longest number.
        let _ = encoder.set_state(|state| unmatched::write_state(state, seal));
        let (body, limit) = (segment.next + encoder.message_bytes(), segment.limit(0, 0));
        let content = &mut segment.mapping.content_mut()[body..limit];
        let written = self.unmatched_rows.write(&self.config.inputs, content, encoder);
        fault!("unmatched.columns");
        let mut numbers = BatchNumbers {
            first_row: self.unmatched_next_row,
            rows,
            generation: segment.numbers.generation,
            seal,
            sealed_at_ns: now_ns.saturating_add_signed(self.config.realtime_offset_ns),
            crc: 0,
        };
        numbers.crc = batch_crc(written.crc, encoder.state(), &numbers);
        segment.seal(encoder, &numbers, written.body_bytes, self.config.durability, &UNMATCHED_POINTS)?;
        self.unmatched_next_row += u64::from(rows);
        self.counters.unmatched_rows += u64::from(rows);
        self.unmatched_rows.clear();
        fault!("unmatched.sealed");
        Ok(rows)
    }

    /// Sets the smallest committed row of all living named readers.
    pub fn set_floor(&mut self, floor: Option<u64>) {
        self.floor = floor;
    }

    /// Says that the writer is alive, looks after the next segment, and ends an old one. Call it at least every 100 ms.
    ///
    /// # Errors
    /// The system failed on a file.
    pub fn heartbeat(&mut self, now_ns: u64) -> Result<(), JournalError> {
        self.head.set(HeadWord::HeartbeatNs, now_ns);
        if now_ns.saturating_sub(self.looked_at_ns) >= LOOK_NS {
            self.look(now_ns)?;
        }
        self.look_after(now_ns);
        if self.batch.rows() == 0 && !self.batch.is_reserved() && self.is_segment_old(now_ns) {
            self.next_segment(now_ns)?;
        }
        Ok(())
    }

    /// Why `reserve` found no segment.
    #[must_use]
    pub fn why_full(&self) -> JournalError {
        self.rows.why_no_spare()
    }

    /// Waits until the next segment is ready, for callers with nothing else to do; false if it is not.
    pub fn wait_for_segment(&mut self, now_ns: u64, at_most: Duration) -> bool {
        self.look_after(now_ns);
        self.rows.wait(at_most) && self.unmatched.wait(at_most)
    }

    /// Waits until everything sealed so far is on the disk.
    ///
    /// # Errors
    /// The system failed.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.unmatched.open.sync()?;
        self.rows.open.sync()
    }

    /// Lets a seal use the space that every segment keeps for the end. Only `close` may follow.
    pub const fn begin_close(&mut self) {
        self.is_closing = true;
    }

    /// Seals what is open, finishes the open segments, and marks the journal as closed.
    ///
    /// # Errors
    /// As for `seal`. Then nothing was closed, and the next writer recovers.
    pub fn close(mut self, now_ns: u64, write_state: impl FnOnce(&mut Vec<u8>)) -> Result<Counters, JournalError> {
        self.begin_close();
        if self.unmatched_rows.rows() > 0 {
            self.unmatched.look_after(now_ns, |_| true, |_| {});
            self.unmatched.wait(Duration::from_secs(1));
        }
        self.seal(now_ns, write_state)?;
        fault!("close.sealed");
        self.unmatched.finish_open()?;
        self.rows.finish_open()?;
        fault!("close.finished");
        self.rows.remove_spares();
        self.unmatched.remove_spares();
        self.rows.sync_folder()?;
        self.head.closed();
        if matches!(self.config.durability, Durability::Fsync | Durability::Checkpoint) {
            let synced = self.head.sync();
            synced.map_err(|error| JournalError::Io { path: self.config.dir.join("journal.head"), error })?;
        }
        Ok(self.counters())
    }

    /// What happened since the writer opened.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let files = &self.rows.counters;
        Counters {
            segments_made: files.made,
            segments_recycled: files.recycled,
            segments_dropped: files.dropped,
            segments_held: files.held,
            no_room: files.no_room + self.unmatched.counters.no_room,
            rows_dropped_early: files.rows_dropped_early,
            first_row: self.rows.first_row(),
            next_row: self.rows.open.end_row,
            ..self.counters
        }
    }

    /// How many rows the open batch has.
    #[must_use]
    pub fn unsealed_rows(&self) -> u32 {
        self.batch.rows()
    }

    /// How many rows are sealed, which is the number of the first unsealed one.
    #[must_use]
    pub fn sealed_rows(&self) -> u64 {
        self.rows.open.end_row
    }

    /// The number of the next row to be committed.
    #[must_use]
    pub fn next_row(&self) -> u64 {
        self.rows.open.end_row + u64::from(self.batch.rows())
    }

    /// Lays out an empty batch for a row of these payloads, whose body has at least `body_bytes`; false if there is no
    /// segment for it yet.
    fn begin_batch(&mut self, payload_bytes: &[u32], body_bytes: usize, now_ns: u64) -> Result<bool, JournalError> {
        let message_bytes = self.rows_encoder.message_bytes();
        let need = message_bytes + body_bytes;
        if need > self.fresh_space || payload_bytes.iter().any(|bytes| *bytes as usize > COLUMN_BYTES_MAX) {
            let segment_bytes = self.config.segment_bytes;
            return Err(JournalError::RowTooLarge { want_bytes: need as u64, segment_bytes });
        }
        let has_room = self.rows.open.next + need <= self.limit();
        // An old segment is still used if there is no next one yet; a full one cannot be.
        let is_over = !has_room || self.is_segment_old(now_ns);
        let has_next = is_over && self.next_segment(now_ns)?;
        if !has_room && !has_next {
            return Ok(false);
        }
        let body = self.rows.open.next + message_bytes;
        self.batch.lay_out(payload_bytes, body, self.limit() - body, now_ns);
        Ok(true)
    }

    /// The offset in the open segment that a batch of rows must not exceed.
    fn limit(&self) -> usize {
        let kept_bytes = if self.is_closing { 0 } else { self.closing_bytes };
        self.rows.open.limit(if self.is_closing { 0 } else { CLOSING_BATCHES }, kept_bytes)
    }

    /// Fails if somebody deleted or replaced the journal: then nothing at its path is this writer's.
    fn look(&mut self, now_ns: u64) -> Result<(), JournalError> {
        self.looked_at_ns = now_ns;
        if self.head.is_there() && self.rows.open.is_there() {
            return Ok(());
        }
        Err(JournalError::Gone { path: self.config.dir.clone() })
    }

    fn begin_empty_batch(&mut self, now_ns: u64) -> Result<bool, JournalError> {
        // A constant, because every seal needs it.
        const NOTHING: [u32; crate::INPUTS_MAX] = [0; crate::INPUTS_MAX];
        let inputs = self.config.inputs.len();
        self.begin_batch(&NOTHING[..inputs], empty_body_bytes(inputs), now_ns)
    }

    fn is_segment_old(&self, now_ns: u64) -> bool {
        let first_ns = self.rows.open.first_sealed_ns;
        first_ns.is_some_and(|first_ns| now_ns.saturating_sub(first_ns) >= self.config.segment_ns)
    }

    fn next_segment(&mut self, now_ns: u64) -> Result<bool, JournalError> {
        self.look(now_ns)?;
        if !self.rows.has_spare() {
            self.look_after(now_ns);
            if let Some(failure) = self.rows.take_failure() {
                return Err(failure);
            }
        }
        let has_next = self.rows.next_segment()?;
        if has_next {
            self.tell_sealed();
            self.look_after(now_ns);
        }
        Ok(has_next)
    }

    fn look_after(&mut self, now_ns: u64) {
        let (head, floor, when_full) = (&self.head, self.floor, self.config.when_full);
        let may_drop = |end_row: u64| match (when_full, floor) {
            (WhenFull::Block, Some(floor)) => end_row <= floor,
            // Without a named reader, the journal keeps what fits.
            _ => true,
        };
        self.rows.look_after(now_ns, may_drop, |first_row| head.set(HeadWord::FirstRow, first_row));
        self.unmatched.look_after(now_ns, |_| true, |_| {});
    }

    /// Updates the head. The next row comes last, because readers read it first.
    pub(crate) fn tell_sealed(&self) {
        let (head, open) = (&self.head, &self.rows.open);
        head.set(HeadWord::OpenOrdinal, open.numbers.ordinal);
        head.set(HeadWord::OpenFirstRow, open.first_row);
        head.set(HeadWord::OpenSealedBytes, open.next as u64);
        head.set(HeadWord::OpenGeneration, open.numbers.generation);
        head.set(HeadWord::FirstRow, self.rows.first_row());
        head.set(HeadWord::Seals, self.seals);
        head.set(HeadWord::UnmatchedRows, self.unmatched_next_row);
        head.set(HeadWord::NextRow, open.end_row);
    }
}
