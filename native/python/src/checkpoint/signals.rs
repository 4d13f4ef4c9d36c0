// SPDX-License-Identifier: Apache-2.0
//! The counter of signals as a Python class.

use framegate_checkpoint::signals::{self, Arrival, Key};
use pyo3::prelude::*;

/// See `framegate.joinbarrier.checkpoint.SignalAligner`, which users hold.
#[pyclass(module = "framegate._native")]
pub struct SignalCounter {
    counter: signals::SignalCounter,
}

#[pymethods]
impl SignalCounter {
    #[new]
    fn new(expected_upstreams: u32) -> Self {
        Self { counter: signals::SignalCounter::new(expected_upstreams) }
    }

    fn arrive(&mut self, barrier_id: u64, kind: u8) -> &'static str {
        name(self.counter.arrive((barrier_id, kind)))
    }

    fn end(&mut self, has_delivered: bool) -> Option<&'static str> {
        self.counter.end(has_delivered).map(name)
    }

    #[getter]
    fn pending(&self) -> Option<Key> {
        self.counter.pending()
    }

    #[getter]
    fn last(&self) -> Option<Key> {
        self.counter.last()
    }
}

const fn name(arrival: Arrival) -> &'static str {
    match arrival {
        Arrival::Pending => "pending",
        Arrival::Complete => "complete",
        Arrival::Overlapping => "overlapping",
        Arrival::Duplicate => "duplicate",
    }
}
