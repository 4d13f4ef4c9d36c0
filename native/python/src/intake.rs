// SPDX-License-Identifier: Apache-2.0
//! The mailbox of a join's or a recorder's engine, as Python holds it.

use std::sync::Arc;

use framegate_intake::facts::PortFacts;
use framegate_intake::mailbox::{self, Command};
use framegate_intake::mapping::Mapping;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aeron::{AeronSubscription, SubscriptionShared};
use crate::errors::raise;
use crate::pool::PoolRegions;

pub(crate) type Mailbox = mailbox::Mailbox<SubscriptionShared>;

/// The mailbox of one engine: Python posts commands for its streams here, before and while the engine runs.
#[pyclass(frozen, module = "framegate._native")]
pub struct JoinMailbox {
    pub(crate) shared: Arc<Mailbox>,
}

#[pymethods]
impl JoinMailbox {
    /// Makes a mailbox with one port for each of these streams.
    #[new]
    fn new(streams: Vec<u32>) -> Self {
        Self { shared: Arc::new(Mailbox::new(streams)) }
    }

    /// The port of a stream.
    fn port(&self, py: Python<'_>, stream_id: u32) -> PyResult<JoinPort> {
        let found = self.shared.place(stream_id);
        let place = found.ok_or_else(|| raise(py, "InvalidValue", "the join has no such stream", &[]))?;
        Ok(JoinPort { shared: Arc::clone(&self.shared), place })
    }

    /// Adds a descriptor stream to those that the engine reads.
    fn listen(&self, subscription: &AeronSubscription) {
        self.shared.post(Command::Listen(subscription.shared()));
    }

    /// Removes every subscription from the engine.
    fn deafen(&self) {
        self.shared.post(Command::Deafen);
    }

    /// Asks for an output at this time, for an external drive. The call does not wait: the engine's next turn takes it
    /// up.
    fn push_time(&self, out_time_ns: i64) {
        self.shared.post(Command::PushTime(out_time_ns));
    }

    /// Unmaps the regions that the engine no longer needs.
    fn sweep(&self, py: Python<'_>) {
        let mappings = self.shared.sweep();
        if !mappings.is_empty() {
            py.detach(|| drop(mappings));
        }
    }

    /// Ends the slice that is running, soon.
    fn stop(&self) {
        self.shared.stop();
    }
}

/// One stream of an engine, as the keeper of its lease sees it.
#[pyclass(frozen, module = "framegate._native")]
pub struct JoinPort {
    shared: Arc<Mailbox>,
    place: usize,
}

impl JoinPort {
    fn facts(&self) -> &PortFacts {
        &self.shared.facts[self.place]
    }
}

#[pymethods]
impl JoinPort {
    /// Gives the engine these regions, which it reads as soon as something of their epoch arrives.
    fn attach(&self, py: Python<'_>, regions: &PoolRegions) -> PyResult<()> {
        let mapping = Mapping::new(regions.mapped(py)?);
        self.shared.post(Command::Attach(self.place, Box::new(mapping)));
        Ok(())
    }

    /// Says that the lease is gone. The engine goes on reading regions in which frames still wait.
    fn detach(&self) {
        self.shared.post(Command::Detach(self.place));
    }

    /// Says that an epoch was announced, and whether it has a producer. Call it before `attach` of that epoch's
    /// regions.
    fn note_announced(&self, epoch: u64, has_producer: bool) {
        self.shared.post(Command::Announced(self.place, epoch, has_producer));
    }

    /// The epoch that is being read; None while detached.
    #[getter]
    fn epoch(&self) -> Option<u64> {
        self.facts().epoch()
    }

    /// The highest sequence seen in this epoch; None before the first.
    #[getter]
    fn last_seq(&self) -> Option<u64> {
        self.facts().last_seq()
    }

    #[getter]
    fn is_attached(&self) -> bool {
        self.epoch().is_some()
    }

    /// Adds a descriptor stream to those that the engine reads.
    #[pyo3(signature = (subscription, capped = false))]
    fn listen(&self, subscription: &AeronSubscription, capped: bool) {
        let _ = capped;
        self.shared.post(Command::Listen(subscription.shared()));
    }

    /// Does nothing: a join takes every frame, so there is no rate to limit.
    fn limit_rate(&self, max_rate_hz: u32) {
        let _ = max_rate_hz;
    }

    /// How many frames went which way on their way to the engine, by name.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (name, value) in self.facts().counters() {
            values.set_item(name, value)?;
        }
        Ok(values)
    }
}
