// SPDX-License-Identifier: Apache-2.0
//! The columns of a batch of rows.

use crate::batch::Batch;
use crate::columns::{Columns, Written};
use crate::message::Encoder;
use crate::{cell_columns, head_columns};

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
    head_columns::write(&mut columns, shared, batch.heads());
    for input in 0..batch.regions.len() {
        // A copy; its joiner is stored back below.
        let mut region = batch.regions[input];
        let cells = batch.cells(input);
        columns.structure();
        cell_columns::write(&mut columns, cells);
        columns.payload(|row| cells[row].payload(), region.start, region.crc, &mut region.joiner);
        batch.regions[input].joiner = region.joiner;
    }
    columns.finish()
}
