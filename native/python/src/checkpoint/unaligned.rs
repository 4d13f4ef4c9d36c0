// SPDX-License-Identifier: Apache-2.0
//! The unaligned checkpointer as a Python class. Its events are Python objects.

use framegate_checkpoint::message::{CheckpointBarrier, Watermark};
use framegate_checkpoint::unaligned::{self, Captured, Options, Step};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::aligner::metrics;
use super::plain::{self, Plain};

/// The native checkpointer; users hold it as `framegate.joinbarrier.checkpoint.UnalignedCheckpointer`.
#[pyclass(module = "framegate._native")]
pub struct UnalignedCheckpointer {
    checkpointer: unaligned::UnalignedCheckpointer<Py<PyAny>>,
}

#[pymethods]
impl UnalignedCheckpointer {
    #[new]
    #[pyo3(signature = (
        num_inputs, max_buffer_per_input, max_buffer_memory_bytes, alignment_timeout_ns, floor, enabled, forced,
        max_inflight_bytes, max_inflight_events, late_barrier_timeout_ns
    ))]
    #[allow(clippy::too_many_arguments, reason = "the settings")]
    fn new(
        py: Python<'_>,
        num_inputs: usize,
        max_buffer_per_input: usize,
        max_buffer_memory_bytes: u64,
        alignment_timeout_ns: u64,
        floor: u64,
        enabled: bool,
        forced: bool,
        max_inflight_bytes: u64,
        max_inflight_events: usize,
        late_barrier_timeout_ns: Option<u64>,
    ) -> PyResult<Self> {
        let given = (num_inputs, max_buffer_per_input, max_buffer_memory_bytes, alignment_timeout_ns, floor);
        let options = Options {
            is_enabled: enabled,
            is_forced: forced,
            inflight_bytes: max_inflight_bytes,
            inflight_events: max_inflight_events,
            late_timeout_ns: late_barrier_timeout_ns,
        };
        let limits = plain::limits(py, given)?;
        Ok(Self { checkpointer: unaligned::UnalignedCheckpointer::new(limits, options) })
    }

    fn event(
        &mut self,
        py: Python<'_>,
        input_id: usize,
        event: Py<PyAny>,
        size: u64,
        now_ns: u64,
    ) -> PyResult<Vec<Plain>> {
        let (input, mut steps) = (self.input(py, input_id)?, Steps::default());
        let copy = |event: &Py<PyAny>| event.clone_ref(py);
        self.checkpointer.event(input, event, size, now_ns, copy, &mut |step| steps.take(step));
        Ok(steps.0)
    }

    fn watermark(&mut self, py: Python<'_>, input_id: usize, ms: i64, now_ns: u64) -> PyResult<Vec<Plain>> {
        let (input, mut steps) = (self.input(py, input_id)?, Steps::default());
        self.checkpointer.watermark(input, Watermark(ms), now_ns, &mut |step| steps.take(step));
        Ok(steps.0)
    }

    fn barrier(
        &mut self,
        py: Python<'_>,
        input_id: usize,
        checkpoint_id: u64,
        epoch: u64,
        unaligned: bool,
        now_ns: u64,
    ) -> PyResult<Vec<Plain>> {
        let (input, mut steps) = (self.input(py, input_id)?, Steps::default());
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, unaligned);
        self.checkpointer.barrier(input, barrier, now_ns, &mut |step| steps.take(step));
        Ok(steps.0)
    }

    fn on_tick(&mut self, now_ns: u64) -> Vec<Plain> {
        let mut steps = Steps::default();
        self.checkpointer.on_tick(now_ns, &mut |step| steps.take(step));
        steps.0
    }

    #[pyo3(signature = (checkpoint_id))]
    fn abort(&mut self, checkpoint_id: Option<u64>) -> Vec<Plain> {
        let mut steps = Steps::default();
        self.checkpointer.abort(checkpoint_id, &mut |step| steps.take(step));
        steps.0
    }

    #[pyo3(signature = (checkpoint_id))]
    fn fail(&mut self, checkpoint_id: Option<u64>) -> Vec<Plain> {
        let mut steps = Steps::default();
        self.checkpointer.fail(checkpoint_id, &mut |step| steps.take(step));
        steps.0
    }

    fn end_input(&mut self, py: Python<'_>, input_id: usize, now_ns: u64) -> PyResult<Vec<Plain>> {
        let (input, mut steps) = (self.input(py, input_id)?, Steps::default());
        self.checkpointer.end_input(input, now_ns, &mut |step| steps.take(step));
        Ok(steps.0)
    }

    fn lose_input(&mut self, py: Python<'_>, input_id: usize) -> PyResult<Vec<Plain>> {
        let (input, mut steps) = (self.input(py, input_id)?, Steps::default());
        self.checkpointer.lose_input(input, &mut |step| steps.take(step));
        Ok(steps.0)
    }

    fn resume_input(&mut self, py: Python<'_>, input_id: usize) -> PyResult<()> {
        let input = self.input(py, input_id)?;
        self.checkpointer.resume_input(input);
        Ok(())
    }

    /// The stored messages as (input, event or None, watermark or None). Those of one input are in their order.
    fn snapshot(&self, py: Python<'_>) -> Vec<(usize, Option<Py<PyAny>>, Option<i64>)> {
        let mut found = Vec::new();
        for input in 0..self.checkpointer.aligner().inputs() {
            found.extend(self.checkpointer.captured(input).map(|captured| match captured {
                Captured::Event(event) => (input, Some(event.clone_ref(py)), None),
                Captured::Watermark(watermark) => (input, None, Some(watermark.0)),
            }));
        }
        found
    }

    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = metrics(py, self.checkpointer.aligner())?;
        for (name, value) in self.checkpointer.counters().named() {
            found.set_item(name, value)?;
        }
        found.set_item("is_in_unaligned_mode", self.checkpointer.is_waiting())?;
        Ok(found)
    }
}

impl UnalignedCheckpointer {
    fn input(&self, py: Python<'_>, input_id: usize) -> PyResult<usize> {
        plain::checked(py, input_id, self.checkpointer.aligner().inputs())
    }
}

/// The steps of one call. Events that an abort released are part of its action.
#[derive(Default)]
struct Steps(Vec<Plain>);

impl Steps {
    fn take(&mut self, step: Step<Py<PyAny>>) {
        let plain = match step {
            Step::PassThrough(input, event) => plain::of_event("pass_through", input, event),
            Step::Watermark(input, watermark) => plain::watermark(input, watermark.0),
            Step::Buffered(input) => plain::buffered(input),
            Step::Blocked(input, barrier) => plain::of_barrier("buffered", Some(input), barrier),
            Step::TriggerSnapshot(barrier, switch) => {
                let mut plain = plain::of_barrier("trigger_snapshot", None, barrier);
                if let Some((why, pending)) = switch {
                    (plain.6, plain.7) = (Some(plain::switch_name(why)), plain::inputs(pending));
                }
                plain
            }
            Step::ForwardBarrier(barrier) => plain::of_barrier("forward_barrier", None, barrier),
            Step::Drain(input, event) => plain::of_event("drain_buffered", input, event),
            Step::Ignored(input, verdict, barrier) => plain::ignored(verdict, input, barrier),
            Step::Aborted(aborted) => plain::aborted(&aborted, Vec::new()),
            Step::Released(input, event) => {
                if let Some(aborted) = self.0.last_mut() {
                    aborted.5.push((input, event));
                }
                return;
            }
            Step::LateBarrier(input, barrier) => plain::of_barrier("late_barrier", Some(input), barrier),
            Step::Complete(barrier) => plain::of_barrier("checkpoint_complete", None, barrier),
        };
        self.0.push(plain);
    }
}
