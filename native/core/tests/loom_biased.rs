// SPDX-License-Identifier: Apache-2.0
//! The biased lock under every order that the memory model allows, with bounded preemption.
//!
//! Run by `make test`, with `RUSTFLAGS="--cfg loom"`. The value is the model checker's cell, which tells two threads
//! that reach it at once. The model has no kernel to put a fence into other threads: with `Fences::Full` it must find
//! nothing, with the light fence that is none it must find two threads in the lock, or this file proves nothing.
#![cfg(loom)]

use framegate_core::asymmetric::Fences;
use framegate_core::biased::{BiasedLock, SEAT_AFTER};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

const OFTEN: usize = 1;
const RARELY: usize = 2;

struct Counted(UnsafeCell<u32>);

// SAFETY: the lock under test is what keeps threads apart; the cell tells where it does not.
unsafe impl Send for Counted {}

type Lock = Arc<BiasedLock<Counted>>;

/// A lock whose seat is `OFTEN`'s.
fn seated(fences: Fences) -> Lock {
    let lock = Arc::new(BiasedLock::with_fences(Counted(UnsafeCell::new(0)), fences));
    for _ in 0..SEAT_AFTER {
        drop(lock.lock_as(OFTEN));
    }
    lock
}

fn add(value: &Counted) {
    // SAFETY: the model checker ends the run where another thread is in here.
    value.0.with_mut(|value| unsafe { *value += 1 });
}

fn value(lock: &Lock) -> u32 {
    // SAFETY: as above.
    lock.lock_as(OFTEN).0.with(|value| unsafe { *value })
}

fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(body);
}

#[test]
fn the_thread_in_the_seat_and_another_are_never_in_it_together() {
    explore(|| {
        let lock = seated(Fences::Full);
        let others = Arc::clone(&lock);
        let other = thread::spawn(move || add(&others.lock_as(RARELY)));
        for _ in 0..2 {
            add(&lock.lock_as(OFTEN));
        }
        other.join().unwrap();
        assert_eq!(value(&lock), 3);
    });
}

#[test]
fn one_that_only_tries_is_never_in_it_with_the_thread_in_the_seat() {
    explore(|| {
        let lock = seated(Fences::Full);
        let others = Arc::clone(&lock);
        let other = thread::spawn(move || others.try_lock_as(RARELY).map(|value| add(&value)).is_some());
        for _ in 0..2 {
            add(&lock.lock_as(OFTEN));
        }
        let is_added = other.join().unwrap();
        assert_eq!(value(&lock), 2 + u32::from(is_added));
    });
}

#[test]
fn a_thread_that_lost_the_seat_on_its_way_does_not_get_in() {
    explore(|| {
        let lock = seated(Fences::Full);
        let others = Arc::clone(&lock);
        // The last turn is the seat's.
        let other = thread::spawn(move || (0..=SEAT_AFTER).for_each(|_| add(&others.lock_as(RARELY))));
        add(&lock.lock_as(OFTEN));
        other.join().unwrap();
        assert_eq!(value(&lock), 2 + SEAT_AFTER);
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_light_fence_the_model_finds_two_threads_in_it() {
    explore(|| {
        let lock = seated(Fences::Asymmetric);
        let others = Arc::clone(&lock);
        let other = thread::spawn(move || add(&others.lock_as(RARELY)));
        add(&lock.lock_as(OFTEN));
        other.join().unwrap();
    });
}
