// SPDX-License-Identifier: Apache-2.0
//! The journal's writer as a Python class, for tests and tools. The join engine uses the Rust crate itself.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use framegate_journal::{Cell, Config, JournalError, Recovered, Reserved, RowHead, Sealed, Unmatched, Writer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::cells::{self, GivenCell};
use super::counters::counters;
use super::errors::raised;
use crate::errors::raise;
use crate::plan;

/// Writes one journal, row by row. Readers see the rows once they are sealed.
#[pyclass(module = "framegate._native")]
pub struct JournalWriter {
    /// Only ever reached through `&mut`; the mutex is there because a pyclass must be Sync.
    writer: Mutex<Option<Writer>>,
    inputs: Vec<String>,
    recovered: Recovered,
}

#[pymethods]
impl JournalWriter {
    #[new]
    #[pyo3(signature = (path, inputs, **settings))]
    fn new(py: Python<'_>, path: PathBuf, inputs: Vec<String>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let settings = settings.map_or_else(|| Ok(Config::default()), plan::read)?;
        let config = Config { dir: path, inputs: inputs.clone(), ..settings };
        let (writer, recovered) = py.detach(|| Writer::open(config)).map_err(|error| raised(py, &error))?;
        Ok(Self { writer: Mutex::new(Some(writer)), inputs, recovered })
    }

    /// What the journal held when it was opened: next_row, seals, state, cut_batches, cut_rows, was_clean.
    #[getter]
    fn recovered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Recovered { next_row, seals, state, cut_batches, cut_rows, was_clean } = &self.recovered;
        let facts = PyDict::new(py);
        facts.set_item("next_row", next_row)?;
        facts.set_item("seals", seals)?;
        facts.set_item("state", state.as_ref().map(|state| PyBytes::new(py, state)))?;
        facts.set_item("cut_batches", cut_batches)?;
        facts.set_item("cut_rows", cut_rows)?;
        facts.set_item("was_clean", was_clean)?;
        Ok(facts)
    }

    /// Appends a row to the open batch. Returns "ready", or why it could not: "seal_first" or "full".
    #[pyo3(signature = (
        cells, *, out_seq=0, out_epoch=1, out_time_ns=None, joined_at_us=0, skew_ns=None, map_version=1,
        checkpoint_id=0, now_ns=0, in_place=false, abandon=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn append(
        &mut self,
        py: Python<'_>,
        cells: &Bound<'_, PyDict>,
        out_seq: u64,
        out_epoch: u64,
        out_time_ns: Option<i64>,
        joined_at_us: i64,
        skew_ns: Option<i64>,
        map_version: u64,
        checkpoint_id: u64,
        now_ns: u64,
        in_place: bool,
        abandon: bool,
    ) -> PyResult<&'static str> {
        let cells = cells::read(cells, &self.inputs)?;
        let head = RowHead { out_epoch, out_seq, out_time_ns, joined_at_us, skew_ns, map_version, checkpoint_id };
        let mut lengths = vec![0_u32; self.inputs.len()];
        for cell in &cells {
            let length = u32::try_from(cell.bytes().len());
            lengths[cell.input] = length.map_err(|_| raise(py, "InvalidValue", "a payload of 4 GiB or more", &[]))?;
        }
        let writer = self.open(py)?;
        match writer.reserve(&lengths, now_ns).map_err(|error| raised(py, &error))? {
            Reserved::SealFirst => return Ok("seal_first"),
            Reserved::Full => return Ok("full"),
            Reserved::Ready => {}
        }
        for cell in &cells {
            place(writer, cell, in_place);
        }
        if abandon {
            writer.abandon_row();
        } else {
            writer.commit_row(&head);
        }
        Ok("ready")
    }

    /// Records a frame that was not joined. Returns False if the batch must be sealed first.
    #[pyo3(signature = (
        input, *, stream=0, epoch=1, seq=0, seq_last=None, timestamp_ns=None, out_seq=None, at_ns=0,
        cause="no_partner", now_ns=0
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn unmatched(
        &mut self,
        py: Python<'_>,
        input: &str,
        stream: u32,
        epoch: u64,
        seq: u64,
        seq_last: Option<u64>,
        timestamp_ns: Option<u64>,
        out_seq: Option<u64>,
        at_ns: i64,
        cause: &str,
        now_ns: u64,
    ) -> PyResult<bool> {
        let Some(input) = self.inputs.iter().position(|name| name == input) else {
            return Err(raise(py, "InvalidValue", &format!("the journal has no input {input:?}"), &[]));
        };
        if cause.len() > framegate_journal::CAUSE_BYTES {
            return Err(raise(py, "InvalidValue", &format!("{cause:?} is too long a cause"), &[]));
        }
        let seq_last = seq_last.unwrap_or(seq);
        let row = Unmatched { input, stream, epoch, seq, seq_last, timestamp_ns, out_seq, at_ns, cause };
        Ok(self.open(py)?.unmatched(&row, now_ns))
    }

    #[pyo3(signature = (now_ns=0))]
    fn is_seal_due(&mut self, py: Python<'_>, now_ns: u64) -> PyResult<bool> {
        Ok(self.open(py)?.is_seal_due(now_ns))
    }

    /// Seals the batch: readers see what was appended, with the state after it. Returns (seal, first_row, rows,
    /// unmatched_rows).
    #[pyo3(signature = (state=None, now_ns=0))]
    fn seal(&mut self, py: Python<'_>, state: Option<&[u8]>, now_ns: u64) -> PyResult<(u64, u64, u32, u32)> {
        let writer = self.open(py)?;
        let sealed = py.detach(|| writer.seal(now_ns, |text| text.extend_from_slice(state.unwrap_or(b"{}"))));
        let Sealed { seal, first_row, rows, unmatched_rows } = sealed.map_err(|error| raised(py, &error))?;
        Ok((seal, first_row, rows, unmatched_rows))
    }

    fn set_floor(&mut self, py: Python<'_>, floor: Option<u64>) -> PyResult<()> {
        self.open(py)?.set_floor(floor);
        Ok(())
    }

    #[pyo3(signature = (now_ns=0))]
    fn heartbeat(&mut self, py: Python<'_>, now_ns: u64) -> PyResult<()> {
        self.open(py)?.heartbeat(now_ns).map_err(|error| raised(py, &error))
    }

    /// Waits for the file of the next segment. Returns False if it does not exist after the time.
    #[pyo3(signature = (timeout_s, now_ns=0))]
    fn wait_for_segment(&mut self, py: Python<'_>, timeout_s: f64, now_ns: u64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or(Duration::MAX);
        let writer = self.open(py)?;
        Ok(py.detach(|| writer.wait_for_segment(now_ns, timeout)))
    }

    fn sync(&mut self, py: Python<'_>) -> PyResult<()> {
        let writer = self.open(py)?;
        py.detach(|| writer.sync()).map_err(|error| raised(py, &error))
    }

    /// Seals the batch, finishes the open segments, and marks the journal as closed.
    #[pyo3(signature = (state=None, now_ns=0))]
    fn close(&mut self, py: Python<'_>, state: Option<&[u8]>, now_ns: u64) -> PyResult<()> {
        self.open(py)?;
        let Some(writer) = self.slot().take() else { return Ok(()) };
        let closed = py.detach(|| writer.close(now_ns, |text| text.extend_from_slice(state.unwrap_or(b"{}"))));
        closed.map(drop).map_err(|error| raised(py, &error))
    }

    /// Drops the writer without closing the journal, as a crash would.
    fn drop_open(&mut self, py: Python<'_>) {
        let writer = self.slot().take();
        py.detach(|| drop(writer));
    }

    fn counters<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counters(py, &self.open(py)?.counters())
    }

    #[getter]
    fn next_row(&mut self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.open(py)?.next_row())
    }

    #[getter]
    fn unsealed_rows(&mut self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.open(py)?.unsealed_rows())
    }
}

impl JournalWriter {
    fn slot(&mut self) -> &mut Option<Writer> {
        self.writer.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&mut self, py: Python<'_>) -> PyResult<&mut Writer> {
        let closed = || raised(py, &JournalError::Config("the writer is closed".into()));
        self.slot().as_mut().ok_or_else(closed)
    }
}

/// Copies a payload to its place, with or without the fused copy, and records what the input holds.
fn place(writer: &mut Writer, cell: &GivenCell, in_place: bool) {
    let bytes = cell.bytes();
    if in_place {
        let target = writer.place(cell.input);
        // SAFETY: that many bytes were reserved there; the source is Python's, and no part of the journal.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
    } else {
        // SAFETY: the buffer is borrowed for this call and as long as what was reserved.
        unsafe { writer.copy_payload(cell.input, bytes.as_ptr(), bytes.len()) };
    }
    let given = Cell {
        status: cell.status,
        seq: cell.seq,
        timestamp_ns: cell.timestamp_ns,
        epoch: cell.epoch,
        trace_id: cell.trace_id,
        dtype: cell.dtype,
        dims: &cell.shape,
        bytes: bytes.len() as u32,
    };
    writer.cell(cell.input, &given);
}
