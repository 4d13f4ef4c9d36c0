// SPDX-License-Identifier: Apache-2.0
//! The channel under every order that the memory model allows, with bounded preemption.
//!
//! | what the receiver may see | |
//! |---|---|
//! | a prefix of what was taken, in order, each message whole and once | allowed |
//! | a message twice, out of order, or a slot that the sender is still filling | **forbidden** |
//! | a barrier refused while no more than `capacity` messages wait | **forbidden** |
#![cfg(loom)]

use framegate_checkpoint::channel::{NotSent, Receiver, channel};
use framegate_checkpoint::message::{CheckpointBarrier, StreamMessage};
use loom::thread;

fn explore(body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(body);
}

fn barrier(id: u64) -> StreamMessage<u64> {
    StreamMessage::Barrier(CheckpointBarrier::new(id, 1))
}

fn receive(receiver: &mut Receiver<u64>, polls: usize) -> Vec<StreamMessage<u64>> {
    (0..polls).filter_map(|_| receiver.pop()).collect()
}

#[test]
fn messages_arrive_whole_in_order_and_once_while_places_are_used_again() {
    explore(|| {
        let (mut sender, mut receiver) = channel(1);
        let sending = thread::spawn(move || {
            let taken: Vec<u64> = (1..4).filter(|event| sender.push(StreamMessage::Event(*event)).is_ok()).collect();
            (taken, sender)
        });
        let mut found = receive(&mut receiver, 3);
        let (taken, _sender) = sending.join().unwrap();
        found.extend(receive(&mut receiver, 4));
        assert_eq!(found, taken.into_iter().map(StreamMessage::Event).collect::<Vec<_>>());
    });
}

#[test]
fn a_barrier_is_taken_however_full_events_have_made_it_and_keeps_its_place() {
    explore(|| {
        let (mut sender, mut receiver) = channel(1);
        let sending = thread::spawn(move || {
            assert!(sender.push(StreamMessage::Event(1)).is_ok());
            let second = sender.push(StreamMessage::Event(2)).is_ok();
            // At most one event waits, whatever the receiver has done.
            assert!(sender.push(barrier(9)).is_ok());
            (second, sender)
        });
        let mut found = receive(&mut receiver, 2);
        let (second, _sender) = sending.join().unwrap();
        found.extend(receive(&mut receiver, 3));
        let mut wanted = vec![StreamMessage::Event(1)];
        wanted.extend(second.then_some(StreamMessage::Event(2)));
        wanted.push(barrier(9));
        assert_eq!(found, wanted);
    });
}

#[test]
fn a_second_barrier_is_handed_back_and_sent_later_never_lost() {
    explore(|| {
        let (mut sender, mut receiver) = channel(1);
        let sending = thread::spawn(move || {
            assert!(sender.push(StreamMessage::Event(1)).is_ok());
            assert!(sender.push(barrier(2)).is_ok());
            let mut owed = Some(barrier(3));
            for _ in 0..2 {
                owed = owed.and_then(|message| match sender.push(message) {
                    Ok(()) => None,
                    Err(NotSent::Full(message)) => Some(message),
                    Err(NotSent::Closed(_)) => panic!("the receiver is there"),
                });
                thread::yield_now();
            }
            (owed, sender)
        });
        let mut found = receive(&mut receiver, 2);
        let (owed, mut sender) = sending.join().unwrap();
        found.extend(receive(&mut receiver, 3));
        if let Some(message) = owed {
            assert!(sender.push(message).is_ok());
            found.extend(receive(&mut receiver, 1));
        }
        assert_eq!(found, [StreamMessage::Event(1), barrier(2), barrier(3)]);
    });
}
