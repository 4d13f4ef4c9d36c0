// SPDX-License-Identifier: Apache-2.0
//! Where the client's thread leaves what it learns of streams, and reads what the engine has seen of them.
//!
//! The engine runs for a slice at a time without a lock that others wait for. So regions and subscriptions are handed
//! over as commands, taken up in its next turn, and its own facts are published in atomics.

// A mapping goes from the client's thread to the engine and back; what moves is its pointer.
#![allow(clippy::vec_box)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use framegate_core::unpoisoned;

use super::facts::PortFacts;
use super::mapping::Mapping;

/// What another thread asks of the engine.
pub enum Command<D> {
    /// Read these regions when something of their epoch comes.
    Attach(usize, Box<Mapping>),
    /// The lease is gone under which regions were mapped.
    Detach(usize),
    /// This epoch was announced; whether it has a producer.
    Announced(usize, u64, bool),
    /// Hear this descriptor stream too.
    Listen(Arc<D>),
    /// Every subscription went with its Aeron client.
    Deafen,
    /// Make an output for this time, of an external drive.
    PushTime(i64),
}

/// What the engine and the client's thread hold in common.
pub struct Mailbox<D> {
    commands: Mutex<VecDeque<Command<D>>>,
    has_commands: AtomicBool,
    /// Mappings that the engine has done with.
    unneeded: Mutex<Vec<Box<Mapping>>>,
    is_stopping: AtomicBool,
    /// Of each stream.
    pub facts: Vec<PortFacts>,
}

impl<D> Mailbox<D> {
    /// One place for each of these streams.
    #[must_use]
    pub fn new(streams: Vec<u32>) -> Self {
        Self {
            commands: Mutex::new(VecDeque::new()),
            has_commands: AtomicBool::new(false),
            unneeded: Mutex::new(Vec::new()),
            is_stopping: AtomicBool::new(false),
            facts: streams.into_iter().map(PortFacts::new).collect(),
        }
    }

    // --- For the client's thread ---------------------------------------------------------------------------

    /// The place of a stream.
    #[must_use]
    pub fn place(&self, stream_id: u32) -> Option<usize> {
        self.facts.iter().position(|facts| facts.stream_id == stream_id)
    }

    /// Asks something of the engine; it is done in its next turn.
    pub fn post(&self, command: Command<D>) {
        match &command {
            Command::Attach(place, mapping) => self.facts[*place].expect(mapping.epoch()),
            Command::Detach(place) => self.facts[*place].forget_epoch(),
            _ => {}
        }
        unpoisoned(&self.commands).push_back(command);
        self.has_commands.store(true, Ordering::Release);
    }

    /// The mappings that the engine has done with: to be dropped, which takes a while.
    #[must_use]
    pub fn sweep(&self) -> Vec<Box<Mapping>> {
        std::mem::take(&mut *unpoisoned(&self.unneeded))
    }

    /// Ends the slice that runs, soon.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    // --- For the engine ------------------------------------------------------------------------------------

    /// Whether somebody wants it to end.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Mappings that are to be undone, on the client's thread.
    pub fn give_back(&self, mappings: &mut Vec<Box<Mapping>>) {
        unpoisoned(&self.unneeded).append(mappings);
    }

    /// What was asked since the last time. One load where nothing was.
    #[inline]
    pub fn take(&self) -> Option<VecDeque<Command<D>>> {
        if !self.has_commands.load(Ordering::Acquire) {
            return None;
        }
        let mut commands = unpoisoned(&self.commands);
        self.has_commands.store(false, Ordering::Relaxed);
        Some(std::mem::take(&mut *commands))
    }
}
