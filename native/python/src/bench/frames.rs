// SPDX-License-Identifier: Apache-2.0
//! Frames at full speed: how long it takes to write them, to read them, and merely to copy their payloads.

use std::time::Instant;

use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::layout::slot_index;
use pyo3::prelude::*;

use super::{nanoseconds, span};
use crate::errors::raise;
use crate::pool::{Load, PoolConsumer, PoolProducer, PoolRegions};

/// The longest payload that `bench_read` copies. Of longer ones it only checks whether they are whole.
const COPIED_BYTES_MAX: usize = 8 << 20;

/// Answers above this one are positions, or say that a descriptor could not be sent. A camera does not stop for those
/// either.
const GONE: i64 = -4;

/// Publishes `count` frames of `frame_bytes`; returns nanoseconds, and how many were published.
///
/// With `copied` each payload is copied in from one buffer. Otherwise the slot keeps what it held, and only claim,
/// commit and descriptor are measured.
#[pyfunction]
#[pyo3(signature = (producer, frame_bytes, count, copied = true))]
pub fn bench_publish(
    py: Python<'_>,
    producer: &PoolProducer,
    frame_bytes: u32,
    count: u64,
    copied: bool,
) -> (u64, u64) {
    let load = Load::new(frame_bytes, copied);
    py.detach(|| {
        let began = Instant::now();
        let mut published = 0;
        while published < count && producer.publish_natively(&load).is_ok_and(|made| made.answer > GONE) {
            published += 1;
        }
        (nanoseconds(began), published)
    })
}

/// Reads `count` frames, each validated before and after use, and copied if `copied` is set. Returns nanoseconds, how
/// many frames were seen, and how many of them were whole. Ends after `seconds` in any case.
#[pyfunction]
pub fn bench_read(
    py: Python<'_>,
    consumer: &PoolConsumer,
    count: u64,
    limit: usize,
    copied: bool,
    seconds: f64,
) -> PyResult<(u64, u64, u64)> {
    let longest = span(py, seconds)?;
    Ok(py.detach(|| {
        let mut target = vec![0_u8; if copied { COPIED_BYTES_MAX } else { 0 }];
        let began = Instant::now();
        let (mut seen, mut valid) = (0_u64, 0_u64);
        while seen < count && began.elapsed() < longest {
            consumer.read_natively(limit, |frame| {
                seen += 1;
                let bytes = frame.header.values_bytes as usize;
                let is_whole = if copied && bytes <= target.len() {
                    // SAFETY: the target is as long as the payload, and the consumer keeps the regions mapped.
                    unsafe { frame.copy_to(CopyKind::for_payload(bytes), target.as_mut_ptr()) }
                } else {
                    frame.is_valid()
                };
                valid += u64::from(is_whole);
            });
        }
        (nanoseconds(began), seen, valid)
    }))
}

/// Copies `count` payloads of `frame_bytes` into the slots of these regions, beginning with the slot of sequence
/// `first`. Returns nanoseconds; nothing but the copies is measured.
#[pyfunction]
#[pyo3(signature = (regions, frame_bytes, count, non_temporal, first = 0))]
pub fn bench_copy(
    py: Python<'_>,
    regions: &PoolRegions,
    frame_bytes: u32,
    count: u64,
    non_temporal: bool,
    first: u64,
) -> PyResult<u64> {
    let regions = regions.mapped(py)?;
    let Some(pool) = regions.pool_for(frame_bytes) else {
        return Err(raise(py, "FrameTooLarge", "no pool of the stream has slots that large", &[]));
    };
    let payload = vec![0x5A_u8; frame_bytes as usize];
    let kind = if non_temporal { CopyKind::NonTemporal } else { CopyKind::Plain };
    Ok(py.detach(|| {
        let began = Instant::now();
        for seq in first..first + count {
            let target = regions.payload(pool, slot_index(seq, regions.nslots()));
            // SAFETY: the pool was chosen to hold the payload, and the regions stay mapped here.
            unsafe { copy(kind, payload.as_ptr(), target, payload.len()) };
        }
        nanoseconds(began)
    }))
}
