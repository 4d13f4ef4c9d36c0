// SPDX-License-Identifier: Apache-2.0
//! The open batch. Payloads lie in the segment, in one region for each input; everything else lies beside it until the
//! seal.
//!
//! The number of rows to lay out is learnt. A batch that was full raises it to the rows that come before a batch is due
//! by age; a batch sealed by age lowers it to the rows that came. Space that was laid out and not used stays empty in
//! the file. So there is a credit, which grows with what is written, and no batch is laid out that could leave more
//! than the credit empty.

use crate::cell_columns::BUFFERS_PER_INPUT;
use crate::config::Config;
use crate::copy;
use crate::crc::{self, Joiner};
use crate::head_columns::HEAD_COLUMNS;
use crate::layout::{ALIGNMENT, COLUMN_BYTES_MAX, DIMS_MAX, DTYPE_NAME_BYTES, DTYPE_NAMES, aligned};
use crate::row::{Cell, RowHead, Status};

/// The number of rows in the first layout.
const FIRST_ROWS: u32 = 4;

/// One part in so many of the written bytes may be left empty.
const CREDIT_PART: usize = 16;

/// One input's cell in a row that waits for the seal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellRow {
    pub(crate) status: Status,
    dtype: u8,
    ndims: u8,
    has_timestamp: bool,
    pub(crate) bytes: u32,
    dims: [i32; DIMS_MAX],
    seq: i64,
    timestamp_ns: i64,
    epoch: i64,
    trace_id: i64,
}

impl CellRow {
    fn is_present(&self) -> bool {
        self.status == Status::Present
    }

    fn present<T>(&self, value: T) -> Option<T> {
        self.is_present().then_some(value)
    }

    pub(crate) fn seq(&self) -> Option<i64> {
        self.present(self.seq)
    }

    pub(crate) fn timestamp_ns(&self) -> Option<i64> {
        self.present(self.timestamp_ns).filter(|_| self.has_timestamp)
    }

    pub(crate) fn epoch(&self) -> Option<i64> {
        self.present(self.epoch)
    }

    pub(crate) fn trace_id(&self) -> Option<i64> {
        self.present(self.trace_id)
    }

    pub(crate) fn dtype(&self) -> Option<&'static str> {
        self.present(DTYPE_NAMES[usize::from(self.dtype)])
    }

    pub(crate) fn shape(&self) -> Option<&[i32]> {
        self.present(&self.dims[..usize::from(self.ndims)])
    }

    pub(crate) fn payload(&self) -> Option<u32> {
        self.present(self.bytes)
    }
}

/// The region of an input's payloads, and what lies there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Region {
    /// Its offset in the body.
    pub(crate) start: usize,
    capacity: usize,
    used: usize,
    pub(crate) crc: u32,
    pub(crate) joiner: Joiner,
    /// Payload bytes in a row, as last learnt.
    bytes_per_row: usize,
    /// Payload bytes of the reserved row.
    reserved: u32,
    copied_crc: Option<u32>,
}

/// The open batch of the table of rows.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) regions: Vec<Region>,
    cells: Vec<CellRow>,
    heads: Vec<RowHead>,
    rows: u32,
    seal_rows: u32,
    seal_bytes: usize,
    last: Last,
    /// Most rows of this layout.
    rows_max: u32,
    /// The body's offset in the segment.
    pub(crate) body: usize,
    pub(crate) payload_bytes: u64,
    pub(crate) first_row_ns: u64,
    is_reserved: bool,
    was_filled: bool,
    seal_ns: u64,
    /// How many bytes the next layouts may leave empty.
    credit: usize,
    credit_max: usize,
}

impl Batch {
    pub(crate) fn new(config: &Config) -> Self {
        let inputs = config.inputs.len();
        let credit_max = usize::try_from(config.segment_bytes).unwrap_or(usize::MAX) / CREDIT_PART;
        Self {
            regions: vec![Region::default(); inputs],
            cells: vec![CellRow::default(); inputs * config.seal_rows as usize],
            heads: vec![RowHead::default(); config.seal_rows as usize],
            rows: 0,
            seal_rows: config.seal_rows,
            seal_bytes: usize::try_from(config.seal_bytes).unwrap_or(usize::MAX),
            last: Last { rows: FIRST_ROWS, first_row_ns: 0, was_full: false },
            rows_max: 0,
            body: 0,
            payload_bytes: 0,
            first_row_ns: 0,
            is_reserved: false,
            was_filled: false,
            seal_ns: config.seal_ns,
            credit: credit_max / 4,
            credit_max,
        }
    }

    pub(crate) const fn rows(&self) -> u32 {
        self.rows
    }

    pub(crate) const fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// Whether no more row fits this layout.
    pub(crate) const fn is_full(&self) -> bool {
        self.rows > 0 && self.rows >= self.rows_max
    }

    pub(crate) fn heads(&self) -> &[RowHead] {
        &self.heads[..self.rows as usize]
    }

    pub(crate) fn cells(&self, input: usize) -> &[CellRow] {
        let start = input * self.seal_rows as usize;
        &self.cells[start..start + self.rows as usize]
    }

    /// An upper bound for a body with one row of these payloads.
    pub(crate) fn least_bytes(&self, payload_bytes: &[u32]) -> usize {
        let payloads: usize = payload_bytes.iter().map(|bytes| aligned(*bytes as usize)).sum();
        payloads + fixed_bytes_max(self.regions.len(), 1)
    }

    /// Lays out an empty batch, at least for one row of these payloads. `space` is how long its body may be.
    pub(crate) fn lay_out(&mut self, payload_bytes: &[u32], body: usize, space: usize, now_ns: u64) {
        self.body = body;
        self.was_filled = false;
        let expected = self.last.rows_in_time(now_ns, self.seal_ns).max(1);
        let mut rows = expected.min(self.seal_rows).min(self.rows_by_credit(payload_bytes));
        while rows > 1 && !self.fits(payload_bytes, rows, space) {
            rows /= 2;
        }
        self.rows_max = rows;
        let mut at = 0;
        for (region, bytes) in self.regions.iter_mut().zip(payload_bytes) {
            (region.start, region.used, region.crc) = (at, 0, 0);
            region.capacity = region.wanted(*bytes as usize, rows);
            at += aligned(region.capacity);
        }
    }

    /// The most rows for which the credit is enough even if only one of them comes. The final region is left out,
    /// because the fixed columns begin where it ends.
    fn rows_by_credit(&self, payload_bytes: &[u32]) -> u32 {
        let row = |(region, bytes): (&Region, &u32)| region.bytes_per_row.max(*bytes as usize);
        let empty_by_row: usize = self.regions.iter().zip(payload_bytes).rev().skip(1).map(row).sum();
        let rows = self.credit.checked_div(empty_by_row).unwrap_or(usize::MAX);
        u32::try_from(rows.saturating_add(1)).unwrap_or(u32::MAX)
    }

    /// How many bytes were laid out before the final payload and not used.
    fn empty_bytes(&self) -> usize {
        let is_empty = |region: &&Region| region.used == 0;
        let before_last = self.regions.iter().rev().skip_while(is_empty).skip(1);
        before_last.map(|region| aligned(region.capacity) - aligned(region.used)).sum()
    }

    fn fits(&self, payload_bytes: &[u32], rows: u32, space: usize) -> bool {
        let wanted = self.regions.iter().zip(payload_bytes).map(|(region, bytes)| region.wanted(*bytes as usize, rows));
        let payloads: usize = wanted.map(aligned).sum();
        payloads <= self.seal_bytes && payloads + fixed_bytes_max(self.regions.len(), rows as usize) <= space
    }

    /// Whether a row of these payloads fits behind those in the batch.
    pub(crate) fn has_space(&mut self, payload_bytes: &[u32]) -> bool {
        let mut has_space = self.rows < self.rows_max;
        for (region, bytes) in self.regions.iter_mut().zip(payload_bytes) {
            if region.used + *bytes as usize > region.capacity {
                has_space = false;
                // Sizes vary: the next layout needs more than was seen so far.
                region.bytes_per_row = (region.bytes_per_row * 5 / 4).max(*bytes as usize);
            }
        }
        self.was_filled |= !has_space;
        has_space
    }

    pub(crate) fn reserve(&mut self, payload_bytes: &[u32], now_ns: u64) {
        debug_assert!(!self.is_reserved, "the last row was neither committed nor abandoned");
        self.is_reserved = true;
        if self.rows == 0 {
            self.first_row_ns = now_ns;
        }
        let row = self.rows as usize;
        for (input, (region, bytes)) in self.regions.iter_mut().zip(payload_bytes).enumerate() {
            region.reserved = *bytes;
            region.copied_crc = None;
            self.cells[input * self.seal_rows as usize + row].status = Status::NotJoined;
        }
    }

    /// The address for an input's payload, in the segment that begins at `segment`.
    pub(crate) fn place(&self, input: usize, segment: *mut u8) -> *mut u8 {
        assert!(self.is_reserved, "nothing was reserved");
        let region = &self.regions[input];
        // SAFETY: the layout put the region with its whole capacity inside the segment.
        unsafe { segment.add(self.body + region.start + region.used) }
    }

    /// # Safety
    /// `source` must be valid for `bytes` bytes, and `segment` be the open segment.
    pub(crate) unsafe fn copy_payload(&mut self, input: usize, source: *const u8, bytes: usize, segment: *mut u8) {
        assert!(bytes <= self.regions[input].reserved as usize, "more than was reserved");
        let target = self.place(input, segment);
        let region = &mut self.regions[input];
        // SAFETY: the caller vouches for the source; the target has `reserved` bytes left, by `has_space`.
        region.copied_crc = Some(unsafe { copy::copy_with_crc(source, target, bytes, region.crc) });
    }

    pub(crate) fn cell(&mut self, input: usize, cell: &Cell<'_>) {
        debug_assert!(self.is_reserved, "nothing was reserved");
        let is_present = cell.status == Status::Present;
        assert!(!is_present || cell.bytes <= self.regions[input].reserved, "more than was reserved");
        let place = &mut self.cells[input * self.seal_rows as usize + self.rows as usize];
        place.status = cell.status;
        if !is_present {
            return;
        }
        let signed = |value: u64| {
            debug_assert!(i64::try_from(value).is_ok(), "{value} does not fit an int64 column");
            value as i64
        };
        place.bytes = cell.bytes;
        place.dtype = u8::try_from(cell.dtype).ok().filter(|code| usize::from(*code) < DTYPE_NAMES.len()).unwrap_or(0);
        let ndims = cell.dims.len().min(DIMS_MAX);
        place.ndims = ndims as u8;
        place.dims[..ndims].copy_from_slice(&cell.dims[..ndims]);
        place.seq = signed(cell.seq);
        place.has_timestamp = cell.timestamp_ns.is_some();
        place.timestamp_ns = signed(cell.timestamp_ns.unwrap_or(0));
        place.epoch = signed(cell.epoch);
        // A trace id is any 64 bits, so the cast is lossless.
        place.trace_id = cell.trace_id as i64;
    }

    pub(crate) fn commit_row(&mut self, head: &RowHead, segment: *mut u8) {
        assert!(self.is_reserved, "nothing was reserved");
        let row = self.rows as usize;
        for input in 0..self.regions.len() {
            let cell = self.cells[input * self.seal_rows as usize + row];
            if !cell.is_present() {
                continue;
            }
            let place = self.place(input, segment);
            let region = &mut self.regions[input];
            region.crc = region.copied_crc.unwrap_or_else(|| {
                // SAFETY: `cell.bytes` is at most what was reserved, which lies inside the region.
                crc::extend(region.crc, unsafe { std::slice::from_raw_parts(place, cell.bytes as usize) })
            });
            region.used += cell.bytes as usize;
            self.payload_bytes += u64::from(cell.bytes);
        }
        self.heads[row] = *head;
        self.rows += 1;
        self.is_reserved = false;
    }

    pub(crate) fn abandon_row(&mut self) {
        self.is_reserved = false;
    }

    /// Where the fixed columns begin in the body: behind the final payload.
    pub(crate) fn fixed_start(&self) -> usize {
        self.regions.iter().filter(|region| region.used > 0).map(|region| region.start + region.used).max().unwrap_or(0)
    }

    /// Empties the batch after its seal, and learns from it.
    pub(crate) fn restart(&mut self) {
        let rows = self.rows;
        let earned = usize::try_from(self.payload_bytes).unwrap_or(usize::MAX) / CREDIT_PART;
        self.credit = (self.credit + earned).saturating_sub(self.empty_bytes()).min(self.credit_max);
        for region in &mut self.regions {
            region.learn(rows as usize, self.was_filled);
            (region.used, region.crc) = (0, 0);
        }
        if rows > 0 {
            self.last =
                Last { rows, first_row_ns: self.first_row_ns, was_full: rows >= self.rows_max || self.was_filled };
        }
        (self.rows, self.payload_bytes, self.rows_max) = (0, 0, 0);
    }
}

/// The previous batch that had rows.
#[derive(Clone, Copy, Debug)]
struct Last {
    rows: u32,
    first_row_ns: u64,
    was_full: bool,
}

impl Last {
    /// How many rows come before a batch is due by age, at the pace since the first row of this one. It is slightly
    /// less, so that the next batch fills just before it is due, and at most twice as many as now.
    fn rows_in_time(&self, now_ns: u64, seal_ns: u64) -> u32 {
        if !self.was_full {
            return self.rows;
        }
        let period_ns = u128::from(now_ns.saturating_sub(self.first_row_ns));
        let in_time = (u128::from(self.rows) * u128::from(seal_ns) * 7 / 8).checked_div(period_ns);
        let most = self.rows.saturating_mul(2);
        in_time.map_or(most, |rows| u32::try_from(rows).unwrap_or(most).min(most))
    }
}

impl Region {
    /// Learns how many bytes a row takes, from the batch that was just sealed.
    fn learn(&mut self, rows: usize, was_filled: bool) {
        let Some(average) = self.used.checked_div(rows) else { return };
        let is_even = average * rows == self.used;
        self.bytes_per_row = match (self.used, is_even || !was_filled) {
            // The input was absent. It is forgotten slowly, because the inputs of a union take turns.
            (0, _) => self.bytes_per_row * 7 / 8,
            (_, true) => average + usize::from(!is_even),
            (_, false) => self.bytes_per_row.max(average + 1),
        };
    }

    fn wanted(&self, bytes: usize, rows: u32) -> usize {
        // A single row gets exactly what it needs.
        let learnt = if rows > 1 { self.bytes_per_row.max(bytes).saturating_mul(rows as usize) } else { bytes };
        learnt.min(COLUMN_BYTES_MAX).max(bytes)
    }
}

/// The size of a body without rows: one offset for each text, list and payload.
pub(crate) const fn empty_body_bytes(inputs: usize) -> usize {
    inputs * 4 * ALIGNMENT
}

/// An upper bound for the fixed columns of this many rows.
pub(crate) const fn fixed_bytes_max(inputs: usize, rows: usize) -> usize {
    let buffers = HEAD_COLUMNS.len() * 2 + inputs * BUFFERS_PER_INPUT;
    // Head: ten integers and two bits. Input: status, four integers, dtype, shape, payload offset and seven bits.
    let head_row = HEAD_COLUMNS.len() * 8 + 2;
    let input_row = (4 + 10) + 4 * 8 + (4 + DTYPE_NAME_BYTES) + (4 + 4 * DIMS_MAX) + 4 + 7;
    // Each buffer is rounded up, and offsets have one entry more than rows.
    buffers * (ALIGNMENT + 8) + rows * (head_row + inputs * input_row)
}
