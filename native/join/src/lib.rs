// SPDX-License-Identifier: Apache-2.0
//! Decides which frames belong together: MergeMaps, and the barriers that evaluate them. No Python, no Aeron, no clock.
//!
//! `spec/join` specifies the same in plain Python, and one test suite runs over both.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod barrier;
pub mod input_set;
pub mod map;
pub mod output_watermarks;
pub mod pairing;
pub mod stage;
