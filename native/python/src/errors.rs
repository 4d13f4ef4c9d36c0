// SPDX-License-Identifier: Apache-2.0
//! Raises the Python errors of `framegate.schema.errors` from Rust, by class name, so that both languages have one
//! set.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// Makes `framegate.schema.errors.<class_name>(message, **facts)`.
///
/// If even that fails (the class is missing, memory is short), the returned error is that failure.
pub fn raise(py: Python<'_>, class_name: &str, message: &str, facts: &[(&str, Bound<'_, PyAny>)]) -> PyErr {
    build(py, class_name, message, facts).map_or_else(|failure| failure, PyErr::from_value)
}

fn build<'py>(
    py: Python<'py>,
    class_name: &str,
    message: &str,
    facts: &[(&str, Bound<'_, PyAny>)],
) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("framegate.schema.errors")?.getattr(class_name)?.cast_into::<PyType>()?;
    let keywords = PyDict::new(py);
    for (name, fact) in facts {
        keywords.set_item(name, fact)?;
    }
    class.call((message,), Some(&keywords))
}
