// SPDX-License-Identifier: Apache-2.0
//! What an engine reports: counters for summaries, and the state that explains why nothing is joined.

use framegate_join::stage::{CAUSE_NAMES, InputCounters, Stage};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::join_cut;
use super::wires::Engine;
use crate::journal;

/// The names that counters and journals use for the reasons why a frame was not joined.
#[pyfunction]
pub fn join_causes() -> Vec<&'static str> {
    CAUSE_NAMES.to_vec()
}

/// A rejected stream: stream, epoch and sequence of the frame; which of its times went back (0 the slot header's, 1 the
/// descriptor's); the newest such time before it, and its own.
pub(super) type Rejected = (u32, u64, u64, usize, Option<u64>, Option<u64>);

pub(super) fn rejections(stage: &mut Stage) -> Vec<Rejected> {
    let told = stage.take_rejections();
    let streams = stage.streams();
    told.iter()
        .map(|each| (streams[each.stream], each.epoch, each.by.seq, each.place, each.by.last_ns, each.by.found_ns))
        .collect()
}

pub(super) fn status<'py>(py: Python<'py>, engine: &Engine) -> PyResult<Bound<'py, PyDict>> {
    let status = engine.stage.status();
    let found = PyDict::new(py);
    found.set_item("rows", engine.counters.rows)?;
    found.set_item("out", status.out)?;
    found.set_item("has_map", status.has_map)?;
    let journal = engine.ledger.writer.counters();
    found.set_item("first_row", journal.first_row)?;
    found.set_item("rows_dropped_early", journal.rows_dropped_early)?;
    let (waiting, inputs) = (PyList::empty(py), PyList::empty(py));
    for each in &status.waiting {
        let wait = PyDict::new(py);
        wait.set_item("input", each.input)?;
        wait.set_item("reason", each.reason)?;
        wait.set_item("missing", each.missing)?;
        waiting.append(wait)?;
    }
    for each in engine.stage.progress() {
        let input = PyDict::new(py);
        input.set_item("last_seq", each.last_seq)?;
        input.set_item("last_time_ns", each.last_time_ns)?;
        input.set_item("last_at_ns", each.last_at_ns)?;
        input.set_item("is_ended", each.is_ended)?;
        input.set_item("pending", each.pending)?;
        input.set_item("holds", engine.holds(each.stream))?;
        input.set_item("frame_bytes", engine.copying.frame_bytes(each.stream))?;
        input.set_item("refused", engine.copying.refused(each.stream))?;
        input.set_item("overwritten", each.overwritten)?;
        input.set_item("ahead", each.ahead)?;
        input.set_item("older_epoch", each.older_epoch)?;
        inputs.append(input)?;
    }
    found.set_item("waiting", waiting)?;
    found.set_item("inputs", inputs)?;
    Ok(found)
}

pub(super) fn counters<'py>(py: Python<'py>, engine: &Engine, names: &[String]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let (absent, overwritten, closed_early) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    let (unmatched, causes) = (PyDict::new(py), PyDict::new(py));
    for (name, input) in names.iter().zip(engine.stage.input_counters()) {
        absent.set_item(name, input.absent)?;
        overwritten.set_item(name, input.overwritten)?;
        closed_early.set_item(name, input.closed_early)?;
        unmatched.set_item(name, input.unmatched.iter().sum::<u64>())?;
        causes.set_item(name, by_cause(py, input)?)?;
    }
    found.set_item("absent", absent)?;
    found.set_item("overwritten", overwritten)?;
    found.set_item("closed_early", closed_early)?;
    found.set_item("unmatched", unmatched)?;
    found.set_item("causes", causes)?;
    for name in ["recovered", "false_descriptors", "retired_epochs", "retired_bytes"] {
        let values = PyDict::new(py);
        for (input, plan) in names.iter().zip(&engine.inputs) {
            let counted = engine.port_counters(plan.stream).named();
            values.set_item(input, counted.filter(|(known, _)| *known == name).map(|(_, value)| value).sum::<u64>())?;
        }
        found.set_item(name, values)?;
    }
    let counted = engine.stage.counters().named().chain(engine.counters.named());
    let measured = [
        ("arena_peak_bytes", engine.copying.waiting.peak_bytes() as u64),
        ("late_drops", (0..engine.stage.streams().len()).map(|stream| engine.port_counters(stream).late_drops).sum()),
        ("longest_turn_ns", engine.slices.longest_turn_ns),
        ("longest_absence_ns", engine.slices.longest_absence_ns),
        ("restored_waiting", engine.cut.restored_waiting()),
    ];
    for (name, value) in counted.chain(measured) {
        found.set_item(name, value)?;
    }
    found.set_item("checkpoints", join_cut::counters(py, engine)?)?;
    found.set_item("journal", journal::counters(py, &engine.ledger.writer.counters())?)?;
    Ok(found)
}

/// How many frames were not joined, by cause. Causes without frames are left out.
pub(super) fn by_cause<'py>(py: Python<'py>, input: &InputCounters) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (cause, count) in CAUSE_NAMES.iter().zip(input.unmatched).filter(|(_, count)| *count > 0) {
        found.set_item(cause, count)?;
    }
    Ok(found)
}
