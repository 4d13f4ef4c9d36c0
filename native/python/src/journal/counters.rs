// SPDX-License-Identifier: Apache-2.0
//! The counters of a journal's writer, by name.

use framegate_journal::Counters;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) fn counters<'py>(py: Python<'py>, counted: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, value) in counted.named() {
        found.set_item(name, value)?;
    }
    Ok(found)
}
