// SPDX-License-Identifier: Apache-2.0
//! Where the client's thread leaves what it learns of streams, and reads what the engine has seen of them.
//!
//! The engine runs for a slice at a time without the GIL and without a lock that others wait for. So regions and
//! subscriptions are handed over as commands, taken up in its next turn, and its own facts are published in atomics.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::ring::Ring;
use crate::aeron::{AeronSubscription, SubscriptionShared, unpoisoned};
use crate::errors::raise;
use crate::pool::PoolRegions;

/// What another thread asks of the engine.
pub(crate) enum Command {
    /// Read these regions when something of their epoch comes.
    Attach(usize, Box<Ring>),
    /// The lease is gone under which regions were mapped.
    Detach(usize),
    /// This epoch was announced; whether it has a producer.
    Announced(usize, u64, bool),
    /// Hear this descriptor stream too.
    Listen(Arc<SubscriptionShared>),
    /// Every subscription went with its Aeron client.
    Deafen,
}

/// None, in an atomic.
const NONE: u64 = u64::MAX;
pub(crate) const PORT_COUNTERS: [&str; 11] = [
    "frames",
    "gap_drops",
    "late_drops",
    "missed",
    "regressions",
    "unmapped",
    "other_epoch",
    "recovered",
    "false_descriptors",
    "retired_epochs",
    "retired_bytes",
];

/// What the engine has seen of a stream. Written by the engine; `epoch` also by an attach, before the engine sees it.
pub(crate) struct PortFacts {
    pub(crate) stream_id: u32,
    epoch: AtomicU64,
    last_seq: AtomicU64,
    counters: [AtomicU64; PORT_COUNTERS.len()],
}

impl PortFacts {
    fn new(stream_id: u32) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            stream_id,
            epoch: AtomicU64::new(NONE),
            last_seq: AtomicU64::new(NONE),
            counters: std::array::from_fn(|_| zero()),
        }
    }

    pub(crate) fn publish(&self, epoch: Option<u64>, last_seq: Option<u64>, counters: [u64; PORT_COUNTERS.len()]) {
        for (cell, value) in self.counters.iter().zip(counters) {
            cell.store(value, Ordering::Relaxed);
        }
        self.last_seq.store(last_seq.unwrap_or(NONE), Ordering::Relaxed);
        self.epoch.store(epoch.unwrap_or(NONE), Ordering::Release);
    }
}

/// What the engine and the ports hold in common.
pub(crate) struct Mailbox {
    commands: Mutex<VecDeque<Command>>,
    has_commands: AtomicBool,
    /// Mappings that the engine has done with.
    yard: Mutex<Vec<Box<Ring>>>,
    pub(crate) is_stopping: AtomicBool,
    pub(crate) facts: Vec<PortFacts>,
}

impl Mailbox {
    fn post(&self, command: Command) {
        unpoisoned(&self.commands).push_back(command);
        self.has_commands.store(true, Ordering::Release);
    }

    /// Mappings that are to be undone, on the client's thread.
    pub(crate) fn give_back(&self, rings: &mut Vec<Box<Ring>>) {
        unpoisoned(&self.yard).append(rings);
    }

    /// What was asked since the last time. One load where nothing was.
    #[inline]
    pub(crate) fn take(&self) -> Option<VecDeque<Command>> {
        if !self.has_commands.load(Ordering::Acquire) {
            return None;
        }
        let mut commands = unpoisoned(&self.commands);
        self.has_commands.store(false, Ordering::Relaxed);
        Some(std::mem::take(&mut *commands))
    }
}

/// The streams of one join, before and while its engine runs.
#[pyclass(frozen, module = "framegate._native")]
pub struct JoinMailbox {
    pub(crate) shared: Arc<Mailbox>,
}

#[pymethods]
impl JoinMailbox {
    /// One port for each of these streams.
    #[new]
    fn new(streams: Vec<u32>) -> Self {
        let facts = streams.into_iter().map(PortFacts::new).collect();
        let (commands, has_commands) = (Mutex::new(VecDeque::new()), AtomicBool::new(false));
        let (yard, is_stopping) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        Self { shared: Arc::new(Mailbox { commands, has_commands, yard, is_stopping, facts }) }
    }

    /// The port of a stream.
    fn port(&self, py: Python<'_>, stream_id: u32) -> PyResult<JoinPort> {
        let found = self.shared.facts.iter().position(|facts| facts.stream_id == stream_id);
        let index = found.ok_or_else(|| raise(py, "InvalidValue", "the join has no such stream", &[]))?;
        Ok(JoinPort { shared: Arc::clone(&self.shared), index })
    }

    /// Hear a descriptor stream, beside those that are heard already.
    fn listen(&self, subscription: &AeronSubscription) {
        self.shared.post(Command::Listen(subscription.shared()));
    }

    /// Forget every subscription.
    fn deafen(&self) {
        self.shared.post(Command::Deafen);
    }

    /// Undo the mappings that the engine has done with.
    fn sweep(&self, py: Python<'_>) {
        let rings = std::mem::take(&mut *unpoisoned(&self.shared.yard));
        if !rings.is_empty() {
            py.detach(|| drop(rings));
        }
    }

    /// End the slice that runs, soon.
    fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Release);
    }
}

/// One stream of a join, as its lease's keeper sees it.
#[pyclass(frozen, module = "framegate._native")]
pub struct JoinPort {
    shared: Arc<Mailbox>,
    index: usize,
}

impl JoinPort {
    fn facts(&self) -> &PortFacts {
        &self.shared.facts[self.index]
    }
}

#[pymethods]
impl JoinPort {
    /// Reads these regions when something of their epoch comes.
    fn attach(&self, py: Python<'_>, regions: &PoolRegions) -> PyResult<()> {
        let mapped = regions.mapped(py)?;
        let none_yet = self.facts().epoch.load(Ordering::Acquire) == NONE;
        if none_yet {
            self.facts().epoch.store(mapped.epoch, Ordering::Release);
        }
        self.shared.post(Command::Attach(self.index, Box::new(Ring::new(mapped))));
        Ok(())
    }

    /// The lease is gone. What was mapped is read on, where frames in it wait.
    fn detach(&self) {
        self.facts().epoch.store(NONE, Ordering::Release);
        self.shared.post(Command::Detach(self.index));
    }

    /// That epoch was announced; whether it has a producer. To be said before its regions.
    fn note_announced(&self, epoch: u64, has_producer: bool) {
        self.shared.post(Command::Announced(self.index, epoch, has_producer));
    }

    /// The epoch that is being read; None while detached.
    #[getter]
    fn epoch(&self) -> Option<u64> {
        Some(self.facts().epoch.load(Ordering::Acquire)).filter(|epoch| *epoch != NONE)
    }

    /// The highest sequence seen in this epoch; None before the first.
    #[getter]
    fn last_seq(&self) -> Option<u64> {
        Some(self.facts().last_seq.load(Ordering::Acquire)).filter(|seq| *seq != NONE)
    }

    #[getter]
    fn is_attached(&self) -> bool {
        self.epoch().is_some()
    }

    /// The engine hears this descriptor stream too.
    #[pyo3(signature = (subscription, capped = false))]
    fn listen(&self, subscription: &AeronSubscription, capped: bool) {
        let _ = capped;
        self.shared.post(Command::Listen(subscription.shared()));
    }

    /// Nothing: a join takes every frame.
    fn limit_rate(&self, max_rate_hz: u32) {
        let _ = max_rate_hz;
    }

    /// Frames by what became of them on their way to the join.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (name, cell) in PORT_COUNTERS.iter().zip(&self.facts().counters) {
            values.set_item(name, cell.load(Ordering::Relaxed))?;
        }
        Ok(values)
    }
}
