// SPDX-License-Identifier: Apache-2.0
//! How an engine waits for its streams: asleep, where every writer rings.

use std::sync::Arc;

use framegate_core::bell::{Sleeper, StreamBells};

use super::mailbox::Mailbox;
use super::mapping::Mapping;

type Rung = (Arc<StreamBells>, u64);

/// The streams that an engine waits for, and its bell.
#[derive(Debug, Default)]
pub struct Waiting {
    /// For each stream that is attached: who sleeps on it, and the newest epoch; None if nobody can sleep on it.
    streams: Vec<Option<Option<Rung>>>,
    sleeper: Sleeper,
    /// Whether the streams have changed since the engine took its seats.
    has_changed: bool,
}

impl Waiting {
    /// Waits for none of these streams yet.
    #[must_use]
    pub fn new(streams: usize) -> Self {
        Self { streams: vec![None; streams], ..Self::default() }
    }

    /// Regions of a stream were mapped.
    pub fn attached(&mut self, place: usize, mapping: &Mapping) {
        self.streams[place] = Some(mapping.bells().map(|bells| (Arc::clone(bells), mapping.epoch())));
        self.has_changed = true;
    }

    /// The lease of a stream is gone. What comes next is a command.
    pub fn detached(&mut self, place: usize) {
        self.streams[place] = None;
        self.has_changed = true;
    }

    /// Lends the sleeper, seated at every stream. The mailbox wakes it too.
    pub fn lend<D>(&mut self, mailbox: &Mailbox<D>) -> Sleeper {
        if std::mem::take(&mut self.has_changed) {
            self.sleeper.wait_for(self.streams.iter().flatten().cloned());
            mailbox.set_waker(self.sleeper.waker());
        }
        std::mem::take(&mut self.sleeper)
    }

    /// Takes it back.
    pub fn take_back(&mut self, sleeper: Sleeper) {
        self.sleeper = sleeper;
    }
}
