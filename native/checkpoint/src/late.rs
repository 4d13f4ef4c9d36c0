// SPDX-License-Identifier: Apache-2.0
//! What arrives before the late barriers of an unaligned checkpoint, and so belongs to it.

use crate::INPUTS_MAX;
use crate::message::{CheckpointBarrier, Watermark};
use crate::queues::Queues;

const WATERMARK_BYTES: u64 = 8;

/// A copy of something that a late input delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured<T> {
    /// An event.
    Event(T),
    /// A watermark, at its place between the events.
    Watermark(Watermark),
}

#[derive(Debug)]
pub(crate) struct LateInputs<T> {
    pub(crate) barrier: CheckpointBarrier,
    /// A bit for each input whose barrier has not come.
    pub(crate) owing: u128,
    pub(crate) snapshot_ns: u64,
    bytes_max: u64,
    held_bytes: Box<[u64; INPUTS_MAX]>,
    captured: Queues<Captured<T>>,
}

impl<T> LateInputs<T> {
    pub(crate) fn new(bytes_max: u64, events_max: usize) -> Self {
        Self {
            barrier: CheckpointBarrier::new(0, 0),
            owing: 0,
            snapshot_ns: 0,
            bytes_max,
            held_bytes: Box::new([0; INPUTS_MAX]),
            captured: Queues::new(events_max),
        }
    }

    pub(crate) fn prefault(&mut self) {
        self.captured.prefault();
    }

    pub(crate) fn begin(&mut self, barrier: CheckpointBarrier, owing: u128, now_ns: u64) {
        self.forget();
        (self.barrier, self.owing, self.snapshot_ns) = (barrier, owing, now_ns);
        let mut late = owing;
        while late != 0 {
            self.held_bytes[late.trailing_zeros() as usize] = 0;
            late &= late - 1;
        }
    }

    #[inline]
    pub(crate) const fn owes(&self, input: usize) -> bool {
        self.owing >> input & 1 == 1
    }

    /// Captures an event of an input that owes its barrier; false if it does not fit. `copy` runs only if it does.
    #[inline]
    pub(crate) fn capture(&mut self, input: usize, bytes: u64, copy: impl FnOnce() -> T) -> bool {
        self.fits(input, bytes) && self.captured.push(input, Captured::Event(copy()))
    }

    #[inline]
    pub(crate) fn capture_watermark(&mut self, input: usize, watermark: Watermark) -> bool {
        self.fits(input, WATERMARK_BYTES) && self.captured.push(input, Captured::Watermark(watermark))
    }

    #[inline]
    fn fits(&mut self, input: usize, bytes: u64) -> bool {
        let held = self.held_bytes[input].saturating_add(bytes);
        let fits = held <= self.bytes_max && !self.captured.is_full();
        if fits {
            self.held_bytes[input] = held;
        }
        fits
    }

    pub(crate) fn of(&self, input: usize) -> impl Iterator<Item = &Captured<T>> {
        self.captured.of(input)
    }

    /// Drops what was captured.
    pub(crate) fn forget(&mut self) {
        self.owing = 0;
        self.captured.clear();
    }
}
