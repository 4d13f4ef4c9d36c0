// SPDX-License-Identifier: Apache-2.0
//! The gate of a stream that agents cut themselves, as a Python class for the conformance suite. Join engines use
//! the same gate natively.

use framegate_checkpoint::ingress::{self, CutAnswer, Passage, Place};
use framegate_checkpoint::message::CheckpointBarrier;
use pyo3::prelude::*;

type At = (Option<u64>, Option<u64>);

/// The native gate; its rules are those of `spec/checkpoint/ingress.py`.
#[pyclass(module = "framegate._native")]
pub struct IngressGate {
    gate: ingress::IngressGate,
}

#[pymethods]
impl IngressGate {
    #[new]
    fn new() -> Self {
        Self { gate: ingress::IngressGate::new() }
    }

    fn hold(&mut self, checkpoint_id: u64, present: At, now_ns: u64) -> Option<At> {
        let place = self.gate.hold(barrier(checkpoint_id), place_of(present), now_ns)?;
        Some((place.epoch, place.seq))
    }

    fn cut(&mut self, checkpoint_id: u64, at: At, present: At) -> &'static str {
        cut_name(self.gate.cut(barrier(checkpoint_id), place_of(at), place_of(present)))
    }

    fn frame(&mut self, epoch: u64, seq: u64) -> (&'static str, u64) {
        match self.gate.frame(epoch, seq) {
            Passage::Pass => ("pass", 0),
            Passage::Wait => ("wait", 0),
            Passage::CutBefore(barrier) => ("cut_before", barrier.checkpoint_id),
            Passage::CutBehind(barrier) => ("cut_behind", barrier.checkpoint_id),
        }
    }

    #[pyo3(signature = (checkpoint_id = None))]
    fn give_up(&mut self, checkpoint_id: Option<u64>) -> Option<u64> {
        self.gate.give_up(checkpoint_id).map(|barrier| barrier.checkpoint_id)
    }

    fn is_overdue(&self, now_ns: u64, timeout_ns: u64) -> bool {
        self.gate.is_overdue(now_ns, timeout_ns)
    }

    #[getter]
    fn is_held(&self) -> bool {
        self.gate.is_held()
    }

    #[getter]
    fn is_open(&self) -> bool {
        self.gate.is_open()
    }

    #[getter]
    fn epoch(&self) -> Option<u64> {
        self.gate.epoch()
    }

    #[getter]
    fn current(&self) -> Option<u64> {
        self.gate.current()
    }
}

fn barrier(checkpoint_id: u64) -> CheckpointBarrier {
    CheckpointBarrier::new(checkpoint_id, 1)
}

const fn place_of((epoch, seq): At) -> Place {
    Place { epoch, seq }
}

/// The name of a cut for Python.
pub(crate) const fn cut_name(cut: CutAnswer) -> &'static str {
    match cut {
        CutAnswer::Now => "cut",
        CutAnswer::Later => "due",
        CutAnswer::Past => "past",
        CutAnswer::OtherEpoch => "other_epoch",
        CutAnswer::Over => "over",
    }
}
