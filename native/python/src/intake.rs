// SPDX-License-Identifier: Apache-2.0
//! The mailbox of an engine, a join's or a recorder's, as Python holds it.

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

/// The streams of one engine, before and while it runs.
#[pyclass(frozen, module = "framegate._native")]
pub struct JoinMailbox {
    pub(crate) shared: Arc<Mailbox>,
}

#[pymethods]
impl JoinMailbox {
    /// One port for each of these streams.
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

    /// Hear a descriptor stream, beside those that are heard already.
    fn listen(&self, subscription: &AeronSubscription) {
        self.shared.post(Command::Listen(subscription.shared()));
    }

    /// Forget every subscription.
    fn deafen(&self) {
        self.shared.post(Command::Deafen);
    }

    /// Make an output for this time, of an external drive. Nobody waits: the engine's next turn takes it up.
    fn push_time(&self, out_time_ns: i64) {
        self.shared.post(Command::PushTime(out_time_ns));
    }

    /// Undo the mappings that the engine has done with.
    fn sweep(&self, py: Python<'_>) {
        let mappings = self.shared.sweep();
        if !mappings.is_empty() {
            py.detach(|| drop(mappings));
        }
    }

    /// End the slice that runs, soon.
    fn stop(&self) {
        self.shared.stop();
    }
}

/// One stream of an engine, as its lease's keeper sees it.
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
    /// Reads these regions when something of their epoch comes.
    fn attach(&self, py: Python<'_>, regions: &PoolRegions) -> PyResult<()> {
        let mapping = Mapping::new(regions.mapped(py)?);
        self.shared.post(Command::Attach(self.place, Box::new(mapping)));
        Ok(())
    }

    /// The lease is gone. What was mapped is read on, where frames in it wait.
    fn detach(&self) {
        self.shared.post(Command::Detach(self.place));
    }

    /// That epoch was announced; whether it has a producer. To be said before its regions.
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

    /// Frames by what became of them on their way to the engine.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (name, value) in self.facts().counters() {
            values.set_item(name, value)?;
        }
        Ok(values)
    }
}
