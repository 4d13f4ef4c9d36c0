// SPDX-License-Identifier: Apache-2.0
//! The command word under every order that the memory model allows; the table in `word` says what may happen.
//!
//! The 128-bit word is replaced by one of 64 bits with small numbers, with the same operations and orders.
#![cfg(loom)]

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::word::{AtomicU128, EMPTY, inject, take, unpack};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(body);
}

fn command(id: u64) -> CheckpointBarrier {
    // Id and epoch are equal, so that a mixture of two commands would show.
    CheckpointBarrier::new(id, id)
}

fn polled(word: &AtomicU128, take: fn(&AtomicU128) -> u128, polls: usize) -> Vec<CheckpointBarrier> {
    (0..polls).filter_map(|_| unpack(take(word))).collect()
}

fn two_commands_while_the_injector_polls(take: fn(&AtomicU128) -> u128) {
    explore(move || {
        let word = Arc::new(AtomicU128::new(EMPTY));
        let coordinators = Arc::clone(&word);
        let coordinator = thread::spawn(move || {
            for id in [1, 2] {
                inject(&coordinators, command(id)).unwrap();
            }
        });
        let mut found = polled(&word, take, 2);
        coordinator.join().unwrap();
        found.extend(polled(&word, take, 1));
        assert!(found.iter().all(|barrier| *barrier == command(barrier.checkpoint_id)), "a mixture: {found:?}");
        assert!(found == [command(1), command(2)] || found == [command(2)], "erased: {found:?}");
    });
}

#[test]
fn a_command_is_taken_whole_and_once_or_replaced_by_a_later_one() {
    two_commands_while_the_injector_polls(take);
}

#[test]
fn what_the_coordinator_wrote_before_it_asked_is_seen_by_whoever_takes_it() {
    explore(|| {
        let (word, counter) = (Arc::new(AtomicU128::new(EMPTY)), Arc::new(AtomicU64::new(0)));
        let (coordinators, persisted) = (Arc::clone(&word), Arc::clone(&counter));
        let coordinator = thread::spawn(move || {
            persisted.store(7, Ordering::Relaxed);
            inject(&coordinators, command(7)).unwrap();
        });
        if take(&word) != EMPTY {
            assert_eq!(counter.load(Ordering::Relaxed), 7);
        }
        coordinator.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "erased")]
fn a_load_and_a_store_in_place_of_the_exchange_lose_a_command() {
    two_commands_while_the_injector_polls(|word| {
        let found = word.load(Ordering::Acquire);
        if found != EMPTY {
            word.store(EMPTY, Ordering::Release);
        }
        found
    });
}
