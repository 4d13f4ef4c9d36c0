// SPDX-License-Identifier: Apache-2.0
//! Recordings as Python classes.

mod early;
mod engine;
mod record_engine;
mod source;

pub use record_engine::{RecordEngine, recording_recover, recording_topic};
