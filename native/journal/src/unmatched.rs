// SPDX-License-Identifier: Apache-2.0
//! The table of frames that were not joined. Its rows wait here for the seal that accounts for them.

use std::io::Write as _;

use crate::columns::{Columns, Written};
use crate::layout::{CAUSE_BYTES, UNMATCHED_ROWS_MAX};
use crate::message::Encoder;
use crate::row::Unmatched;
use crate::schema::UNMATCHED_BUFFERS;

/// The length of the state `{"seal":K}`, padded.
pub(crate) const STATE_BYTES: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Waiting {
    input: u32,
    stream: u32,
    epoch: i64,
    seq: i64,
    seq_last: i64,
    timestamp_ns: Option<i64>,
    out_seq: Option<i64>,
    at_ns: i64,
    cause: [u8; CAUSE_BYTES],
    cause_bytes: u8,
}

/// The rows that wait for a seal.
#[derive(Debug)]
pub(crate) struct UnmatchedRows {
    waiting: Vec<Waiting>,
    first_ns: u64,
}

impl UnmatchedRows {
    pub(crate) fn new() -> Self {
        Self { waiting: Vec::with_capacity(UNMATCHED_ROWS_MAX), first_ns: 0 }
    }

    pub(crate) fn rows(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// When the first waiting row came.
    pub(crate) fn first_ns(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(self.first_ns)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() == UNMATCHED_ROWS_MAX
    }

    pub(crate) fn push(&mut self, row: &Unmatched<'_>, now_ns: u64) -> bool {
        if self.is_full() {
            return false;
        }
        if self.waiting.is_empty() {
            self.first_ns = now_ns;
        }
        debug_assert!(row.cause.len() <= CAUSE_BYTES, "{} is too long a cause", row.cause);
        let mut cause = [0; CAUSE_BYTES];
        let length = row.cause.len().min(CAUSE_BYTES);
        cause[..length].copy_from_slice(&row.cause.as_bytes()[..length]);
        self.waiting.push(Waiting {
            input: row.input as u32,
            stream: row.stream,
            epoch: row.epoch as i64,
            seq: row.seq as i64,
            seq_last: row.seq_last as i64,
            timestamp_ns: row.timestamp_ns.map(|value| value as i64),
            out_seq: row.out_seq.map(|value| value as i64),
            at_ns: row.at_ns,
            cause,
            cause_bytes: length as u8,
        });
        true
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// An upper bound for the columns of the waiting rows.
    pub(crate) fn bytes_max(&self, inputs: &[String]) -> usize {
        let names: usize = self.waiting.iter().map(|row| inputs[row.input as usize].len()).sum();
        UNMATCHED_BUFFERS * (64 + 8) + names + self.waiting.len() * (7 * 8 + 4 + 4 + CAUSE_BYTES + 2)
    }

    pub(crate) fn write(&self, inputs: &[String], body: &mut [u8], encoder: &mut Encoder) -> Written {
        let rows = &self.waiting;
        let mut columns = Columns::new(body, 0, rows.len(), encoder);
        columns.text(|row| Some(inputs[rows[row].input as usize].as_str()));
        columns.int64(|row| Some(rows[row].stream.into()));
        columns.int64(|row| Some(rows[row].epoch));
        columns.int64(|row| Some(rows[row].seq));
        columns.int64(|row| Some(rows[row].seq_last));
        columns.int64(|row| rows[row].timestamp_ns);
        columns.int64(|row| rows[row].out_seq);
        columns.int64(|row| Some(rows[row].at_ns));
        columns.text(|row| {
            let Waiting { cause, cause_bytes, .. } = &rows[row];
            // The cause was text when it came; it is cut only if a caller ignored the bound.
            Some(std::str::from_utf8(&cause[..usize::from(*cause_bytes)]).unwrap_or("unknown"))
        });
        columns.finish()
    }
}

/// Writes the state of an unmatched batch.
pub(crate) fn write_state(state: &mut Vec<u8>, seal: u64) {
    // Writing into a vector cannot fail.
    let _ = write!(state, "{{\"seal\":{seal}}}");
}
