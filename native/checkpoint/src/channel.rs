// SPDX-License-Identifier: Apache-2.0
//! A bounded channel from one sender to one receiver, with one slot that only a barrier may take.
//!
//! ```text
//!   taken by the receiver     sent by the sender, waiting          free      kept for a barrier
//!   ... 4  5  6  7          | 8  9  10  11                       | 12  13   | 14
//!                           ^ head: the receiver stores it       ^ tail: the sender stores it
//! ```
//!
//! Both positions count from 0 and never go back. A full channel hands a message back, so a barrier is late but never
//! lost. `tests/loom_channel.rs` checks the channel under every allowed order.

use crate::atomics::{Arc, AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use crate::message::{MESSAGE_BYTES_MAX, StreamMessage};

/// Why a message was not sent.
#[derive(Debug, PartialEq, Eq)]
pub enum NotSent<T> {
    /// The channel has no free slot now.
    Full(StreamMessage<T>),
    /// The receiver is gone.
    Closed(StreamMessage<T>),
}

/// A value alone in its cache lines, so that sender and receiver do not slow each other down.
#[derive(Debug)]
#[repr(align(128))]
struct Padded<T>(T);

#[derive(Debug)]
struct Shared<T> {
    places: Box<[UnsafeCell<Option<StreamMessage<T>>>]>,
    /// How many messages other than barriers fit.
    capacity: usize,
    mask: usize,
    head: Padded<AtomicUsize>,
    tail: Padded<AtomicUsize>,
    is_closed: AtomicBool,
}

// SAFETY: the sender touches a slot only while it is free, and the receiver only while it is filled; head and tail hand
// it over by release and acquire. There is one sender and one receiver.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: the channel owns the messages it holds.
unsafe impl<T: Send> Send for Shared<T> {}

/// The sending end.
#[derive(Debug)]
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    tail: usize,
    /// The newest head that this end has read: the receiver is at least there.
    seen_head: usize,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    head: usize,
    /// The newest tail that this end has read: the sender is at least there.
    seen_tail: usize,
}

/// Makes a channel for `capacity` messages, at least 1, and one barrier more.
///
/// A message is at most 128 bytes, which is checked at compile time:
///
/// ```
/// framegate_checkpoint::channel::channel::<[u64; 15]>(1);
/// ```
/// ```compile_fail
/// framegate_checkpoint::channel::channel::<[u64; 16]>(1);
/// ```
#[must_use]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    const { assert!(size_of::<StreamMessage<T>>() <= MESSAGE_BYTES_MAX, "a message is at most 128 bytes") };
    let places = (capacity.max(1) + 1).next_power_of_two();
    let shared = Arc::new(Shared {
        places: (0..places).map(|_| UnsafeCell::new(None)).collect(),
        capacity: capacity.max(1),
        mask: places - 1,
        head: Padded(AtomicUsize::new(0)),
        tail: Padded(AtomicUsize::new(0)),
        is_closed: AtomicBool::new(false),
    });
    let sender = Sender { shared: Arc::clone(&shared), tail: 0, seen_head: 0 };
    (sender, Receiver { shared, head: 0, seen_tail: 0 })
}

impl<T> Sender<T> {
    /// Sends a message, or hands it back.
    #[inline]
    pub fn push(&mut self, message: StreamMessage<T>) -> Result<(), NotSent<T>> {
        let limit = self.shared.capacity + usize::from(message.is_barrier());
        if self.tail - self.seen_head >= limit {
            // Acquire: pairs with the receiver's release, so the receiver is done with a slot before it is filled
            // again.
            self.seen_head = self.shared.head.0.load(Ordering::Acquire);
        }
        if self.shared.is_closed.load(Ordering::Relaxed) {
            return Err(NotSent::Closed(message));
        }
        if self.tail - self.seen_head >= limit {
            return Err(NotSent::Full(message));
        }
        // SAFETY: fewer than `places` messages wait, so the receiver has emptied this slot and will not look at it
        // before the tail is stored; there is one sender, and it is borrowed uniquely.
        self.shared.places[self.tail & self.shared.mask].with_mut(|place| unsafe { *place = Some(message) });
        self.tail += 1;
        // Release: pairs with the receiver's acquire. Without it the receiver could see the new tail before the
        // message.
        self.shared.tail.0.store(self.tail, Ordering::Release);
        Ok(())
    }

    /// How many messages wait, as far as this end knows: never fewer than there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tail - self.shared.head.0.load(Ordering::Relaxed)
    }

    /// Whether no message waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the channel is closed: it takes no more messages.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed.load(Ordering::Relaxed)
    }

    /// Closes the channel; messages that wait can still be received.
    pub fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
    }
}

impl<T> Receiver<T> {
    /// Takes the oldest message.
    #[inline]
    pub fn pop(&mut self) -> Option<StreamMessage<T>> {
        if self.head == self.seen_tail {
            // Acquire: pairs with the sender's release; every message below the tail is written.
            self.seen_tail = self.shared.tail.0.load(Ordering::Acquire);
            if self.head == self.seen_tail {
                return None;
            }
        }
        // SAFETY: the sender has published this message and does not touch the slot before the head passes it; there is
        // one receiver, and it is borrowed uniquely.
        let message = self.shared.places[self.head & self.shared.mask].with_mut(|place| unsafe { (*place).take() });
        self.head += 1;
        // Release: pairs with the sender's acquire. The slot is empty before it is given back.
        self.shared.head.0.store(self.head, Ordering::Release);
        message
    }

    /// Closes the channel, so that the sender's next message is refused.
    pub fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::message::{CheckpointBarrier, Watermark};

    const BARRIER: StreamMessage<u64> = StreamMessage::Barrier(CheckpointBarrier::new(1, 1));

    #[test]
    fn a_full_channel_takes_one_barrier_more_and_hands_back_the_rest() {
        for capacity in [1, 2, 3, 7, 8] {
            let (mut sender, mut receiver) = channel(capacity);
            for event in 0..capacity as u64 {
                assert_eq!(sender.push(StreamMessage::Event(event)), Ok(()));
            }
            assert_eq!(sender.push(StreamMessage::Event(99)), Err(NotSent::Full(StreamMessage::Event(99))));
            let watermark = StreamMessage::Watermark(Watermark(1));
            assert_eq!(sender.push(watermark.clone()), Err(NotSent::Full(watermark)));
            assert_eq!((sender.push(BARRIER), sender.push(BARRIER)), (Ok(()), Err(NotSent::Full(BARRIER))));
            for event in 0..capacity as u64 {
                assert_eq!(receiver.pop(), Some(StreamMessage::Event(event)));
            }
            assert_eq!((receiver.pop(), receiver.pop()), (Some(BARRIER), None));
        }
    }

    #[test]
    fn a_receiver_that_is_gone_closes_it() {
        let (mut sender, receiver) = channel(4);
        drop(receiver);
        assert_eq!(sender.push(BARRIER), Err(NotSent::Closed(BARRIER)));
    }
}
