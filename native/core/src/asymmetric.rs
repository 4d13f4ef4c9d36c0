// SPDX-License-Identifier: Apache-2.0
//! A pair of memory fences of which one is nearly free. The light fence is for a thread that passes often, the heavy
//! one for threads that come rarely.
//!
//! The CPU may reorder a store and a later load of another word, unless a full fence of some 5 ns stands between them.
//! Here the thread that comes rarely pays for both: it has the kernel run a full fence on every running thread of the
//! process (`membarrier`). Wherever the other thread was at that moment, its earlier stores are visible to this thread,
//! and its later loads see the stores of this thread.
//!
//! | store A, light, load B | store B, heavy, load A | |
//! |---|---|---|
//! | does not see B | does not see A | **forbidden** |
//! | sees B | sees A | allowed, and so are the mixed cases |

#[cfg(loom)]
use loom::sync::atomic::fence;
#[cfg(not(loom))]
use std::sync::atomic::fence;

use std::sync::atomic::Ordering;

/// How both fences are made. The process decides once, because both sides must use the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    /// The kernel makes the heavy fence, and the light one is nearly free.
    Asymmetric,
    /// Two full fences, if the kernel does not offer that.
    Full,
}

impl Fences {
    /// The kind that this process can use.
    #[must_use]
    pub fn of_process() -> Self {
        if membarrier::is_registered() { Self::Asymmetric } else { Self::Full }
    }

    /// The fence for the thread that passes often.
    #[inline]
    pub fn light(self) {
        match self {
            Self::Asymmetric => nothing(),
            Self::Full => fence(Ordering::SeqCst),
        }
    }

    /// The fence for the threads that come rarely. It takes some microseconds if the kernel makes it.
    pub fn heavy(self) {
        match self {
            Self::Asymmetric => membarrier::run(),
            Self::Full => fence(Ordering::SeqCst),
        }
    }
}

/// A compiler fence: the compiler, too, must not move stores or loads across it.
#[cfg(not(loom))]
#[inline]
fn nothing() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The model checker has no kernel and thus no asymmetric fences, so code that relies on them must fail there.
#[cfg(loom)]
fn nothing() {}

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod membarrier {
    use std::sync::OnceLock;

    /// Constants of `linux/membarrier.h`.
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn is_done(command: libc::c_int) -> bool {
        // SAFETY: the call takes a command, flags and a CPU that only one flag asks for; no memory is passed.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn is_registered() -> bool {
        static IS_REGISTERED: OnceLock<bool> = OnceLock::new();
        *IS_REGISTERED.get_or_init(|| is_done(REGISTER_PRIVATE_EXPEDITED) && is_done(PRIVATE_EXPEDITED))
    }

    pub(super) fn run() {
        // A process made by fork may have to register again. Going on without the fence would let two threads own one
        // lock.
        let is_run = is_done(PRIVATE_EXPEDITED) || is_done(REGISTER_PRIVATE_EXPEDITED) && is_done(PRIVATE_EXPEDITED);
        assert!(is_run, "the kernel took membarrier away: {}", std::io::Error::last_os_error());
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod membarrier {
    pub(super) const fn is_registered() -> bool {
        false
    }

    pub(super) const fn run() {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

    use super::*;

    /// Two threads store and then look at the other's word. Returns in how many rounds neither saw the other.
    fn unseen(fences: Fences, rounds: u32) -> u32 {
        let (often, rarely) = (AtomicU32::new(0), AtomicU32::new(0));
        let (begin, end) = (Barrier::new(2), Barrier::new(2));
        let mut both = 0;
        std::thread::scope(|scope| {
            let passing = scope.spawn(|| {
                (1..=rounds)
                    .map(|round| {
                        begin.wait();
                        often.store(round, Ordering::Relaxed);
                        fences.light();
                        let seen = rarely.load(Ordering::Relaxed) == round;
                        end.wait();
                        seen
                    })
                    .collect::<Vec<_>>()
            });
            let coming: Vec<_> = (1..=rounds)
                .map(|round| {
                    begin.wait();
                    rarely.store(round, Ordering::Relaxed);
                    fences.heavy();
                    let seen = often.load(Ordering::Relaxed) == round;
                    end.wait();
                    seen
                })
                .collect();
            let passed = passing.join().expect("it ends");
            both = passed.iter().zip(&coming).filter(|(one, other)| !**one && !**other).count() as u32;
        });
        both
    }

    #[test]
    fn one_of_two_threads_sees_the_other() {
        for fences in [Fences::of_process(), Fences::Full] {
            assert_eq!(unseen(fences, 2_000), 0, "{fences:?}");
        }
    }
}
