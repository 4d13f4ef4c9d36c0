// SPDX-License-Identifier: Apache-2.0
//! Files of in-flight frames, written and read for Python.

use framegate_checkpoint::inflight::{Damaged, encoded_bytes, read_records, write_records};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::raise;

/// The bytes of a whole in-flight file.
#[pyfunction]
pub fn checkpoint_write_records<'py>(
    py: Python<'py>,
    input_id: u32,
    records: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let all = || records.iter().map(|record| record.as_bytes());
    PyBytes::new_with(py, encoded_bytes(all()), |out| match write_records(input_id, all(), out) {
        Some(_) => Ok(()),
        None => Err(raise(py, "InvalidValue", "a record is longer than 4294967295 bytes", &[])),
    })
}

/// Reads an in-flight file: the number of its input, and its records.
#[pyfunction]
pub fn checkpoint_read_records<'py>(py: Python<'py>, data: &[u8]) -> PyResult<(u32, Vec<Bound<'py, PyBytes>>)> {
    let mut records = Vec::new();
    let input = read_records(data, |record| records.push(PyBytes::new(py, record)));
    let input = input.map_err(|damaged| {
        let (message, name, number) = match damaged {
            Damaged::Short { wanted } => ("in-flight data end early", "wanted_bytes", wanted),
            Damaged::Long { wanted } => ("in-flight data go on behind their events", "wanted_bytes", wanted),
            Damaged::Count(count) => ("in-flight data hold fewer events than they say", "event_count", count),
        };
        match number.into_pyobject(py) {
            Ok(number) => raise(py, "CheckpointDamaged", message, &[(name, number.into_any())]),
            Err(never) => match never {},
        }
    })?;
    Ok((input, records))
}
