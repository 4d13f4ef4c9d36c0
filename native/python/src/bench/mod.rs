// SPDX-License-Identifier: Apache-2.0
//! The native side of `framegate bench`: the same work without Python around it, as the lower bound to compare
//! with.
//!
//! These loops use the very objects that Python holds, so both sides of a comparison use the same channel, media
//! driver and process, minutes apart at most.

mod frames;
mod messages;
mod paced;

use std::time::{Duration, Instant};

use framegate_core::idle::IdleStrategy;
pub use frames::{bench_copy, bench_publish, bench_read};
pub use messages::{bench_bare_offer, bench_echo, bench_offer, bench_ping, bench_poll};
pub use paced::{bench_ages, bench_paced};
use pyo3::prelude::*;

use crate::errors::raise;

/// No loop runs longer than this unless its caller gives it a longer time, whatever the other side does.
const LONGEST_RUN: Duration = Duration::from_secs(120);

fn strategy(py: Python<'_>, name: &str) -> PyResult<IdleStrategy> {
    let fact = || name.into_pyobject(py).map_or_else(|never| match never {}, Bound::into_any);
    IdleStrategy::from_name(name).ok_or_else(|| {
        raise(py, "InvalidValue", "an idle strategy is busy, yield, backoff or sleep", &[("idle", fact())])
    })
}

/// Converts a caller's seconds to a duration.
fn span(py: Python<'_>, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        let fact = seconds.into_pyobject(py).map_or_else(|never| match never {}, Bound::into_any);
        raise(py, "InvalidValue", "a time span is a number of seconds, 0 or more", &[("seconds", fact)])
    })
}

fn nanoseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
