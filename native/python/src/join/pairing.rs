// SPDX-License-Identifier: Apache-2.0
//! The best one-to-one pairing by nearest time, as a Python class for the conformance suite. A stage uses it
//! natively.

use framegate_join::pairing::{FAR, Pairing, Question};
use pyo3::prelude::*;

/// The native pairing; its rules are those of `spec/join/pairing.py`. None stands for any distance, and for a horizon
/// after which nothing comes.
#[pyclass(module = "framegate._native")]
pub struct NearestPairing {
    pairing: Pairing,
}

#[pymethods]
impl NearestPairing {
    #[new]
    fn new() -> Self {
        Self { pairing: Pairing::default() }
    }

    /// The chosen frame, and whether it was chosen early. None while a later frame or output could still change the
    /// choice.
    fn first_choice(
        &mut self,
        xs: Vec<i64>,
        ys: Vec<i64>,
        reach: (Option<i64>, Option<i64>),
        horizons: (Option<i64>, Option<i64>),
        outputs_max: usize,
        is_forced: bool,
    ) -> Option<(Option<u64>, bool)> {
        let far = |time: Option<i64>| time.map_or(FAR, i128::from);
        let asked = Question {
            behind: far(reach.0),
            ahead: far(reach.1),
            x_horizon: far(horizons.0),
            y_horizon: far(horizons.1),
            outputs_max,
            is_forced,
        };
        let ys = (0..).zip(ys.into_iter().map(i128::from));
        let choice = self.pairing.first_choice(&asked, xs.into_iter().map(i128::from), ys)?;
        Some((choice.partner, choice.is_early))
    }

    /// How many cells of the pairing table were computed since the start.
    #[getter]
    fn cells(&self) -> u64 {
        self.pairing.cells()
    }
}
