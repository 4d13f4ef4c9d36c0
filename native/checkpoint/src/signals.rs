// SPDX-License-Identifier: Apache-2.0
//! Signals that wait for every upstream, by count alone: who sent which is not known.

/// A barrier's id, and the number of its kind.
pub type Key = (u64, u8);

/// What an arrival means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Upstreams are missing.
    Pending,
    /// All have delivered it.
    Complete,
    /// Another signal is pending.
    Overlapping,
    /// All had delivered it before.
    Duplicate,
}

/// How many kinds of signals there are.
const KINDS: usize = 2;

/// Counts arrivals of the one signal that is pending. A refused arrival changes nothing.
///
/// Ids of a kind only grow. So an id at or below the last complete one of its kind is a repeat: it must not become
/// pending, because nobody would ever complete it, and every later signal would overlap.
#[derive(Clone, Copy, Debug)]
pub struct SignalCounter {
    expected: u32,
    ended: u32,
    arrived: u32,
    pending: Option<Key>,
    last: Option<Key>,
    /// By kind: the highest id that was complete.
    complete: [Option<u64>; KINDS],
}

impl SignalCounter {
    /// For so many upstreams.
    #[must_use]
    pub const fn new(expected: u32) -> Self {
        Self { expected, ended: 0, arrived: 0, pending: None, last: None, complete: [None; KINDS] }
    }

    fn is_complete(&self, (barrier_id, kind): Key) -> bool {
        self.complete.get(usize::from(kind)).is_some_and(|highest| highest.is_some_and(|highest| barrier_id <= highest))
    }

    /// One upstream delivered this signal.
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

    /// An upstream has ended: it counts as delivering the pending signal, unless it had, and every later one. None:
    /// more upstreams have ended than there are.
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

    /// The signal that is waited for.
    #[must_use]
    pub const fn pending(&self) -> Option<Key> {
        self.pending
    }

    /// The last one that was complete.
    #[must_use]
    pub const fn last(&self) -> Option<Key> {
        self.last
    }
}
