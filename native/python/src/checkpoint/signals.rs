// SPDX-License-Identifier: Apache-2.0
//! The counter of signals, and the aligner of signals by their senders, as Python classes.

use framegate_checkpoint::input_signals::{self, Change};
use framegate_checkpoint::signals::{self, Arrival, Key};
use pyo3::prelude::*;

/// The native counter; users hold it as `framegate.joinbarrier.checkpoint.SignalAligner`.
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

/// The signals of one channel whose upstreams are known, for the conformance suite. Join engines use it natively.
#[pyclass(module = "framegate._native")]
pub struct InputSignals {
    signals: input_signals::InputSignals,
}

/// The signal that is complete, or the name of the state that it is in.
#[derive(IntoPyObject)]
pub enum Told {
    Complete(Key),
    Otherwise(&'static str),
}

#[pymethods]
impl InputSignals {
    #[new]
    fn new(inputs: usize) -> Self {
        Self { signals: input_signals::InputSignals::new(inputs) }
    }

    fn arrive(&mut self, input_id: usize, key: Key) -> Told {
        told(self.signals.arrive(input_id, key))
    }

    fn end(&mut self, input_id: usize) -> Told {
        told(self.signals.end(input_id))
    }

    fn lose(&mut self, input_id: usize) {
        self.signals.lose(input_id);
    }

    fn resume(&mut self, input_id: usize) {
        self.signals.resume(input_id);
    }

    #[getter]
    fn pending(&self) -> Option<Key> {
        self.signals.pending()
    }

    #[getter]
    fn last(&self) -> Option<Key> {
        self.signals.last()
    }

    #[getter]
    fn given_up(&self) -> u64 {
        self.signals.given_up()
    }
}

const fn told(change: Change) -> Told {
    match change {
        Change::Complete(key) => Told::Complete(key),
        Change::Pending => Told::Otherwise("pending"),
        Change::Refused => Told::Otherwise("refused"),
    }
}
