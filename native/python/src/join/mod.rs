// SPDX-License-Identifier: Apache-2.0
//! Joins as Python classes.

// A ring goes from the client's thread to the engine and back; what moves is its pointer.
#![allow(clippy::vec_box)]

mod barrier;
mod clock;
mod doorbell;
mod early;
mod engine;
mod fed;
mod join_cut;
mod join_engine;
mod mailbox;
mod output_watermarks;
mod pairing;
mod plan;
mod port;
mod recall;
mod report;
mod restore;
mod ring;
mod route;
mod stage;

pub use barrier::JoinBarrier;
pub(crate) use clock::{monotonic_ns, realtime_ns};
pub use join_cut::JoinSnapshot;
pub use join_engine::JoinEngine;
pub(crate) use mailbox::{Command, Mailbox, PORT_COUNTERS};
pub use mailbox::{JoinMailbox, JoinPort};
pub use output_watermarks::OutputWatermarks;
pub use pairing::NearestPairing;
pub(crate) use port::PortCounters;
pub use report::join_causes;
pub use restore::join_check_records;
pub(crate) use route::Route;
pub use stage::JoinStage;
