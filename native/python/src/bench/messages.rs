// SPDX-License-Identifier: Apache-2.0
//! Messages without frames: offers, polls and round trips.

use std::time::Instant;

use framegate_core::idle::{IdleStrategy, Idler, tighten_timer_slack};
use pyo3::prelude::*;

use super::{LONGEST_RUN, nanoseconds, strategy};
use crate::aeron::{AeronPublication, AeronSubscription, is_retryable};

/// Offers `count` messages of `message_bytes`. Returns nanoseconds, and how many messages were taken.
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

/// Like `bench_offer`, but with Aeron's own call alone. The log is locked once for the whole run, nothing is counted,
/// and a full log is retried at once.
#[pyfunction]
pub fn bench_bare_offer(
    py: Python<'_>,
    publication: &AeronPublication,
    message_bytes: usize,
    count: u64,
) -> (u64, u64) {
    let message = vec![0x5A_u8; message_bytes];
    py.detach(|| {
        publication.with_log(|log| {
            let began = Instant::now();
            let (mut taken, mut refusals) = (0, 0_u64);
            while taken < count {
                let answer = log.offer(std::hint::black_box(&message));
                if answer >= 0 {
                    taken += 1;
                    continue;
                }
                refusals += 1;
                // The clock is read rarely: reading it costs as much as the offers that are measured.
                let is_late = refusals.is_multiple_of(1 << 16) && began.elapsed() > LONGEST_RUN;
                if is_late || !is_retryable(answer) {
                    break;
                }
            }
            (nanoseconds(began), taken)
        })
    })
}

/// Polls `count` fragments that are ready, and only counts them. Returns nanoseconds, and how many fragments were seen.
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

/// Sends `rounds` messages, each when the one before it has come back. Returns a round-trip time for each.
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

/// Sends every message back, until `rounds` were answered or nothing came for `LONGEST_RUN`.
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

/// Waits for one message. Returns None if none came.
fn await_one(subscription: &AeronSubscription, strategy: IdleStrategy) -> Option<Vec<u8>> {
    let mut idler = Idler::new(strategy);
    let mut found = None;
    let mut turns = 0_u32;
    let mut deadline = None;
    while found.is_none() {
        let polled = subscription.poll_natively(1, |fragment| found = Some(fragment.to_vec()));
        turns = turns.wrapping_add(1);
        // The clock is read rarely: reading it costs as much as the poll that is measured.
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
