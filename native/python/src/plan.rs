// SPDX-License-Identifier: Apache-2.0
//! A plan: a dict of plain values that configures a native object. Its keys are the names of the fields.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;

use crate::errors::raise;

/// Reads a plan. Raises InvalidValue if a field is missing, or has a value that it cannot have.
pub fn read<T: DeserializeOwned>(plan: &Bound<'_, PyDict>) -> PyResult<T> {
    let py = plan.py();
    let text: String = py.import("json")?.call_method1("dumps", (plan,))?.extract()?;
    serde_json::from_str(&text).map_err(|failure| raise(py, "InvalidValue", &failure.to_string(), &[]))
}
