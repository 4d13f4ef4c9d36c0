// SPDX-License-Identifier: Apache-2.0
//! CRC-32C for Python, the head columns of a row, and the names of the journal's fault points.

use framegate_journal::{CELL_COLUMNS, HEAD_COLUMNS, HeadType};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::buffer::ExportedBuffer;

/// CRC-32C of `data`, continued from `seed`, which is the CRC of what came before.
#[pyfunction]
#[pyo3(signature = (data, seed=0))]
pub fn crc32c(data: &Bound<'_, PyAny>, seed: u32) -> PyResult<u32> {
    let buffer = ExportedBuffer::of(data, ffi::PyBUF_C_CONTIGUOUS)?;
    let bytes = buffer.bytes();
    Ok(data.py().detach(|| framegate_journal::crc::extend(seed, bytes)))
}

/// The columns that come before those of the inputs in every row: the name of each, and its type, `int64` or
/// `timestamp`.
#[pyfunction]
pub fn journal_columns() -> Vec<(&'static str, &'static str)> {
    let word = |kind| match kind {
        HeadType::Int64 => "int64",
        HeadType::Timestamp => "timestamp",
    };
    HEAD_COLUMNS.into_iter().map(|(name, kind)| (name, word(kind))).collect()
}

/// The columns of an input within a row: the name of each, and its type, `int64`, `text`, `list` or `binary`.
#[pyfunction]
pub fn journal_cells() -> Vec<(&'static str, &'static str)> {
    CELL_COLUMNS.to_vec()
}

/// The names of the places where `FRAMEGATE_FAULT` can kill a journal's writer.
#[pyfunction]
pub fn journal_fault_points() -> Vec<&'static str> {
    framegate_journal::FAULT_POINTS.to_vec()
}
