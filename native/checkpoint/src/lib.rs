// SPDX-License-Identifier: Apache-2.0
//! Consistent cuts through several streams. No Python, no Aeron, no clock; nothing allocates once it is made.
//!
//! | file | what it is |
//! |---|---|
//! | `message` | barriers, watermarks, and the message that carries them between two stages |
//! | `atomics` | the atomic types, or those of the model checker |
//! | `word`, `mapping`, `injector` | how a coordinator asks for a barrier, also from another process; when a source sends one |
//! | `between` | what a producer sends between its descriptors, in one place on all of its streams |
//! | `channel` | from one stage to the next, with a place kept for a barrier |
//! | `queues`, `history`, `watermarks` | what an aligner keeps: events, ids that are over, how far time has come |
//! | `aligner`, `late`, `unaligned` | waiting for every input, and not waiting |
//! | `signals`, `input_signals` | signals, aligned by count, and by who has delivered them |
//! | `ingress` | where a stream is cut that several agents cut by themselves |
//! | `inflight` | the bytes of captured events |
//!
//! Each has a twin in plain Python in `spec/checkpoint`, which is its specification.
#![deny(missing_docs)]

pub mod aligner;
mod atomics;
#[cfg(not(loom))]
pub mod between;
pub mod channel;
mod history;
pub mod inflight;
pub mod ingress;
#[cfg(not(loom))]
pub mod injector;
pub mod input_signals;
mod late;
#[cfg(not(loom))]
pub mod mapping;
pub mod message;
pub mod queues;
pub mod signals;
pub mod unaligned;
mod watermarks;
pub mod word;

/// Most inputs of one aligner: each is a bit of a 128-bit word.
pub const INPUTS_MAX: usize = 128;
