// SPDX-License-Identifier: Apache-2.0
//! Futexes: waiting for a word to change, and waking the threads that wait. Processes may share the word's memory.

use std::sync::atomic::AtomicU32;

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A writer rang, now or before the sleep began.
    Rung,
    /// The time was up.
    Late,
    /// A signal arrived, and the caller must look at it.
    Interrupted,
}

/// Sleeps while the word has this value, at most for this long.
#[cfg(target_os = "linux")]
pub(super) fn wait(word: &AtomicU32, seen: u32, most_ns: u64) -> Woken {
    let most = libc::timespec {
        tv_sec: (most_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (most_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the word is mapped and aligned, the time lives until the call returns; no other argument is read.
    let answer = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const most) };
    if answer == 0 {
        return Woken::Rung;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ETIMEDOUT) => Woken::Late,
        Some(libc::EINTR) => Woken::Interrupted,
        _ => Woken::Rung,
    }
}

/// Wakes every thread that waits for the word.
#[cfg(target_os = "linux")]
pub(super) fn wake(word: &AtomicU32) {
    // SAFETY: the word is mapped and aligned; no other argument is read.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, libc::c_int::MAX) };
}

/// Other systems have no such call. Their sleepers look again after a moment.
#[cfg(not(target_os = "linux"))]
pub(super) fn wait(word: &AtomicU32, seen: u32, most_ns: u64) -> Woken {
    let most = std::time::Duration::from_nanos(most_ns.min(crate::idle::LONGEST_PARK_NS));
    if word.load(std::sync::atomic::Ordering::Acquire) == seen {
        std::thread::sleep(most);
    }
    if word.load(std::sync::atomic::Ordering::Acquire) == seen { Woken::Late } else { Woken::Rung }
}

/// Does nothing: on other systems no thread waits in the kernel.
#[cfg(not(target_os = "linux"))]
pub(super) const fn wake(_word: &AtomicU32) {}
