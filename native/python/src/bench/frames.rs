// SPDX-License-Identifier: Apache-2.0
//! Frames as fast as they go: written, read, and the bare copy of their payloads.

use std::time::Instant;

use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::layout::slot_index;
use pyo3::prelude::*;

use super::{nanoseconds, span};
use crate::errors::raise;
use crate::pool::{Load, PoolConsumer, PoolProducer, PoolRegions};

/// The longest payload that `bench_read` copies; of longer ones it only looks whether they are whole.
const COPIED_BYTES_MAX: usize = 8 << 20;

/// Answers above it are positions, or say that a descriptor was given up, which a camera does not wait for either.
const GONE: i64 = -4;

/// Nanoseconds to publish `count` frames of `frame_bytes`, copied in from one buffer or, without `copied`, left in the
/// slot as they lie: claim, commit and descriptor alone. Fewer may have been published.
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

/// Nanoseconds to read `count` frames, each validated before and after, and copied if `copied` says so; how many were
/// seen, and how many of them were whole. Ends after `seconds` in any case.
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

/// Nanoseconds to copy `count` payloads of `frame_bytes` into the slots of these regions, from that of sequence `first`
/// on, and do nothing else.
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
