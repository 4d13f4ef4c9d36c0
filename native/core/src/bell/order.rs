// SPDX-License-Identifier: Apache-2.0
//! The two words of a bell, and the order of storing and looking by which no frame is missed.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// A sleeper's first step: read its bell. A writer that rings later changes the bell, and a sleep on this value then
/// ends at once.
#[inline]
#[must_use]
pub fn hear(bell: &AtomicU32) -> u32 {
    bell.load(Ordering::Acquire)
}

/// A sleeper's second step, at every stream: say that it sleeps. Call [`look_again`] after the last stream.
#[inline]
pub fn lie_down(asleep: &AtomicU64, seat: u32) {
    asleep.fetch_or(1 << seat, Ordering::Relaxed);
}

/// A sleeper's third step, before it looks once more.
#[inline]
pub fn look_again() {
    fence(Ordering::SeqCst);
}

/// A sleeper's last step: say that it is awake.
#[inline]
pub fn get_up(asleep: &AtomicU64, seat: u32) {
    if asleep.load(Ordering::Relaxed) >> seat & 1 == 1 {
        asleep.fetch_and(!(1 << seat), Ordering::Relaxed);
    }
}

/// A writer's step after its frame: take the seats of the sleepers. It must wake those whose bits it took.
#[inline]
#[must_use]
pub fn sleepers(asleep: &AtomicU64) -> u64 {
    fence(Ordering::SeqCst);
    match asleep.load(Ordering::Relaxed) {
        0 => 0,
        seen => asleep.fetch_and(!seen, Ordering::Relaxed) & seen,
    }
}

/// A writer's step for each sleeper, before it wakes the threads that wait for the word.
#[inline]
pub fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, Ordering::Release);
}
