// SPDX-License-Identifier: Apache-2.0
//! The mark file of a media driver: it says when the driver last did anything, and so whether one is alive in a
//! directory.

use std::path::Path;

use pyo3::prelude::*;
use rusteron_client::{Aeron, AeronCnc};

use super::c_string;

/// `(heartbeat_age_ms, pid)` of the media driver that owns `aeron_dir`; None if there is no mark to read.
///
/// A driver that runs refreshes its mark every second. A driver that was killed leaves its mark behind unchanged.
#[pyfunction]
pub fn driver_mark(py: Python<'_>, aeron_dir: &str) -> PyResult<Option<(i64, i64)>> {
    // Opening the mark of a directory that does not exist would wait until the directory appears.
    if !Path::new(aeron_dir).join("cnc.dat").is_file() {
        return Ok(None);
    }
    let directory = c_string(py, "aeron_dir", aeron_dir)?;
    let mut mark = None;
    let opened = AeronCnc::read(&directory, |cnc| {
        let pid = cnc.get_constants().map_or(0, |constants| constants.pid());
        mark = cnc.get_to_driver_heartbeat_ms().ok().map(|at_ms| (at_ms, pid));
    });
    let aged = |(at_ms, pid): (i64, i64)| (Aeron::epoch_clock().saturating_sub(at_ms).max(0), pid);
    Ok(opened.ok().and(mark).filter(|(at_ms, _)| *at_ms > 0).map(aged))
}
