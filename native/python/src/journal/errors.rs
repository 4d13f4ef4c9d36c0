// SPDX-License-Identifier: Apache-2.0
//! Converts the journal's failures to numbered errors.

use framegate_journal::JournalError;
use pyo3::prelude::*;

use crate::errors::raise;

/// The numbered error for a failure, with its facts.
pub(crate) fn raised(py: Python<'_>, error: &JournalError) -> PyErr {
    let number = |value: u64| value.into_pyobject(py).map(Bound::into_any);
    let path = |path: &std::path::Path| path.display().to_string().into_pyobject(py).map(Bound::into_any);
    let facts = match error {
        JournalError::NoRoom { want_bytes } => number(*want_bytes).map(|bytes| vec![("want_bytes", bytes)]).ok(),
        JournalError::RowTooLarge { want_bytes, segment_bytes } => number(*want_bytes)
            .and_then(|want| Ok(vec![("want_bytes", want), ("segment_bytes", number(*segment_bytes)?)]))
            .ok(),
        JournalError::Locked { path: file }
        | JournalError::Damaged { path: file, .. }
        | JournalError::Gone { path: file } => path(file).map(|file| vec![("path", file)]).ok(),
        _ => None,
    };
    let class_name = match error {
        JournalError::Locked { .. } => "JournalBusy",
        JournalError::NoRoom { .. } => "NoRoom",
        JournalError::Damaged { .. } => "JournalDamaged",
        JournalError::Config(_) => "WrongUsage",
        _ => "JournalFailed",
    };
    raise(py, class_name, &error.to_string(), &facts.unwrap_or_default())
}
