// SPDX-License-Identifier: Apache-2.0
//! What a journal's writer has counted, by name.

use framegate_journal::Counters;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) fn counters<'py>(py: Python<'py>, counted: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, value) in [
        ("rows", counted.rows),
        ("bytes", counted.bytes),
        ("seals", counted.seals),
        ("unmatched_rows", counted.unmatched_rows),
        ("segments_made", counted.segments_made),
        ("segments_recycled", counted.segments_recycled),
        ("segments_dropped", counted.segments_dropped),
        ("segments_held", counted.segments_held),
        ("slack_bytes", counted.slack_bytes),
        ("blocked", counted.blocked),
        ("no_room", counted.no_room),
        ("rows_dropped_early", counted.rows_dropped_early),
        ("first_row", counted.first_row),
        ("next_row", counted.next_row),
    ] {
        found.set_item(name, value)?;
    }
    Ok(found)
}
