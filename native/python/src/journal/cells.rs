// SPDX-License-Identifier: Apache-2.0
//! The cells of a row, as Python gives them.

use framegate_journal::Status;
use framegate_journal::layout::DTYPE_NAMES;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffer::ExportedBuffer;
use crate::errors::raise;

/// One cell of a row: what an input contributes.
pub(super) struct GivenCell {
    pub(super) input: usize,
    pub(super) status: Status,
    pub(super) payload: Option<ExportedBuffer>,
    pub(super) seq: u64,
    pub(super) timestamp_ns: Option<u64>,
    pub(super) epoch: u64,
    pub(super) trace_id: u64,
    pub(super) dtype: i16,
    pub(super) shape: Vec<i32>,
}

impl GivenCell {
    pub(super) fn bytes(&self) -> &[u8] {
        self.payload.as_ref().map_or(&[], ExportedBuffer::bytes)
    }
}

/// Reads `{input: {payload, seq, ...}}`; an input that is missing or None was not joined.
pub(super) fn read(given: &Bound<'_, PyDict>, inputs: &[String]) -> PyResult<Vec<GivenCell>> {
    let mut cells = Vec::with_capacity(given.len());
    for (name, cell) in given.iter() {
        let name: String = name.extract()?;
        let Some(input) = inputs.iter().position(|input| *input == name) else {
            return Err(raise(given.py(), "InvalidValue", &format!("the journal has no input {name:?}"), &[]));
        };
        if !cell.is_none() {
            cells.push(read_one(input, cell.cast::<PyDict>()?)?);
        }
    }
    Ok(cells)
}

fn read_one(input: usize, given: &Bound<'_, PyDict>) -> PyResult<GivenCell> {
    let number = |key: &str| given.get_item(key)?.map_or(Ok(0), |value| value.extract());
    let optional = |key: &str| given.get_item(key)?.map_or(Ok(None), |value| value.extract());
    let status = match given.get_item("status")? {
        None => Status::Present,
        Some(name) => status(&name)?,
    };
    let payload = match given.get_item("payload")? {
        Some(payload) if status == Status::Present => Some(ExportedBuffer::of(&payload, ffi::PyBUF_C_CONTIGUOUS)?),
        _ => None,
    };
    let bytes = payload.as_ref().map_or(0, |payload| payload.bytes().len());
    let dtype = match given.get_item("dtype")? {
        None => 1,
        Some(name) => dtype(&name)?,
    };
    let shape = match given.get_item("shape")? {
        None => vec![i32::try_from(bytes).unwrap_or(i32::MAX)],
        Some(shape) => shape.extract()?,
    };
    Ok(GivenCell {
        input,
        status,
        payload,
        seq: number("seq")?,
        timestamp_ns: optional("timestamp_ns")?,
        epoch: number("epoch")?,
        trace_id: number("trace_id")?,
        dtype,
        shape,
    })
}

fn status(name: &Bound<'_, PyAny>) -> PyResult<Status> {
    let all = [Status::Present, Status::Stale, Status::Late, Status::NotJoined];
    let text: String = name.extract()?;
    all.into_iter()
        .find(|status| status.name() == text)
        .ok_or_else(|| raise(name.py(), "InvalidValue", &format!("no status is called {text:?}"), &[]))
}

fn dtype(name: &Bound<'_, PyAny>) -> PyResult<i16> {
    let text: String = name.extract()?;
    let found = DTYPE_NAMES.iter().position(|dtype| !text.is_empty() && *dtype == text);
    let missing = || raise(name.py(), "InvalidValue", &format!("no dtype is called {text:?}"), &[]);
    found.map(|code| code as i16).ok_or_else(missing)
}
