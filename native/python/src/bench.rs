// SPDX-License-Identifier: Apache-2.0
//! The native side of `framegate bench`: the same work without Python around it, as the floor to compare with.
//!
//! These loops use the very publications and subscriptions that Python holds, so that both sides of a
//! comparison share channel, driver, process and minute.

use std::time::{Duration, Instant};

use framegate_core::idle::{IdleStrategy, Idler, tighten_timer_slack};
use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::layout::slot_index;
use pyo3::prelude::*;

use crate::aeron::{AeronPublication, AeronSubscription};
use crate::errors::raise;
use crate::pool::{PoolConsumer, PoolProducer, PoolRegions};

/// Answers above it are positions and what may be retried; this and below is a frame that was not published.
const NO_FRAME: i64 = -4;

/// No loop here runs longer, whatever the other side does.
const LONGEST_RUN: Duration = Duration::from_secs(120);

fn strategy(py: Python<'_>, name: &str) -> PyResult<IdleStrategy> {
    IdleStrategy::from_name(name).ok_or_else(|| raise(py, "InvalidValue", "no such idle strategy", &[]))
}

/// Nanoseconds to offer `count` messages of `message_bytes`; fewer may have been taken.
#[pyfunction]
pub fn bench_offer(py: Python<'_>, publication: &AeronPublication, message_bytes: usize, count: u64) -> (u64, u64) {
    let message = vec![0x5A_u8; message_bytes];
    py.detach(|| {
        let began = Instant::now();
        let mut taken = 0;
        while taken < count && publication.offer_natively(&message) >= 0 {
            taken += 1;
        }
        (nanoseconds(began), taken)
    })
}

/// Nanoseconds to poll `count` fragments that lie ready, counting them and nothing else.
#[pyfunction]
pub fn bench_poll(py: Python<'_>, subscription: &AeronSubscription, count: u64, limit: usize) -> (u64, u64) {
    py.detach(|| {
        let began = Instant::now();
        let mut seen = 0_u64;
        while seen < count && began.elapsed() < LONGEST_RUN {
            subscription.poll_natively(limit, |fragment| {
                std::hint::black_box(fragment);
                seen += 1;
            });
        }
        (nanoseconds(began), seen)
    })
}

/// Sends `rounds` messages one after another, each when the last one has come back; a round trip time for each.
#[pyfunction]
pub fn bench_ping(
    py: Python<'_>,
    publication: &AeronPublication,
    subscription: &AeronSubscription,
    rounds: usize,
    message_bytes: usize,
    idle: &str,
) -> PyResult<Vec<u64>> {
    let strategy = strategy(py, idle)?;
    let message = vec![0x5A_u8; message_bytes];
    Ok(py.detach(|| {
        tighten_timer_slack();
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let began = Instant::now();
            if publication.offer_natively(&message) < 0 || await_one(subscription, strategy).is_none() {
                break;
            }
            times.push(nanoseconds(began));
        }
        times
    }))
}

/// Sends back every message until `rounds` were answered or nothing came for the longest run.
#[pyfunction]
pub fn bench_echo(
    py: Python<'_>,
    subscription: &AeronSubscription,
    publication: &AeronPublication,
    rounds: usize,
    idle: &str,
) -> PyResult<usize> {
    let strategy = strategy(py, idle)?;
    Ok(py.detach(|| {
        tighten_timer_slack();
        for round in 0..rounds {
            let Some(message) = await_one(subscription, strategy) else { return round };
            if publication.offer_natively(&message) < 0 {
                return round;
            }
        }
        rounds
    }))
}

/// Nanoseconds to publish `count` frames of `frame_bytes` from one buffer; fewer may have been published.
#[pyfunction]
pub fn bench_publish(py: Python<'_>, producer: &PoolProducer, frame_bytes: usize, count: u64) -> (u64, u64) {
    let payload = vec![0x5A_u8; frame_bytes];
    py.detach(|| {
        let began = Instant::now();
        let mut published = 0;
        while published < count && producer.publish_natively(&payload) > NO_FRAME {
            published += 1;
        }
        (nanoseconds(began), published)
    })
}

/// Nanoseconds to read `count` frames, each validated before and after, and copied if `copied` says so.
#[pyfunction]
pub fn bench_read(
    py: Python<'_>,
    consumer: &PoolConsumer,
    count: u64,
    limit: usize,
    copied: bool,
    seconds: f64,
) -> (u64, u64, u64) {
    py.detach(|| {
        let mut target = vec![0_u8; 8 << 20];
        let (began, deadline) = (Instant::now(), Instant::now() + Duration::from_secs_f64(seconds));
        let (mut seen, mut valid) = (0_u64, 0_u64);
        while seen < count && Instant::now() < deadline {
            consumer.read_natively(limit, |frame| {
                seen += 1;
                let is_whole = if copied && frame.header.values_bytes as usize <= target.len() {
                    // SAFETY: the target is as long as the payload, and the consumer keeps the regions mapped.
                    unsafe {
                        frame.copy_to(CopyKind::for_payload(frame.header.values_bytes as usize), target.as_mut_ptr())
                    }
                } else {
                    frame.is_valid()
                };
                valid += u64::from(is_whole);
            });
        }
        (nanoseconds(began), seen, valid)
    })
}

/// Nanoseconds to copy `count` payloads of `frame_bytes` into the slots of these regions and do nothing else.
#[pyfunction]
pub fn bench_copy(
    py: Python<'_>,
    regions: &PoolRegions,
    frame_bytes: u32,
    count: u64,
    non_temporal: bool,
) -> PyResult<u64> {
    let regions = regions.mapped(py)?;
    let Some(pool) = regions.pool_for(frame_bytes) else {
        return Err(raise(py, "FrameTooLarge", "no pool of the stream has slots that large", &[]));
    };
    let payload = vec![0x5A_u8; frame_bytes as usize];
    let kind = if non_temporal { CopyKind::NonTemporal } else { CopyKind::Plain };
    Ok(py.detach(|| {
        let began = Instant::now();
        for seq in 0..count {
            let target = regions.payload(pool, slot_index(seq, regions.nslots()));
            // SAFETY: the pool was chosen to hold the payload, and the regions stay mapped here.
            unsafe { copy(kind, payload.as_ptr(), target, payload.len()) };
        }
        nanoseconds(began)
    }))
}

/// Waits for one message; None when none came.
fn await_one(subscription: &AeronSubscription, strategy: IdleStrategy) -> Option<Vec<u8>> {
    let mut idler = Idler::new(strategy);
    let mut found = None;
    let mut turns = 0_u32;
    let mut deadline = None;
    while found.is_none() {
        let polled = subscription.poll_natively(1, |fragment| found = Some(fragment.to_vec()));
        turns = turns.wrapping_add(1);
        // The clock is looked at rarely: reading it costs as much as the poll that is measured.
        if polled < 0
            || (turns.is_multiple_of(1024)
                && Instant::now() > *deadline.get_or_insert_with(|| Instant::now() + LONGEST_RUN))
        {
            return None;
        }
        if found.is_none() {
            idler.idle();
        }
    }
    found
}

fn nanoseconds(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
