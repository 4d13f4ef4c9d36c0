// SPDX-License-Identifier: Apache-2.0
//! The columns of a batch of rows.

use crate::batch::Batch;
use crate::columns::{Columns, Written};
use crate::message::Encoder;

/// What all rows of a batch share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    pub(crate) first_row: u64,
    pub(crate) out_stream: u32,
    pub(crate) journal_epoch: u64,
}

/// Writes the fixed columns behind the payloads in `body`, in the order of the schema.
pub(crate) fn write(batch: &mut Batch, shared: &Shared, body: &mut [u8], encoder: &mut Encoder) -> Written {
    let (rows, start) = (batch.rows() as usize, batch.fixed_start());
    let mut columns = Columns::new(body, start, rows, encoder);
    let heads = batch.heads();
    columns.int64(|row| Some(shared.first_row as i64 + row as i64));
    columns.int64(|_| Some(shared.out_stream.into()));
    columns.int64(|_| Some(shared.journal_epoch as i64));
    columns.int64(|row| Some(heads[row].out_epoch as i64));
    columns.int64(|row| Some(heads[row].out_seq as i64));
    columns.int64(|row| heads[row].out_time_ns);
    columns.int64(|row| Some(heads[row].joined_at_us));
    columns.int64(|row| heads[row].skew_ns);
    columns.int64(|row| Some(heads[row].map_version as i64));
    columns.int64(|row| Some(heads[row].checkpoint_id as i64));
    for input in 0..batch.regions.len() {
        // A copy: what it remembers of joining goes back below.
        let mut region = batch.regions[input];
        let cells = batch.cells(input);
        columns.structure();
        columns.text(|row| Some(cells[row].status.name()));
        columns.int64(|row| cells[row].seq());
        columns.int64(|row| cells[row].timestamp_ns());
        columns.int64(|row| cells[row].epoch());
        columns.int64(|row| cells[row].trace_id());
        columns.text(|row| cells[row].dtype());
        columns.list(|row| cells[row].shape());
        columns.payload(|row| cells[row].payload(), region.start, region.crc, &mut region.joiner);
        batch.regions[input].joiner = region.joiner;
    }
    columns.finish()
}
