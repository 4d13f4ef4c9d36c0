// SPDX-License-Identifier: Apache-2.0
//! The watermarks of an output, as a Python class for the conformance suite. Join engines use them natively.

use framegate_join::output_watermarks;
use pyo3::prelude::*;

type At = (u64, u64);

/// The native watermarks; their rules are those of `spec/join/output_watermarks.py`.
#[pyclass(module = "framegate._native")]
pub struct OutputWatermarks {
    watermarks: output_watermarks::OutputWatermarks,
}

#[pymethods]
impl OutputWatermarks {
    #[new]
    #[pyo3(signature = (*, is_reusing))]
    fn new(is_reusing: bool) -> Self {
        Self { watermarks: output_watermarks::OutputWatermarks::new(Some(0), is_reusing) }
    }

    fn forget(&mut self) {
        self.watermarks.forget();
    }

    #[getter]
    fn is_waiting(&self) -> bool {
        self.watermarks.is_waiting()
    }

    fn note_published(&mut self, timestamp_ns: u64) {
        self.watermarks.note_published(timestamp_ns);
    }

    fn note(&mut self, ms: u64, behind: Option<At>) {
        self.watermarks.note(ms, behind);
    }

    fn release(&mut self, decided: Option<At>, epoch: Option<u64>) {
        self.watermarks.release(decided, epoch);
    }

    fn due(&mut self) -> Option<u64> {
        self.watermarks.due()
    }
}
