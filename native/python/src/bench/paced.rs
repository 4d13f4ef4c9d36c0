// SPDX-License-Identifier: Apache-2.0
//! Frames at a given rate, as a camera sends them, and their age on arrival.

use std::time::Duration;

use framegate_core::idle::{Idler, tighten_timer_slack};
use pyo3::prelude::*;
use rusteron_client::Aeron;

use super::{LONGEST_RUN, span, strategy};
use crate::errors::raise;
use crate::pool::{Load, PoolConsumer, PoolProducer, PublishFault};

/// How many frames are sent between two readings of the clock.
const BURST: u64 = 64;
/// The shortest sleep, if several frames fall due within it. A sleep costs more than publishing a small frame. Sleeping
/// before every frame would take the cores from the very program that is measured.
const SHORTEST_SLEEP_NS: u64 = 50_000;

/// The result of a paced run: `sent, not_sent, first_seq, last_seq, elapsed_ns`.
type Sent = (u64, u64, Option<u64>, Option<u64>, u64);

/// Publishes `rate_hz` frames of `frame_bytes` a second, each stamped with the time at which it is published. Rate 0
/// means as fast as possible. Ends after `count` frames or after `seconds`, whichever comes first.
///
/// Frame k is due k periods after the first. The loop sleeps until the next frame is due, but at least 50 us if several
/// fall due within that time, and then sends every frame that is due. So a late wake-up makes a burst, and the rate
/// stays the same. Frames that were not sent are counted: those that were due at the end and had not had their turn,
/// and those whose descriptor could not be sent.
#[pyfunction]
#[pyo3(signature = (producer, frame_bytes, rate_hz, *, count = None, seconds = None, copied = true))]
pub fn bench_paced(
    py: Python<'_>,
    producer: &PoolProducer,
    frame_bytes: u32,
    rate_hz: f64,
    count: Option<u64>,
    seconds: Option<f64>,
    copied: bool,
) -> PyResult<Sent> {
    let longest = seconds.map_or(Ok(LONGEST_RUN), |seconds| span(py, seconds))?;
    if !(rate_hz.is_finite() && rate_hz >= 0.0) || (count.is_none() && seconds.is_none()) {
        let fact = rate_hz.into_pyobject(py)?.into_any();
        let what = "a paced run needs a rate of 0 or more, and a count or seconds that end it";
        return Err(raise(py, "InvalidValue", what, &[("rate_hz", fact)]));
    }
    let load = Load::new(frame_bytes, copied).stamped();
    let schedule = Schedule { rate_hz, count: count.unwrap_or(u64::MAX), longest };
    let run = py.detach(|| schedule.run(|| producer.publish_natively(&load).map(|made| (made.seq, made.answer >= -1))));
    run.map_err(|fault| producer.fault(py, &fault, frame_bytes))
}

struct Schedule {
    rate_hz: f64,
    count: u64,
    longest: Duration,
}

impl Schedule {
    /// How many frames are due at this time after the first one.
    fn due(&self, elapsed_ns: u64) -> u64 {
        if self.rate_hz == 0.0 {
            return self.count;
        }
        // The cast rounds towards zero; frame 0 is due at once.
        self.count.min((elapsed_ns as f64 * self.rate_hz / 1e9) as u64 + 1)
    }

    /// When a frame is due, in nanoseconds after the first one.
    fn due_ns(&self, frame: u64) -> u64 {
        (frame as f64 / self.rate_hz * 1e9).ceil() as u64
    }

    fn run(&self, mut publish: impl FnMut() -> Result<(u64, bool), PublishFault>) -> Result<Sent, PublishFault> {
        tighten_timer_slack();
        let longest_ns = u64::try_from(self.longest.as_nanos()).unwrap_or(u64::MAX);
        let shortest_ns = if self.due_ns(1) < SHORTEST_SLEEP_NS { SHORTEST_SLEEP_NS } else { 0 };
        let began_ns = now_ns();
        let (mut done, mut sent, mut first, mut last) = (0, 0, None, None);
        let elapsed_ns = loop {
            let elapsed_ns = now_ns() - began_ns;
            if done == self.count || elapsed_ns >= longest_ns {
                break elapsed_ns;
            }
            let due = self.due(elapsed_ns);
            if done == due {
                let due_ns = self.due_ns(done).max(elapsed_ns + shortest_ns);
                std::thread::sleep(Duration::from_nanos(due_ns.min(longest_ns).saturating_sub(elapsed_ns)));
                continue;
            }
            let burst = (due - done).min(BURST);
            done += burst;
            for _ in 0..burst {
                let (seq, is_announced) = publish()?;
                sent += u64::from(is_announced);
                first = first.or(Some(seq));
                last = Some(seq);
            }
        };
        let wanted = if self.rate_hz == 0.0 { done } else { self.due(elapsed_ns.min(longest_ns)).max(done) };
        Ok((sent, wanted - sent, first, last, elapsed_ns))
    }
}

/// The ages of `count` frames when a native loop had read them: from the time in the slot to the end of its validation.
///
/// The loop idles by the named strategy. It returns fewer ages if `seconds` are over or the stream ends first.
#[pyfunction]
pub fn bench_ages(
    py: Python<'_>,
    consumer: &PoolConsumer,
    count: usize,
    idle: &str,
    seconds: f64,
) -> PyResult<Vec<u64>> {
    let (strategy, longest) = (strategy(py, idle)?, span(py, seconds)?);
    Ok(py.detach(|| {
        tighten_timer_slack();
        let deadline_ns = now_ns().saturating_add(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX));
        let mut ages = Vec::with_capacity(count.min(1 << 20));
        let mut idler = Idler::new(strategy);
        while ages.len() < count && now_ns() < deadline_ns {
            let room = count - ages.len();
            let seen = consumer.read_natively(room, |frame| {
                if frame.is_valid() {
                    ages.push(now_ns().saturating_sub(frame.header.timestamp_ns));
                }
            });
            if seen == 0 { idler.idle() } else { idler.reset() }
        }
        ages
    }))
}

/// The time by the clock that stamps the frames.
fn now_ns() -> u64 {
    Aeron::nano_clock() as u64
}
