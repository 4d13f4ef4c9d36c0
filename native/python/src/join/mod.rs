// SPDX-License-Identifier: Apache-2.0
//! Joins as Python classes.

mod barrier;
mod join_cut;
mod join_engine;
mod output_watermarks;
mod pairing;
mod recall;
mod report;
mod restore;
mod stage;
mod stored_records;
mod wires;

pub use barrier::JoinBarrier;
pub use join_cut::JoinSnapshot;
pub use join_engine::JoinEngine;
pub use output_watermarks::OutputWatermarks;
pub use pairing::NearestPairing;
pub use report::join_causes;
pub use restore::join_check_records;
pub use stage::JoinStage;
pub use stored_records::StoredRecords;
