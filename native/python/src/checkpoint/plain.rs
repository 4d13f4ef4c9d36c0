// SPDX-License-Identifier: Apache-2.0
//! An aligner's answer as one tuple: kind, input, event, watermark, barrier, released, cause, pending.

use framegate_checkpoint::INPUTS_MAX;
use framegate_checkpoint::aligner::{AbortCause, Aborted, Action, Ignored, Limits};
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::unaligned::Switch;
use pyo3::prelude::*;

use crate::errors::raise;

/// A barrier: (id, epoch, unaligned).
pub(super) type Barrier = (u64, u64, bool);
/// An event with its input: (input, event).
pub(super) type Pair = (usize, Py<PyAny>);
/// An answer as a tuple. The module's comment names its fields.
pub(super) type Plain = (
    &'static str,
    Option<usize>,
    Option<Py<PyAny>>,
    Option<i64>,
    Option<Barrier>,
    Vec<Pair>,
    Option<&'static str>,
    Vec<usize>,
);

/// An answer with a barrier and nothing else.
pub(super) fn of_barrier(kind: &'static str, input: Option<usize>, barrier: CheckpointBarrier) -> Plain {
    (kind, input, None, None, Some(numbers(barrier)), Vec::new(), None, Vec::new())
}

/// An answer with an event and nothing else.
pub(super) fn of_event(kind: &'static str, input: usize, event: Py<PyAny>) -> Plain {
    (kind, Some(input), Some(event), None, None, Vec::new(), None, Vec::new())
}

/// The answer for an event that was taken into the buffer.
pub(super) fn buffered(input: usize) -> Plain {
    ("buffered", Some(input), None, None, None, Vec::new(), None, Vec::new())
}

/// The answer for a watermark.
pub(super) fn watermark(input: usize, ms: i64) -> Plain {
    ("watermark_pass_through", Some(input), None, Some(ms), None, Vec::new(), None, Vec::new())
}

/// The answer for a barrier that has no effect any more.
pub(super) fn ignored(verdict: Ignored, input: usize, barrier: CheckpointBarrier) -> Plain {
    let kind = match verdict {
        Ignored::Stale => "ignored_stale",
        Ignored::Duplicate => "ignored_duplicate",
        Ignored::Aborted => "ignored_aborted",
    };
    of_barrier(kind, Some(input), barrier)
}

/// The answer for a checkpoint that was given up.
pub(super) fn aborted(aborted: &Aborted, released: Vec<Pair>) -> Plain {
    let Aborted { barrier, cause, input, pending } = *aborted;
    ("aborted", input, None, None, Some(numbers(barrier)), released, Some(cause_name(cause)), inputs(pending))
}

/// The answer to any message of an input.
pub(super) fn action(action: Action<Py<PyAny>>, input: usize, released: Vec<Pair>) -> Plain {
    let mut plain = match action {
        Action::PassThrough(event) => of_event("pass_through", input, event),
        Action::Watermark(mark) => watermark(input, mark.0),
        Action::Buffered => buffered(input),
        Action::Blocked(barrier) => of_barrier("buffered", Some(input), barrier),
        Action::TriggerSnapshot(barrier) => of_barrier("trigger_snapshot", None, barrier),
        Action::InputFull(event) => of_event("input_full", input, event),
        Action::Ignored(verdict, barrier) => ignored(verdict, input, barrier),
        Action::Aborted(found) => aborted(&found, Vec::new()),
    };
    plain.5 = released;
    plain
}

pub(super) const fn numbers(barrier: CheckpointBarrier) -> Barrier {
    (barrier.checkpoint_id, barrier.epoch, barrier.is_unaligned())
}

/// The numbers of the inputs whose bits are set.
pub(super) fn inputs(bits: u128) -> Vec<usize> {
    (0..INPUTS_MAX).filter(|input| bits >> input & 1 == 1).collect()
}

pub(super) const fn switch_name(switch: Switch) -> &'static str {
    match switch {
        Switch::Requested => "requested",
        Switch::Threshold => "threshold",
        Switch::Limit => "limit",
    }
}

const fn cause_name(cause: AbortCause) -> &'static str {
    match cause {
        AbortCause::Timeout => "timeout",
        AbortCause::MemoryLimit => "memory_limit",
        AbortCause::InputLimit => "input_limit",
        AbortCause::InflightLimit => "inflight_limit",
        AbortCause::HigherBarrier => "higher_barrier",
        AbortCause::InputLost => "input_lost",
        AbortCause::LateBarrierTimeout => "late_barrier_timeout",
        AbortCause::Coordinator => "coordinator",
    }
}

/// Raises InvalidValue for an input number that does not exist. The Rust side relies on this check.
pub(super) fn checked(py: Python<'_>, input: usize, inputs: usize) -> PyResult<usize> {
    if input < inputs {
        return Ok(input);
    }
    Err(raise(py, "InvalidValue", "there is no such input", &[("input_id", input.into_pyobject(py)?.into_any())]))
}

/// Raises InvalidValue for a number of inputs that no aligner can have.
pub(super) fn limits(
    py: Python<'_>,
    (inputs, events_per_input, bytes, timeout_ns, floor): (usize, usize, u64, u64, u64),
) -> PyResult<Limits> {
    if !(1..=INPUTS_MAX).contains(&inputs) {
        let found = inputs.into_pyobject(py)?.into_any();
        return Err(raise(py, "InvalidValue", "wanted 1..128", &[("num_inputs", found)]));
    }
    Ok(Limits { inputs, events_per_input, bytes, timeout_ns, floor })
}
