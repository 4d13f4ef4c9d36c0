// SPDX-License-Identifier: Apache-2.0
//! The barrier aligner as a Python class. Its events are Python objects.

use framegate_checkpoint::aligner::{self, StateError};
use framegate_checkpoint::message::{CheckpointBarrier, StreamMessage, Watermark};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::plain::{self, Pair, Plain};
use crate::errors::raise;

/// The native aligner; users hold it as `framegate.joinbarrier.checkpoint.BarrierAligner`.
#[pyclass(module = "framegate._native")]
pub struct BarrierAligner {
    aligner: aligner::BarrierAligner<Py<PyAny>>,
}

#[pymethods]
impl BarrierAligner {
    #[new]
    fn new(
        py: Python<'_>,
        num_inputs: usize,
        max_buffer_per_input: usize,
        max_buffer_memory_bytes: u64,
        alignment_timeout_ns: u64,
        floor: u64,
    ) -> PyResult<Self> {
        let given = (num_inputs, max_buffer_per_input, max_buffer_memory_bytes, alignment_timeout_ns, floor);
        Ok(Self { aligner: aligner::BarrierAligner::new(plain::limits(py, given)?) })
    }

    fn event(&mut self, py: Python<'_>, input_id: usize, event: Py<PyAny>, size: u64) -> PyResult<Plain> {
        self.process(py, input_id, StreamMessage::Event(event), size, 0)
    }

    fn watermark(&mut self, py: Python<'_>, input_id: usize, ms: i64) -> PyResult<Plain> {
        self.process(py, input_id, StreamMessage::Watermark(Watermark(ms)), 0, 0)
    }

    fn barrier(
        &mut self,
        py: Python<'_>,
        input_id: usize,
        checkpoint_id: u64,
        epoch: u64,
        unaligned: bool,
        now_ns: u64,
    ) -> PyResult<Plain> {
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, unaligned);
        self.process(py, input_id, StreamMessage::Barrier(barrier), 0, now_ns)
    }

    fn complete_alignment(&mut self, py: Python<'_>) -> PyResult<Vec<Pair>> {
        let mut drained = Vec::new();
        let completed = self.aligner.complete_alignment(&mut |input, event| drained.push((input, event)));
        completed.map_err(|error| refused(py, "there is no snapshot to complete", error))?;
        Ok(drained)
    }

    #[pyo3(signature = (checkpoint_id))]
    fn abort(&mut self, checkpoint_id: Option<u64>) -> Option<Plain> {
        let mut released = Vec::new();
        let aborted = self.aligner.abort(checkpoint_id, &mut |input, event| released.push((input, event)))?;
        Some(plain::aborted(&aborted, released))
    }

    fn check_timeout(&mut self, now_ns: u64) -> Option<Plain> {
        let mut released = Vec::new();
        let aborted = self.aligner.check_timeout(now_ns, &mut |input, event| released.push((input, event)))?;
        Some(plain::aborted(&aborted, released))
    }

    fn end_input(&mut self, py: Python<'_>, input_id: usize, now_ns: u64) -> PyResult<Option<Plain>> {
        let input = self.input(py, input_id)?;
        let triggered = self.aligner.end_input(input, now_ns);
        Ok(triggered.map(|barrier| plain::of_barrier("trigger_snapshot", None, barrier)))
    }

    fn lose_input(&mut self, py: Python<'_>, input_id: usize) -> PyResult<Option<Plain>> {
        let (input, mut released) = (self.input(py, input_id)?, Vec::new());
        let aborted = self.aligner.lose_input(input, &mut |input, event| released.push((input, event)));
        Ok(aborted.map(|aborted| plain::aborted(&aborted, released)))
    }

    fn resume_input(&mut self, py: Python<'_>, input_id: usize) -> PyResult<()> {
        let input = self.input(py, input_id)?;
        self.aligner.resume_input(input);
        Ok(())
    }

    #[getter]
    fn is_aligning(&self) -> bool {
        self.aligner.is_aligning()
    }

    #[getter]
    fn aligned_inputs(&self) -> u32 {
        self.aligner.aligned_inputs()
    }

    #[getter]
    fn pending_inputs(&self) -> Vec<usize> {
        plain::inputs(self.aligner.pending())
    }

    #[getter]
    fn buffered_events(&self) -> usize {
        self.aligner.buffered_events()
    }

    #[getter]
    fn buffered_bytes(&self) -> u64 {
        self.aligner.buffered_bytes()
    }

    fn input_watermarks(&self) -> Vec<Option<i64>> {
        (0..self.aligner.inputs()).map(|input| self.aligner.input_watermark(input)).collect()
    }

    fn operator_watermark(&self) -> Option<i64> {
        self.aligner.operator_watermark()
    }

    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metrics(py, &self.aligner)
    }
}

impl BarrierAligner {
    fn process(
        &mut self,
        py: Python<'_>,
        input_id: usize,
        message: StreamMessage<Py<PyAny>>,
        size: u64,
        now_ns: u64,
    ) -> PyResult<Plain> {
        let (input, mut released) = (self.input(py, input_id)?, Vec::new());
        let mut release = |input, event| released.push((input, event));
        let action = self.aligner.process(input, message, size, now_ns, &mut release);
        let action = action.map_err(|error| refused(py, "a barrier came before the snapshot was completed", error))?;
        Ok(plain::action(action, input, released))
    }

    fn input(&self, py: Python<'_>, input_id: usize) -> PyResult<usize> {
        plain::checked(py, input_id, self.aligner.inputs())
    }
}

fn refused(py: Python<'_>, message: &str, error: StateError) -> PyErr {
    let id = error.current.map(|barrier| barrier.checkpoint_id);
    match id.into_pyobject(py) {
        Ok(id) => raise(py, "AlignmentStateError", message, &[("checkpoint_id", id)]),
        Err(never) => match never {},
    }
}

/// The aligner's counters, by the names that the reference in `spec` uses.
pub(super) fn metrics<'py>(
    py: Python<'py>,
    aligner: &aligner::BarrierAligner<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, value) in aligner.counters().named() {
        found.set_item(name, value)?;
    }
    found.set_item("current_buffered", aligner.buffered_events())?;
    found.set_item("is_aligning", aligner.is_aligning())?;
    Ok(found)
}
