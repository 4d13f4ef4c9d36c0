// SPDX-License-Identifier: Apache-2.0
//! Writes the fixed columns of a batch into its body, one after the other, with their nodes, buffers and CRC.

use arrow_ipc::{Buffer, FieldNode};

use crate::crc::{self, Joiner};
use crate::layout::{ALIGNMENT, aligned};
use crate::message::Encoder;

/// Writes columns in the order of the schema, all rows of a column at once.
pub(crate) struct Columns<'a> {
    body: &'a mut [u8],
    at: usize,
    rows: usize,
    crc: u32,
    used_bytes: usize,
    nodes: &'a mut Vec<FieldNode>,
    buffers: &'a mut Vec<Buffer>,
}

/// What was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// The length of the body, a multiple of the alignment.
    pub(crate) body_bytes: usize,
    /// The CRC over all buffers.
    pub(crate) crc: u32,
    /// How many bytes the buffers hold.
    pub(crate) used_bytes: usize,
}

impl<'a> Columns<'a> {
    /// Begins the columns of `rows` rows at byte `at` of `body`.
    pub(crate) fn new(body: &'a mut [u8], at: usize, rows: usize, encoder: &'a mut Encoder) -> Self {
        encoder.nodes.clear();
        encoder.buffers.clear();
        let (nodes, buffers) = (&mut encoder.nodes, &mut encoder.buffers);
        Self { body, at: aligned(at), rows, crc: 0, used_bytes: 0, nodes, buffers }
    }

    pub(crate) fn finish(self) -> Written {
        Written { body_bytes: aligned(self.at), crc: self.crc, used_bytes: self.used_bytes }
    }

    fn node(&mut self, length: usize, nulls: usize) {
        self.nodes.push(FieldNode::new(length as i64, nulls as i64));
    }

    fn empty_buffer(&mut self) {
        self.buffers.push(Buffer::new(self.at as i64, 0));
    }

    /// Adds the next buffer, which `fill` fills.
    fn buffer(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) {
        let start = self.at;
        let target = &mut self.body[start..start + bytes];
        fill(target);
        self.crc = crc::extend(self.crc, target);
        self.used_bytes += bytes;
        self.buffers.push(Buffer::new(start as i64, bytes as i64));
        self.at = aligned(start + bytes);
    }

    /// Adds the node of a column and its validity buffer, which stays empty if nothing is null.
    fn validity(&mut self, is_valid: impl Fn(usize) -> bool) {
        let (rows, nulls) = (self.rows, (0..self.rows).filter(|row| !is_valid(*row)).count());
        self.node(rows, nulls);
        if nulls == 0 {
            return self.empty_buffer();
        }
        self.buffer(rows.div_ceil(8), |target| {
            target.fill(0);
            for row in (0..rows).filter(|row| is_valid(*row)) {
                target[row / 8] |= 1 << (row % 8);
            }
        });
    }

    /// Adds a column of 64-bit integers; None is null.
    pub(crate) fn int64(&mut self, value: impl Fn(usize) -> Option<i64>) {
        self.validity(|row| value(row).is_some());
        self.buffer(self.rows * 8, |target| {
            for (row, place) in target.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                *place = value(row).unwrap_or_default().to_le_bytes();
            }
        });
    }

    /// Adds a column of short texts; None is null.
    pub(crate) fn text<'t>(&mut self, value: impl Fn(usize) -> Option<&'t str>) {
        self.validity(|row| value(row).is_some());
        let bytes = self.offsets(|row| value(row).map_or(0, str::len));
        let rows = self.rows;
        self.buffer(bytes, |target| {
            let mut at = 0;
            for text in (0..rows).filter_map(&value) {
                target[at..at + text.len()].copy_from_slice(text.as_bytes());
                at += text.len();
            }
        });
    }

    /// Adds a column of lists of 32-bit integers; None is null.
    pub(crate) fn list<'t>(&mut self, value: impl Fn(usize) -> Option<&'t [i32]>) {
        self.validity(|row| value(row).is_some());
        let count = self.offsets(|row| value(row).map_or(0, <[i32]>::len));
        self.node(count, 0);
        self.empty_buffer();
        let rows = self.rows;
        self.buffer(count * 4, |target| {
            let elements = (0..rows).filter_map(&value).flatten();
            for (place, element) in target.as_chunks_mut::<4>().0.iter_mut().zip(elements) {
                *place = element.to_le_bytes();
            }
        });
    }

    /// Adds a column of payloads that already lie in the body at `start`, with their CRC.
    pub(crate) fn payload(
        &mut self,
        value: impl Fn(usize) -> Option<u32>,
        start: usize,
        crc: u32,
        joiner: &mut Joiner,
    ) {
        debug_assert!(start.is_multiple_of(ALIGNMENT));
        self.validity(|row| value(row).is_some());
        let bytes = self.offsets(|row| value(row).unwrap_or(0) as usize);
        self.crc = joiner.join(self.crc, crc, bytes as u64);
        self.used_bytes += bytes;
        // The region may lie behind the body's end if it is empty.
        self.buffers.push(Buffer::new(if bytes == 0 { self.at } else { start } as i64, bytes as i64));
    }

    /// Adds the node and the empty validity buffer of a struct.
    pub(crate) fn structure(&mut self) {
        self.node(self.rows, 0);
        self.empty_buffer();
    }

    /// Adds one offset more than there are rows; returns the final offset.
    fn offsets(&mut self, length: impl Fn(usize) -> usize) -> usize {
        let (rows, mut end) = (self.rows, 0);
        self.buffer((rows + 1) * 4, |target| {
            for (row, place) in target.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *place = (end as u32).to_le_bytes();
                end += if row < rows { length(row) } else { 0 };
            }
        });
        end
    }
}
