// SPDX-License-Identifier: Apache-2.0
//! `parse_toml`: a TOML document as Python values, with the line and column of every key and value.

use framegate_core::toml_positions::{self, Place, Position, Step, TomlFault, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::raise;

/// Parses `text`. Returns the root table, and for each path `(key line, key column, value line, value column)`.
///
/// A path is a tuple of keys and array indices. Lines and columns count from 1. Raises `InvalidToml` with
/// `line` and `column`.
#[pyfunction]
pub fn parse_toml<'py>(py: Python<'py>, text: &str) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let parsed = toml_positions::parse(text).map_err(|fault| invalid(py, &fault))?;
    Ok((table(py, &parsed.root)?, places(py, &parsed.places)?))
}

fn invalid(py: Python<'_>, fault: &TomlFault) -> PyErr {
    match numbers(py, fault.at) {
        Ok((line, column)) => raise(py, "InvalidToml", &fault.message, &[("line", line), ("column", column)]),
        Err(failure) => failure,
    }
}

fn numbers(py: Python<'_>, at: Position) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    Ok((at.line.into_pyobject(py)?.into_any(), at.column.into_pyobject(py)?.into_any()))
}

fn places<'py>(py: Python<'py>, places: &[Place]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for place in places {
        let (key, value) = (place.key, place.value);
        found.set_item(path(py, &place.path)?, (key.line, key.column, value.line, value.column))?;
    }
    Ok(found)
}

fn path<'py>(py: Python<'py>, steps: &[Step]) -> PyResult<Bound<'py, PyTuple>> {
    let step = |step: &Step| match step {
        Step::Key(name) => Ok(name.into_pyobject(py)?.into_any()),
        Step::Index(index) => Ok(index.into_pyobject(py)?.into_any()),
    };
    PyTuple::new(py, steps.iter().map(step).collect::<PyResult<Vec<_>>>()?)
}

fn table<'py>(py: Python<'py>, entries: &[(String, Value)]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, entry) in entries {
        found.set_item(name, value(py, entry)?)?;
    }
    Ok(found)
}

fn value<'py>(py: Python<'py>, value_found: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value_found {
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Boolean(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Datetime(text) => time(py, text)?,
        Value::Array(items) => {
            let items = items.iter().map(|item| value(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Table(entries) => table(py, entries)?.into_any(),
    })
}

/// Parses a date or time. No configuration key takes one, but it must not pass for the string that it was written as.
fn time<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let class = match (text.contains('-'), text.contains(':')) {
        (true, true) => "datetime",
        (true, false) => "date",
        (false, _) => "time",
    };
    let made = py.import("datetime")?.getattr(class)?.call_method1("fromisoformat", (text,));
    // TOML allows leap seconds, and Python does not.
    made.map_err(|_| raise(py, "InvalidToml", &format!("{text} is no time that Python knows"), &[]))
}
