// SPDX-License-Identifier: Apache-2.0
//! A plan: a dict of plain values that says how something native works, read by the names of its fields.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;

use crate::errors::raise;

/// What a plan says. Raises InvalidValue where a field is missing, or holds what it cannot.
pub fn read<T: DeserializeOwned>(plan: &Bound<'_, PyDict>) -> PyResult<T> {
    let py = plan.py();
    let text: String = py.import("json")?.call_method1("dumps", (plan,))?.extract()?;
    serde_json::from_str(&text).map_err(|failure| raise(py, "InvalidValue", &failure.to_string(), &[]))
}
