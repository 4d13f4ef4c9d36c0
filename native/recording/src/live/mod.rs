// SPDX-License-Identifier: Apache-2.0
//! The recorder of live streams: what it hears becomes a file.

mod early;
mod engine;
mod source;

pub use engine::{Engine, Outcome};
