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

/// Counts arrivals of the one signal that is pending. A refused arrival changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct SignalCounter {
    expected: u32,
    ended: u32,
    arrived: u32,
    pending: Option<Key>,
    last: Option<Key>,
}

impl SignalCounter {
    /// For so many upstreams.
    #[must_use]
    pub const fn new(expected: u32) -> Self {
        Self { expected, ended: 0, arrived: 0, pending: None, last: None }
    }

    /// One upstream delivered this signal.
    pub fn arrive(&mut self, key: Key) -> Arrival {
        if self.pending.is_some_and(|pending| pending != key) {
            return Arrival::Overlapping;
        }
        if self.last == Some(key) || self.ended >= self.expected {
            return Arrival::Duplicate;
        }
        if self.pending.is_none() {
            (self.pending, self.arrived) = (Some(key), self.ended);
        }
        self.one_more()
    }

    /// An upstream has ended: it counts as delivering the pending signal, unless it had, and every later one. None:
    /// more upstreams have ended than there are.
    pub const fn end(&mut self, has_delivered: bool) -> Option<Arrival> {
        if self.ended >= self.expected {
            return None;
        }
        self.ended += 1;
        if self.pending.is_none() || has_delivered {
            return Some(Arrival::Pending);
        }
        Some(self.one_more())
    }

    const fn one_more(&mut self) -> Arrival {
        self.arrived += 1;
        if self.arrived < self.expected {
            return Arrival::Pending;
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
