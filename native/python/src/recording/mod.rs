// SPDX-License-Identifier: Apache-2.0
//! Recordings as Python classes.

mod record_engine;

pub use record_engine::{RecordEngine, recording_recover, recording_topic};
