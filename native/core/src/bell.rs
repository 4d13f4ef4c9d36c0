// SPDX-License-Identifier: Apache-2.0
//! Bells: how a reader that sleeps is woken by whoever writes, across processes.
//!
//! | file | is for | holds |
//! |---|---|---|
//! | `<namespace>/bells` | all streams of a namespace | bells: a futex word and an owner for each sleeper |
//! | `<namespace>/<stream>/sleepers` | one stream | seats: the bells of its readers, and which of them sleep now |
//!
//! A sleeper has one bell, and a seat at every stream that it waits for. Whoever writes into a stream looks at its
//! `asleep` word after each frame, and rings the bells of those who sleep. A stream whose writer does not say that it
//! rings is waited for by looking again and again, as before.
//!
//! Nobody misses a frame: a sleeper says that it sleeps and then looks once more; a writer writes the frame and then
//! looks who sleeps. Between the two steps each has a full fence, so one of them sees the other. `tests/loom_bell.rs`
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
