// SPDX-License-Identifier: Apache-2.0
//! The journal's writer, its check sum and its fault points, as Python sees them.

mod cells;
mod checksum;
mod counters;
pub(crate) mod errors;
mod writer;

pub use checksum::{crc32c, journal_cells, journal_columns, journal_fault_points};
pub(crate) use counters::counters;
pub use writer::JournalWriter;
