// SPDX-License-Identifier: Apache-2.0
//! The two words of a bell, and the order of looking and saying in which no frame is missed.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Sleeper, first: the value of its bell. Whoever rings later changes it, and a sleep on this value then ends at once.
#[inline]
#[must_use]
pub fn hear(bell: &AtomicU32) -> u32 {
    bell.load(Ordering::Acquire)
}

/// Sleeper, second, at every stream: it sleeps. Call [`look_again`] once all are told.
#[inline]
pub fn lie_down(asleep: &AtomicU64, seat: u32) {
    asleep.fetch_or(1 << seat, Ordering::Relaxed);
}

/// Sleeper, third, before it looks once more.
#[inline]
pub fn look_again() {
    fence(Ordering::SeqCst);
}

/// Sleeper, last: it is awake.
#[inline]
pub fn get_up(asleep: &AtomicU64, seat: u32) {
    if asleep.load(Ordering::Relaxed) >> seat & 1 == 1 {
        asleep.fetch_and(!(1 << seat), Ordering::Relaxed);
    }
}

/// Writer, behind its frame: the seats of those who sleep. A bit that it takes away is its own to wake.
#[inline]
#[must_use]
pub fn sleepers(asleep: &AtomicU64) -> u64 {
    fence(Ordering::SeqCst);
    match asleep.load(Ordering::Relaxed) {
        0 => 0,
        seen => asleep.fetch_and(!seen, Ordering::Relaxed) & seen,
    }
}

/// Writer, for each of them, before it wakes whoever waits for the word.
#[inline]
pub fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, Ordering::Release);
}
