// SPDX-License-Identifier: Apache-2.0
//! A writer and a reader that goes to sleep, under every order that the memory model allows: no frame is missed.
//!
//! Run by `make test`, with `RUSTFLAGS="--cfg loom"`. The kernel's futex is a lock and a condition here; a reader that
//! nobody wakes is a deadlock, which the model checker tells. Without the fence of either side it must find one.
#![cfg(loom)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use framegate_core::bell::order::{AtomicU32, AtomicU64, Ordering, get_up, hear, lie_down, look_again, ring, sleepers};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

const SEAT: u32 = 3;

struct Shared {
    frames: [AtomicU32; 2],
    asleep: [AtomicU64; 2],
    bell: AtomicU32,
    kernel: Mutex<()>,
    waiting: Condvar,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            frames: [AtomicU32::new(0), AtomicU32::new(0)],
            asleep: [AtomicU64::new(0), AtomicU64::new(0)],
            bell: AtomicU32::new(0),
            kernel: Mutex::new(()),
            waiting: Condvar::new(),
        })
    }

    /// FUTEX_WAIT without a time: it must be woken.
    fn wait(&self, seen: u32) {
        let mut kernel = self.kernel.lock().unwrap();
        while self.bell.load(Ordering::Relaxed) == seen {
            kernel = self.waiting.wait(kernel).unwrap();
        }
    }

    fn wake(&self) {
        let _kernel = self.kernel.lock().unwrap();
        self.waiting.notify_all();
    }

    fn write(&self, stream: usize, count: u32) {
        for _ in 0..count {
            self.frames[stream].fetch_add(1, Ordering::Release);
            if sleepers(&self.asleep[stream]) >> SEAT & 1 == 1 {
                ring(&self.bell);
                self.wake();
            }
        }
    }

    fn heard(&self) -> u32 {
        self.frames.iter().map(|each| each.load(Ordering::Acquire)).sum()
    }

    /// Sleeps until this many frames were heard of.
    fn read(&self, all: u32, has_fence: bool) {
        while self.heard() < all {
            let before = self.heard();
            let seen = hear(&self.bell);
            self.asleep.iter().for_each(|asleep| lie_down(asleep, SEAT));
            if has_fence {
                look_again();
            }
            if self.heard() == before && before < all {
                self.wait(seen);
            }
            self.asleep.iter().for_each(|asleep| get_up(asleep, SEAT));
        }
    }
}

fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(body);
}

/// One writer of so many frames, and a reader of them all.
fn explore_one_writer(count: u32, has_fence: bool) {
    explore(move || {
        let shared = Shared::new();
        let writers = Arc::clone(&shared);
        let writer = thread::spawn(move || writers.write(0, count));
        shared.read(count, has_fence);
        writer.join().unwrap();
    });
}

#[test]
fn every_frame_of_one_writer_is_heard() {
    explore_one_writer(2, true);
}

#[test]
fn every_frame_of_two_writers_is_heard_by_one_who_waits_for_both() {
    explore(|| {
        let shared = Shared::new();
        let writers: Vec<_> = (0..2)
            .map(|stream| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.write(stream, 1))
            })
            .collect();
        shared.read(2, true);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn without_its_fence_a_reader_sleeps_on() {
    let found = catch_unwind(AssertUnwindSafe(|| explore_one_writer(1, false)));
    assert!(found.is_err(), "the model checker sees no missed wake: it proves nothing");
}
