// SPDX-License-Identifier: Apache-2.0
//! The commit word under every order that the memory model allows, with bounded preemption.
//!
//! Run by `make test`, with `RUSTFLAGS="--cfg loom"`. The payload is two relaxed atomics: the model then lets a
//! reader see any mixture that hardware could show, without the undefined behaviour of a plain race. The last test
//! takes the fences away and must find the forbidden outcome, or this file proves nothing.
#![cfg(loom)]

use framegate_core::pool::commit::{self, AtomicU64, Ordering};
use loom::sync::Arc;
use loom::thread;

/// A slot with a payload of two words; a whole frame S has both equal to S.
struct Slot {
    word: AtomicU64,
    payload: [AtomicU64; 2],
}

impl Slot {
    /// Holds frame `seq`, whole.
    fn holding(seq: u64) -> Self {
        Self { word: AtomicU64::new(commit::committed(seq)), payload: [AtomicU64::new(seq), AtomicU64::new(seq)] }
    }

    fn fill(&self, seq: u64) {
        for part in &self.payload {
            part.store(seq, Ordering::Relaxed);
        }
    }

    fn read(&self) -> (u64, u64) {
        (self.payload[0].load(Ordering::Relaxed), self.payload[1].load(Ordering::Relaxed))
    }
}

fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(body);
}

/// The reader of the protocol; None where it drops.
fn take(slot: &Slot) -> Option<(u64, u64, u64)> {
    let seen = commit::look(&slot.word);
    if !commit::is_committed(seen) {
        return None;
    }
    let (first, second) = slot.read();
    commit::is_unchanged(&slot.word, seen).then_some((commit::sequence(seen), first, second))
}

#[test]
fn a_reader_takes_the_old_frame_or_the_new_one_and_never_a_mixture() {
    explore(|| {
        let slot = Arc::new(Slot::holding(3));
        let writers = Arc::clone(&slot);
        let writer = thread::spawn(move || {
            commit::begin(&writers.word, 7);
            writers.fill(7);
            commit::commit(&writers.word, 7);
        });
        if let Some((seq, first, second)) = take(&slot) {
            assert!(seq == 3 || seq == 7);
            assert_eq!((first, second), (seq, seq));
        }
        writer.join().unwrap();
        assert_eq!(take(&slot), Some((7, 7, 7)));
    });
}

#[test]
fn two_readers_and_two_frames_in_a_row_never_see_a_mixture() {
    explore(|| {
        let slot = Arc::new(Slot::holding(1));
        let writers = Arc::clone(&slot);
        let writer = thread::spawn(move || {
            for seq in [5, 9] {
                commit::begin(&writers.word, seq);
                writers.fill(seq);
                commit::commit(&writers.word, seq);
            }
        });
        if let Some((seq, first, second)) = take(&slot) {
            assert_eq!((first, second), (seq, seq));
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_writer_that_dies_in_the_middle_leaves_a_slot_that_everybody_skips() {
    explore(|| {
        let slot = Arc::new(Slot::holding(3));
        let writers = Arc::clone(&slot);
        let writer = thread::spawn(move || {
            commit::begin(&writers.word, 7);
            writers.payload[0].store(7, Ordering::Relaxed);
        });
        if let Some((seq, first, second)) = take(&slot) {
            assert_eq!((seq, first, second), (3, 3, 3));
        }
        writer.join().unwrap();
        assert_eq!(take(&slot), None);
    });
}

#[test]
#[should_panic(expected = "mixture")]
fn without_the_writers_fence_the_model_finds_the_forbidden_outcome() {
    explore(|| {
        let slot = Arc::new(Slot::holding(3));
        let writers = Arc::clone(&slot);
        let writer = thread::spawn(move || {
            // `commit::begin` without its fence.
            writers.word.store(commit::in_progress(7), Ordering::Release);
            writers.fill(7);
            commit::commit(&writers.word, 7);
        });
        if let Some((seq, first, second)) = take(&slot) {
            assert!((first, second) == (seq, seq), "a mixture: {seq} {first} {second}");
        }
        writer.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "mixture")]
fn without_the_readers_fence_the_model_finds_the_forbidden_outcome() {
    explore(|| {
        let slot = Arc::new(Slot::holding(3));
        let writers = Arc::clone(&slot);
        let writer = thread::spawn(move || {
            commit::begin(&writers.word, 7);
            writers.fill(7);
            commit::commit(&writers.word, 7);
        });
        let seen = commit::look(&slot.word);
        let (first, second) = slot.read();
        // `commit::is_unchanged` without its fence.
        if commit::is_committed(seen) && slot.word.load(Ordering::Acquire) == seen {
            let seq = commit::sequence(seen);
            assert!((first, second) == (seq, seq), "a mixture: {seq} {first} {second}");
        }
        writer.join().unwrap();
    });
}
