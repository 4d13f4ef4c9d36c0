// SPDX-License-Identifier: Apache-2.0
//! The journal's writer: Arrow segments, sealed batch by batch, with one copy of each payload (PROTOCOL 16). No Python,
//! no Aeron, no clock.
//!
//! | file | what it is |
//! |---|---|
//! | `layout` | where things stand, drawn and asserted |
//! | `schema`, `message` | the Arrow parts: columns, first bytes of a segment, metadata of a batch |
//! | `row`, `batch`, `columns`, `rows`, `unmatched` | what is said, where it waits, how it becomes columns |
//! | `copy`, `crc`, `register_copy` | a payload's way, its check, and both at once |
//! | `mapping`, `segment`, `spare`, `chain` | files: mapped, filled, made ahead, kept and dropped |
//! | `walk`, `recovery`, `opening` | what an earlier writer left |
//! | `head`, `faults` | what readers are told; where tests kill |
#![deny(missing_docs)]

mod batch;
mod cell_columns;
mod chain;
mod columns;
mod config;
pub mod copy;
pub mod crc;
mod faults;
mod head;
mod head_columns;
pub mod layout;
mod mapping;
mod message;
mod opening;
mod recovery;
#[cfg(target_arch = "x86_64")]
mod register_copy;
mod retired;
mod row;
mod rows;
mod schema;
mod segment;
mod spare;
mod unmatched;
mod walk;
mod writer;

pub use cell_columns::CELL_COLUMNS;
pub use config::{Config, Counters, Durability, JournalError, Recovered, Reserved, Sealed, WhenFull};
pub use faults::FAULT_POINTS;
pub use head_columns::{HEAD_COLUMNS, HeadType};
pub use layout::CAUSE_BYTES;
pub use row::{Cell, RowHead, Status, Unmatched};
pub use writer::Writer;

/// Most inputs of a journal.
pub const INPUTS_MAX: usize = 256;
