// SPDX-License-Identifier: Apache-2.0
//! The mailbox between a client's thread and the engine: commands for the engine, and facts about what it has seen.
//!
//! The engine runs a slice of time without holding a lock that others wait for. So it takes regions and subscriptions
//! as commands in its next turn, and publishes its facts in atomics.

// A mapping moves between the client's thread and the engine; boxed, only its pointer moves.
#![allow(clippy::vec_box)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use framegate_core::bell::Waker;
use framegate_core::unpoisoned;

use super::facts::PortFacts;
use super::mapping::Mapping;

/// What another thread asks the engine to do. Streams are given by their index.
pub enum Command<D> {
    /// Read these regions once something of their epoch comes.
    Attach(usize, Box<Mapping>),
    /// Note that the lease of the mapped regions is gone.
    Detach(usize),
    /// Note that the driver announced this epoch, and whether it has a producer.
    Announced(usize, u64, bool),
    /// Poll this descriptor subscription too.
    Listen(Arc<D>),
    /// Drop all subscriptions: they closed with their Aeron client.
    Deafen,
    /// Make an output for this time, of an external drive.
    PushTime(i64),
}

/// What the engine and the client's thread share.
pub struct Mailbox<D> {
    commands: Mutex<VecDeque<Command<D>>>,
    has_commands: AtomicBool,
    /// Mappings that the engine does not need any more.
    unneeded: Mutex<Vec<Box<Mapping>>>,
    is_stopping: AtomicBool,
    /// Wakes the engine, once it can sleep.
    waker: Mutex<Option<Waker>>,
    /// What the engine has seen of each stream.
    pub facts: Vec<PortFacts>,
}

impl<D> Mailbox<D> {
    /// Makes a mailbox for these streams.
    #[must_use]
    pub fn new(streams: Vec<u32>) -> Self {
        Self {
            commands: Mutex::new(VecDeque::new()),
            has_commands: AtomicBool::new(false),
            unneeded: Mutex::new(Vec::new()),
            is_stopping: AtomicBool::new(false),
            waker: Mutex::new(None),
            facts: streams.into_iter().map(PortFacts::new).collect(),
        }
    }

    // --- For the client's thread ---------------------------------------------------------------------------

    /// The index of a stream.
    #[must_use]
    pub fn place(&self, stream_id: u32) -> Option<usize> {
        self.facts.iter().position(|facts| facts.stream_id == stream_id)
    }

    /// Queues a command; the engine carries it out in its next turn.
    pub fn post(&self, command: Command<D>) {
        match &command {
            Command::Attach(place, mapping) => self.facts[*place].expect(mapping.epoch()),
            Command::Detach(place) => self.facts[*place].forget_epoch(),
            _ => {}
        }
        unpoisoned(&self.commands).push_back(command);
        self.has_commands.store(true, Ordering::Release);
        self.wake();
    }

    /// Takes the mappings that the engine does not need any more. The caller drops them, which takes a while.
    #[must_use]
    pub fn sweep(&self) -> Vec<Box<Mapping>> {
        std::mem::take(&mut *unpoisoned(&self.unneeded))
    }

    /// Asks the engine to end its slice soon.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*unpoisoned(&self.waker) {
            waker.ring();
        }
    }

    // --- For the engine ------------------------------------------------------------------------------------

    /// Whether the engine should end its slice.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Names the bell by which the engine is woken for commands. It takes up those that came before.
    pub fn set_waker(&self, waker: Option<Waker>) {
        *unpoisoned(&self.waker) = waker;
    }

    /// Hands mappings back, to be unmapped on the client's thread.
    pub fn give_back(&self, mappings: &mut Vec<Box<Mapping>>) {
        unpoisoned(&self.unneeded).append(mappings);
    }

    /// Takes the commands queued since the previous call. Costs one load if there are none.
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
