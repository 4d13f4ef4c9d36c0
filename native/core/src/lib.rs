// SPDX-License-Identifier: Apache-2.0
//! The core of framegate in Rust: what CPython cannot do, and nothing that needs Python or Aeron.
//!
//! Every state machine in here has a twin in plain Python, which is its executable specification.
#![deny(unsafe_op_in_unsafe_fn, missing_docs)]

// Regions and messages are little-endian, and payloads are given out without conversion.
#[cfg(not(target_endian = "little"))]
compile_error!("framegate needs a little-endian machine");

pub mod assembler;
pub mod asymmetric;
pub mod bell;
pub mod biased;
pub mod clock;
pub mod idle;
pub mod pool;
pub mod record;
pub mod shared_file;
pub mod toml_positions;
mod unpoisoned;

pub use unpoisoned::{try_unpoisoned, unpoisoned};
