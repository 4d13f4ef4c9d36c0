// SPDX-License-Identifier: Apache-2.0
//! Bells: how a writer wakes sleeping readers, across processes.
//!
//! | file | is for | holds |
//! |---|---|---|
//! | `<namespace>/bells` | all streams of a namespace | bells: a futex word and an owner for each sleeper |
//! | `<namespace>/<stream>/sleepers` | one stream | seats: the bells of its readers, and which of them sleep now |
//!
//! A sleeper has one bell, and a seat at every stream that it waits for. After each frame the writer of a stream looks
//! at the stream's `asleep` word, and rings the bells of the sleepers. If a writer does not promise to ring, its
//! readers look again and again instead of sleeping.
//!
//! No frame is missed: a sleeper says that it sleeps, and then looks once more; a writer writes the frame, and then
//! looks who sleeps. Each has a full fence between the two steps, so one of them sees the other. `tests/loom_bell.rs`
//! runs both under every order that the memory model allows.

#[cfg(not(loom))]
mod bells;
#[cfg(not(loom))]
mod futex;
pub mod order;
#[cfg(not(loom))]
mod sleeper;
#[cfg(not(loom))]
mod stream;

#[cfg(not(loom))]
pub use self::{
    bells::{Bell, Waker},
    futex::Woken,
    sleeper::{LONGEST_SLEEP_NS, Look, Sleeper, idle_or_sleep},
    stream::StreamBells,
};
