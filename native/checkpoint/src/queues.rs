// SPDX-License-Identifier: Apache-2.0
//! One queue for each input, all in one block of memory that is reserved at the start.

use crate::INPUTS_MAX;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Place<T> {
    value: Option<T>,
    /// The index of the input's next entry.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    count: u32,
}

const EMPTY: Queue = Queue { first: NONE, last: NONE, count: 0 };

/// First-in-first-out queues that share `capacity` entries. An entry becomes free again only when everything is
/// drained.
#[derive(Debug)]
pub struct Queues<T> {
    places: Vec<Place<T>>,
    capacity: usize,
    queues: Box<[Queue; INPUTS_MAX]>,
    /// A bit for each input whose queue is not empty.
    filled: u128,
}

impl<T> Queues<T> {
    /// Reserves the entries. The system provides their memory when it is first used, or in [`Self::prefault`].
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.min(NONE as usize);
        Self { places: Vec::with_capacity(capacity), capacity, queues: Box::new([EMPTY; INPUTS_MAX]), filled: 0 }
    }

    /// Takes the memory from the system now, because a first touch is several times slower than a copy.
    pub fn prefault(&mut self) {
        let filled = self.places.len();
        self.places.resize_with(self.capacity, || Place { value: None, next: NONE });
        self.places.truncate(filled);
    }

    /// Whether no entry is free.
    #[inline]
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.places.len() >= self.capacity
    }

    /// Adds to an input's queue; false if no entry is free.
    #[inline]
    pub fn push(&mut self, input: usize, value: T) -> bool {
        if self.is_full() {
            return false;
        }
        let place = self.places.len() as u32;
        self.places.push(Place { value: Some(value), next: NONE });
        let queue = &mut self.queues[input];
        match queue.count {
            0 => queue.first = place,
            _ => self.places[queue.last as usize].next = place,
        }
        queue.last = place;
        queue.count += 1;
        self.filled |= 1 << input;
        true
    }

    /// Takes everything out, round-robin over the inputs from 0.
    pub fn drain(&mut self, out: &mut impl FnMut(usize, T)) {
        while self.filled != 0 {
            let mut round = self.filled;
            while round != 0 {
                let input = round.trailing_zeros() as usize;
                round &= round - 1;
                if let Some(value) = self.pop(input) {
                    out(input, value);
                }
            }
        }
        self.clear();
    }

    #[inline]
    fn pop(&mut self, input: usize) -> Option<T> {
        let queue = &mut self.queues[input];
        let place = self.places.get_mut(queue.first as usize)?;
        queue.first = place.next;
        queue.count -= 1;
        if queue.count == 0 {
            self.filled &= !(1 << input);
        }
        place.value.take()
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        let mut filled = self.filled;
        while filled != 0 {
            self.queues[filled.trailing_zeros() as usize] = EMPTY;
            filled &= filled - 1;
        }
        self.filled = 0;
        self.places.clear();
    }

    /// The entries of an input, in order.
    pub fn of(&self, input: usize) -> impl Iterator<Item = &T> {
        let mut next = if self.has(input) { self.queues[input].first } else { NONE };
        std::iter::from_fn(move || {
            let place = self.places.get(next as usize)?;
            next = place.next;
            place.value.as_ref()
        })
    }

    /// Whether an input's queue has entries.
    #[inline]
    #[must_use]
    pub const fn has(&self, input: usize) -> bool {
        self.filled >> input & 1 == 1
    }

    /// How many entries an input has.
    #[inline]
    #[must_use]
    pub fn count(&self, input: usize) -> usize {
        if self.has(input) { self.queues[input].count as usize } else { 0 }
    }

    /// How many entries there are in all.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether all queues are empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queues: &mut Queues<u32>) -> Vec<(usize, u32)> {
        let mut all = Vec::new();
        queues.drain(&mut |input, value| all.push((input, value)));
        all
    }

    #[test]
    fn queues_are_drained_in_turn_and_the_room_is_there_again() {
        let mut queues = Queues::new(6);
        for _ in 0..3 {
            for (input, value) in [(127, 1), (0, 2), (0, 3), (5, 4), (0, 5)] {
                assert!(queues.push(input, value));
            }
            assert_eq!((queues.count(0), queues.count(5), queues.count(9)), (3, 1, 0));
            assert_eq!(queues.of(0).copied().collect::<Vec<_>>(), [2, 3, 5]);
            assert_eq!(drained(&mut queues), [(0, 2), (5, 4), (127, 1), (0, 3), (0, 5)]);
            assert!(queues.is_empty() && !queues.has(0));
        }
    }

    #[test]
    fn a_full_set_of_queues_takes_nothing_and_a_cleared_one_everything() {
        let mut queues = Queues::new(2);
        queues.prefault();
        assert!(queues.push(0, 1) && queues.push(1, 2) && !queues.push(1, 3));
        queues.clear();
        assert!(queues.push(1, 4));
        assert_eq!(drained(&mut queues), [(1, 4)]);
    }
}
