// SPDX-License-Identifier: Apache-2.0
//! A biased lock: one thread takes it for every frame, and others take it once in a while.
//!
//! A mutex costs two locked instructions, 10 ns. Each of them also waits until everything that was stored before has
//! reached the cache. For a line that another core has just read, that takes longer than publishing a frame. So the
//! thread that takes the lock again and again gets a seat, and takes the lock from there with two plain stores. All
//! other threads share a mutex, and the one that holds it makes the seat wait.
//!
//! ```text
//!   the thread with the seat               others, one at a time by their mutex
//!     is_held = true                         is_wanted = true
//!     light fence                            heavy fence
//!     is_wanted? then is_held = false,       is_held? then wait until it is not
//!       and go with the others               they have it
//!     it has it                              is_wanted = false
//!     is_held = false
//! ```
//!
//! The fences exclude that both threads look and neither sees the other; see `asymmetric`. `tests/loom_biased.rs` runs
//! the lock under every allowed order.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::asymmetric::Fences;
use sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, UnsafeCell};

/// A thread that takes the lock this many times in a row gets the seat.
pub const SEAT_AFTER: u32 = if cfg!(loom) { 2 } else { 64 };
/// How many threads can ever get a seat. A seat belongs to its thread for ever, because a thread that was overtaken on
/// its way to the lock may still write into its seat.
const SEATS: usize = 4;
const NOBODY: usize = 0;

/// A value guarded by a biased lock.
#[derive(Debug)]
pub struct BiasedLock<T> {
    fences: Fences,
    /// The index of the seat in use; `SEATS` if none is. Only a thread that holds the mutex changes it.
    current: AtomicUsize,
    seats: [Seat; SEATS],
    /// Whether a thread holds the lock by the mutex, or waits for the seat.
    is_wanted: AtomicBool,
    others: Mutex<Streak>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through guards alone, and there is only one guard at a time.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

#[derive(Debug)]
struct Seat {
    /// The thread that owns the seat. Once set, it never changes.
    thread: AtomicUsize,
    /// Whether that thread holds the lock by its seat. No other thread writes this.
    is_held: AtomicBool,
}

/// The thread that took the mutex last, and how often in a row it did.
#[derive(Debug)]
struct Streak {
    thread: usize,
    turns: u32,
}

impl<T> BiasedLock<T> {
    /// Guards a value. No thread has a seat yet.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self::with_fences(value, Fences::of_process())
    }

    /// Guards a value with the given kind of fences, for tests.
    #[must_use]
    pub fn with_fences(value: T, fences: Fences) -> Self {
        let seats = std::array::from_fn(|_| Seat { thread: AtomicUsize::new(NOBODY), is_held: AtomicBool::new(false) });
        Self {
            fences,
            current: AtomicUsize::new(SEATS),
            seats,
            is_wanted: AtomicBool::new(false),
            others: Mutex::new(Streak { thread: NOBODY, turns: 0 }),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock, and waits until it can.
    ///
    /// # Panics
    /// If this thread holds the lock by its seat already.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        self.lock_as(this_thread())
    }

    /// Like `lock`, for a thread that knows its number. The number must not be 0, nor that of another thread.
    #[inline]
    pub fn lock_as(&self, thread: usize) -> Guard<'_, T> {
        match self.take_seat(thread) {
            Some(guard) => guard,
            None => self.lock_with_others(thread),
        }
    }

    /// Takes the lock unless another thread holds it. It does not count towards a seat.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.try_lock_as(this_thread())
    }

    /// Like `try_lock`, for a thread that knows its number.
    pub fn try_lock_as(&self, thread: usize) -> Option<Guard<'_, T>> {
        self.take_seat(thread).or_else(|| {
            let others = sync::try_locked(&self.others)?;
            self.call_seat(thread);
            let guard = Guard { lock: self, way: Way::Others(others), value: PhantomData };
            (!self.is_seat_held()).then_some(guard)
        })
    }

    /// Takes the lock by the seat. None if the seat is another thread's or nobody's, or if a thread wants the lock by
    /// the mutex.
    #[inline]
    fn take_seat(&self, thread: usize) -> Option<Guard<'_, T>> {
        let index = self.current.load(Ordering::Relaxed);
        let seat = self.seats.get(index)?;
        if seat.thread.load(Ordering::Relaxed) != thread {
            return None;
        }
        assert!(!seat.is_held.load(Ordering::Relaxed), "a thread takes a lock that it has");
        seat.is_held.store(true, Ordering::Relaxed);
        self.fences.light();
        // Acquire: pairs with the release of the thread that held the lock by the mutex. The seat may have changed
        // meanwhile.
        if !self.is_wanted.load(Ordering::Acquire) && self.current.load(Ordering::Relaxed) == index {
            return Some(Guard { lock: self, way: Way::Seat(seat), value: PhantomData });
        }
        seat.is_held.store(false, Ordering::Release);
        None
    }

    #[cold]
    fn lock_with_others(&self, thread: usize) -> Guard<'_, T> {
        let mut others = sync::locked(&self.others);
        self.call_seat(thread);
        let mut idler = sync::idler();
        while self.is_seat_held() {
            idler.idle();
        }
        if others.note(thread) {
            self.give_seat(thread);
        }
        Guard { lock: self, way: Way::Others(others), value: PhantomData }
    }

    /// Makes the thread with the seat wait from now on. If it holds the lock already, `is_seat_held` sees that
    /// afterwards.
    fn call_seat(&self, thread: usize) {
        self.is_wanted.store(true, Ordering::Relaxed);
        let seat = self.seats.get(self.current.load(Ordering::Relaxed));
        if seat.is_some_and(|seat| seat.thread.load(Ordering::Relaxed) != thread) {
            self.fences.heavy();
        }
    }

    fn is_seat_held(&self) -> bool {
        let seat = self.seats.get(self.current.load(Ordering::Relaxed));
        // Acquire: pairs with the release of the seat's guard.
        seat.is_some_and(|seat| seat.is_held.load(Ordering::Acquire))
    }

    /// Gives the thread a seat. The caller holds the lock, so no seat is in use. If all seats belong to other threads,
    /// none is in use from now on.
    fn give_seat(&self, thread: usize) {
        let has = |wanted: usize| self.seats.iter().position(|seat| seat.thread.load(Ordering::Relaxed) == wanted);
        let index = has(thread).or_else(|| has(NOBODY)).unwrap_or(SEATS);
        if let Some(seat) = self.seats.get(index) {
            seat.thread.store(thread, Ordering::Relaxed);
        }
        self.current.store(index, Ordering::Relaxed);
    }
}

impl Streak {
    /// Counts a turn of this thread. Returns whether it has come often enough for a seat.
    fn note(&mut self, thread: usize) -> bool {
        if self.thread != thread {
            *self = Self { thread, turns: 0 };
        }
        self.turns = (self.turns + 1) % SEAT_AFTER;
        self.turns == 0
    }
}

/// Holds the lock until it is dropped. Threads may share a guard only if they may share the value:
///
/// ```compile_fail
/// use framegate_core::biased::BiasedLock;
///
/// let lock = BiasedLock::new(std::cell::Cell::new(7));
/// let guard = lock.lock();
/// std::thread::scope(|scope| scope.spawn(|| guard.set(8)).join());
/// ```
pub struct Guard<'a, T> {
    lock: &'a BiasedLock<T>,
    way: Way<'a>,
    /// The guard gives out references to the value, so it may be shared only if the value may be.
    value: PhantomData<&'a mut T>,
}

enum Way<'a> {
    Seat(&'a Seat),
    /// Holds the mutex, and thereby `is_wanted`.
    Others(#[expect(dead_code, reason = "held, not read")] MutexGuard<'a, Streak>),
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: there is only one guard at a time, and this borrows it.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this borrows it exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match &self.way {
            Way::Seat(seat) => seat.is_held.store(false, Ordering::Release),
            // The mutex is released after this store, when its field is dropped.
            Way::Others(_) => self.lock.is_wanted.store(false, Ordering::Release),
        }
    }
}

/// The machine's atomics and mutex, or those of the model checker.
mod sync {
    #[cfg(loom)]
    pub(super) use loom::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize},
    };
    pub(super) use std::cell::UnsafeCell;
    pub(super) use std::sync::atomic::Ordering;
    #[cfg(not(loom))]
    pub(super) use std::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize},
    };
    use std::sync::{PoisonError, TryLockError};

    /// The guarded value is valid between any two statements, so a thread that panicked while holding the mutex left it
    /// intact.
    pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn try_locked<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
        match mutex.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cfg(not(loom))]
    pub(super) const fn idler() -> crate::idle::Idler {
        crate::idle::Idler::new(crate::idle::IdleStrategy::Backoff)
    }

    #[cfg(loom)]
    pub(super) fn idler() -> Turn {
        Turn
    }

    #[cfg(loom)]
    pub(super) struct Turn;

    #[cfg(loom)]
    impl Turn {
        pub(super) fn idle(&mut self) {
            loom::thread::yield_now();
        }
    }
}

/// A number that no other living thread has.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(miri))))]
#[inline]
fn this_thread() -> usize {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

/// The same number without a function call, which would take as long as the rest of taking a seat.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
#[inline]
fn this_thread() -> usize {
    let thread: usize;
    // SAFETY: by the ABI, the control block of every thread begins with its own address, and fs points at it.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) thread, options(nostack, pure, readonly, preserves_flags)) };
    thread
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn both() -> [Arc<BiasedLock<u64>>; 2] {
        [Fences::of_process(), Fences::Full].map(|fences| Arc::new(BiasedLock::with_fences(0, fences)))
    }

    fn is_seated(lock: &BiasedLock<u64>) -> bool {
        matches!(lock.lock().way, Way::Seat(_))
    }

    #[test]
    fn a_thread_that_comes_again_and_again_gets_the_seat_and_another_one_after_it() {
        let [lock, _] = both();
        for _ in 0..SEAT_AFTER {
            assert!(!is_seated(&lock));
        }
        assert!(is_seated(&lock));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..SEAT_AFTER {
                    assert!(!is_seated(&lock));
                }
                assert!(is_seated(&lock));
            });
        });
        assert!(!is_seated(&lock), "it was taken away");
    }

    #[test]
    fn one_that_looks_in_now_and_then_takes_nobodys_seat() {
        let [lock, _] = both();
        while !is_seated(&lock) {}
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 * SEAT_AFTER {
                    *lock.try_lock().expect("nobody has it") += 1;
                }
            });
        });
        assert!(is_seated(&lock));
        assert_eq!(*lock.lock(), u64::from(2 * SEAT_AFTER));
    }

    #[test]
    fn a_lock_that_is_held_is_not_given_to_others_whichever_way_it_is_held() {
        let [lock, _] = both();
        let is_free = || std::thread::scope(|scope| scope.spawn(|| lock.try_lock().is_some()).join().expect("it ends"));
        for _ in 0..2 * SEAT_AFTER {
            let held = lock.lock();
            assert!(!is_free());
            drop(held);
            assert!(is_free());
        }
    }

    #[test]
    fn more_threads_than_seats_are_served() {
        let [lock, _] = both();
        for _ in 0..2 * SEATS {
            // All at once, so that no number comes twice.
            std::thread::scope(|scope| {
                for _ in 0..2 * SEATS {
                    scope.spawn(|| (0..SEAT_AFTER + 1).for_each(|_| *lock.lock() += 1));
                }
            });
        }
        assert_eq!(*lock.lock(), (4 * SEATS * SEATS) as u64 * u64::from(SEAT_AFTER + 1));
    }

    #[test]
    #[should_panic(expected = "a thread takes a lock that it has")]
    fn a_thread_in_its_seat_that_takes_the_lock_again_is_told() {
        let [lock, _] = both();
        while !is_seated(&lock) {}
        let _held = lock.lock();
        let _ = lock.lock();
    }

    #[test]
    fn no_turn_is_lost_between_the_seat_and_the_others() {
        for lock in both() {
            let turns = 200_000;
            let seen: u64 = std::thread::scope(|scope| {
                let often = scope.spawn(|| (0..turns).for_each(|_| *lock.lock() += 1));
                scope.spawn(|| (0..500).for_each(|_| *lock.lock() += 1));
                let mut seen = 0;
                while !often.is_finished() {
                    if let Some(mut value) = lock.try_lock() {
                        *value += 1;
                        seen += 1;
                    }
                }
                seen
            });
            assert_eq!(*lock.lock(), turns + 500 + seen);
        }
    }
}
