// SPDX-License-Identifier: Apache-2.0
//! What an engine reports about checkpoints, for `joinbarrier/agent/checkpoints.py`.

use framegate_checkpoint::aligner::{AbortCause, Aborted};
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::unaligned::Switch;
use framegate_engine::{News, Passing, Records, Snapshot};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::stored_records::StoredRecords;
use super::wires::Engine;

/// What a join copied at a cut.
#[pyclass(frozen, module = "framegate._native")]
pub struct JoinSnapshot {
    snapshot: Box<Snapshot>,
    records: Py<StoredRecords>,
    streams: Vec<u32>,
}

#[pymethods]
impl JoinSnapshot {
    /// Everything in the snapshot but the frames.
    fn head<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Snapshot { barrier, why, owing, duration_ns, buffered, next_row, map_version, .. } = *self.snapshot;
        let found = of_barrier(py, barrier)?;
        found.set_item("why", why.map(switch_name))?;
        let pending = (0..self.streams.len()).filter(|index| owing >> index & 1 == 1);
        found.set_item("late_inputs", pending.collect::<Vec<_>>())?;
        found.set_item("duration_ns", duration_ns)?;
        found.set_item("buffered", buffered)?;
        found.set_item("next_row", next_row)?;
        found.set_item("map_version", map_version)?;
        found.set_item("state", text(&self.snapshot.state))?;
        found.set_item("rest", text(&self.snapshot.rest))?;
        found.set_item("frames", self.records.get().len())?;
        let lost = self.snapshot.lost.iter();
        let lost = lost.map(|lost| (self.streams[lost.stream], lost.epoch, lost.seq, lost.seq_last, lost.cause.name()));
        found.set_item("lost", lost.collect::<Vec<_>>())?;
        let gone = self.snapshot.overwritten.iter().map(|(stream, epoch, seq)| (self.streams[*stream], *epoch, *seq));
        found.set_item("overwritten", gone.collect::<Vec<_>>())?;
        Ok(found)
    }

    /// The waiting frames, in the order in which they arrived.
    #[getter]
    fn records(&self, py: Python<'_>) -> Py<StoredRecords> {
        self.records.clone_ref(py)
    }
}

fn stored(py: Python<'_>, records: Records) -> PyResult<Py<StoredRecords>> {
    Py::new(py, StoredRecords::new(records))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const fn switch_name(why: Switch) -> &'static str {
    match why {
        Switch::Requested => "requested",
        Switch::Threshold => "threshold",
        Switch::Limit => "limit",
    }
}

/// The names of `AbortCause` in Python.
const fn cause_name(cause: AbortCause) -> &'static str {
    match cause {
        AbortCause::Timeout => "TIMEOUT",
        AbortCause::MemoryLimit => "MEMORY_LIMIT",
        AbortCause::InputLimit => "INPUT_LIMIT",
        AbortCause::InflightLimit => "INFLIGHT_LIMIT",
        AbortCause::HigherBarrier => "HIGHER_BARRIER",
        AbortCause::InputLost => "INPUT_LOST",
        AbortCause::LateBarrierTimeout => "LATE_BARRIER_TIMEOUT",
        AbortCause::Coordinator => "COORDINATOR",
    }
}

fn of_barrier(py: Python<'_>, barrier: CheckpointBarrier) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("checkpoint_id", barrier.checkpoint_id)?;
    found.set_item("epoch", barrier.epoch)?;
    found.set_item("is_unaligned", barrier.is_unaligned())?;
    Ok(found)
}

/// Converts the engine's news to dicts, oldest first.
pub(super) fn take_news<'py>(py: Python<'py>, (news, streams): (Vec<News>, Vec<u32>)) -> PyResult<Bound<'py, PyList>> {
    let told = PyList::empty(py);
    for each in news {
        told.append(one(py, each, &streams)?)?;
    }
    Ok(told)
}

/// Takes the news that are ready from the engine. If one waits for a seal, it and all behind it stay.
pub(super) fn ready_news(engine: &mut Engine) -> Vec<News> {
    let mut ready = Vec::new();
    while engine.cut.has_news(engine.ledger.writer.sealed_rows()) {
        ready.extend(engine.cut.news.pop_front());
    }
    ready
}

fn one<'py>(py: Python<'py>, news: News, streams: &[u32]) -> PyResult<Bound<'py, PyDict>> {
    let found = match news {
        News::Snapshot(mut snapshot) => {
            let found = of_barrier(py, snapshot.barrier)?;
            found.set_item("kind", "snapshot")?;
            let records = stored(py, snapshot.records.take().unwrap_or_default())?;
            found.set_item("snapshot", JoinSnapshot { snapshot, records, streams: streams.to_vec() })?;
            found
        }
        News::Complete { barrier, duration_ns, inflight } => {
            let found = of_barrier(py, barrier)?;
            found.set_item("kind", "complete")?;
            found.set_item("duration_ns", duration_ns)?;
            let files = PyList::empty(py);
            for (index, each) in inflight {
                files.append((index, stored(py, each.records)?, each.lost))?;
            }
            found.set_item("inflight", files)?;
            found
        }
        News::Aborted { aborted: Aborted { barrier, cause, input, pending }, buffered } => {
            let found = of_barrier(py, barrier)?;
            found.set_item("kind", "aborted")?;
            found.set_item("cause", cause_name(cause))?;
            found.set_item("buffered", buffered)?;
            found.set_item("input", input.map(|index| streams[index]))?;
            let pending = (0..streams.len()).filter(|index| pending >> index & 1 == 1).map(|index| streams[index]);
            found.set_item("pending", pending.collect::<Vec<_>>())?;
            found
        }
        News::Forward { barrier, row } => {
            let found = of_barrier(py, barrier)?;
            found.set_item("kind", "forward")?;
            found.set_item("row", row)?;
            found
        }
        News::Pass { what, row } => {
            let found = PyDict::new(py);
            found.set_item("kind", "pass")?;
            found.set_item("row", row)?;
            match what {
                Passing::Watermark(ms) => found.set_item("watermark_ms", ms)?,
                Passing::Signal(signal) => {
                    found.set_item("signal", (signal.is_barrier, signal.kind, signal.barrier_id))?;
                }
            }
            found
        }
    };
    Ok(found)
}

/// The counters of the aligner and of the cuts, by the names of the checkpointer's metrics.
pub(super) fn counters<'py>(py: Python<'py>, engine: &Engine) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("checkpoint_id", engine.checkpoint_id)?;
    let Some(checkpointer) = engine.cut.checkpointer() else { return Ok(found) };
    let (aligner, overtaken) = (checkpointer.aligner(), checkpointer.counters());
    let counted = aligner.counters().named().chain(overtaken.named()).chain(engine.cut.counters.named());
    let measured = [
        ("current_buffered", aligner.buffered_events() as u64),
        ("signals_given_up", engine.cut.signals.given_up()),
        ("ingress_holds", engine.cut.gates.held),
        ("ingress_given_up", engine.cut.gates.given_up),
    ];
    for (name, value) in counted.chain(measured) {
        found.set_item(name, value)?;
    }
    found.set_item("is_aligning", checkpointer.aligner().is_aligning())?;
    found.set_item("is_in_unaligned_mode", checkpointer.is_waiting())?;
    Ok(found)
}
