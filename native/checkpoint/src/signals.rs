// SPDX-License-Identifier: Apache-2.0
//! Aligns signals of every upstream by count alone: it does not know which upstream sent one.

/// The id of a signal, and the number of its kind.
pub type Key = (u64, u8);

/// What the arrival of a signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Some upstreams have not delivered the signal yet.
    Pending,
    /// All upstreams have delivered the signal.
    Complete,
    /// Another signal is pending.
    Overlapping,
    /// All upstreams had delivered the signal before.
    Duplicate,
}

/// The number of kinds of signals.
const KINDS: usize = 2;

/// Counts arrivals of the one pending signal. A refused arrival changes nothing.
///
/// Ids of a kind only grow. So an id at or below the newest complete one of its kind is a repeat. It must not become
/// pending, because nobody would ever complete it, and every later signal would overlap.
#[derive(Clone, Copy, Debug)]
pub struct SignalCounter {
    expected: u32,
    ended: u32,
    arrived: u32,
    pending: Option<Key>,
    last: Option<Key>,
    /// For each kind, the highest id that was complete.
    complete: [Option<u64>; KINDS],
}

impl SignalCounter {
    /// Makes a counter for this many upstreams.
    #[must_use]
    pub const fn new(expected: u32) -> Self {
        Self { expected, ended: 0, arrived: 0, pending: None, last: None, complete: [None; KINDS] }
    }

    fn is_complete(&self, (barrier_id, kind): Key) -> bool {
        self.complete.get(usize::from(kind)).is_some_and(|highest| highest.is_some_and(|highest| barrier_id <= highest))
    }

    /// Counts a signal that one upstream delivered.
    pub fn arrive(&mut self, key: Key) -> Arrival {
        if self.pending.is_some_and(|pending| pending != key) {
            return Arrival::Overlapping;
        }
        if self.is_complete(key) || self.ended >= self.expected {
            return Arrival::Duplicate;
        }
        if self.pending.is_none() {
            (self.pending, self.arrived) = (Some(key), self.ended);
        }
        self.one_more()
    }

    /// Notes that an upstream has ended: it counts as delivering every later signal, and the pending one unless it
    /// already had. None if more upstreams have ended than there are.
    pub fn end(&mut self, has_delivered: bool) -> Option<Arrival> {
        if self.ended >= self.expected {
            return None;
        }
        self.ended += 1;
        if self.pending.is_none() || has_delivered {
            return Some(Arrival::Pending);
        }
        Some(self.one_more())
    }

    fn one_more(&mut self) -> Arrival {
        self.arrived += 1;
        if self.arrived < self.expected {
            return Arrival::Pending;
        }
        if let Some((barrier_id, kind)) = self.pending
            && let Some(highest) = self.complete.get_mut(usize::from(kind))
        {
            *highest = Some(barrier_id);
        }
        (self.last, self.pending) = (self.pending, None);
        Arrival::Complete
    }

    /// The signal that still waits for upstreams.
    #[must_use]
    pub const fn pending(&self) -> Option<Key> {
        self.pending
    }

    /// The signal that became complete most recently.
    #[must_use]
    pub const fn last(&self) -> Option<Key> {
        self.last
    }
}
