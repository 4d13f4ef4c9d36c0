// SPDX-License-Identifier: Apache-2.0
//! Signals of one channel whose upstreams are known by their places: those that ended or were lost are not waited for.
//!
//! [`crate::signals::SignalCounter`] counts, as the source text has it. Over real streams a count is not enough: a stream
//! that ended owes nothing more and may come back in another epoch, one that was lost delivers nothing, and what one of
//! them skipped will never be complete.

use crate::INPUTS_MAX;
use crate::signals::Key;

/// What an arrival, or an upstream that goes, brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing yet.
    Pending,
    /// Every upstream has delivered it, or owes nothing any more.
    Complete(Key),
    /// Another signal is pending, all had delivered this one before, or this upstream did. Nothing has changed.
    Refused,
}

/// Aligns the one signal that is pending.
#[derive(Clone, Copy, Debug)]
pub struct InputSignals {
    every: u128,
    delivered: u128,
    /// A bit for each upstream that is not waited for.
    away: u128,
    pending: Option<Key>,
    last: Option<Key>,
    given_up: u64,
}

impl InputSignals {
    /// For so many upstreams, at most [`INPUTS_MAX`].
    #[must_use]
    pub const fn new(inputs: usize) -> Self {
        let every = if inputs >= INPUTS_MAX { u128::MAX } else { (1 << inputs) - 1 };
        Self { every, delivered: 0, away: 0, pending: None, last: None, given_up: 0 }
    }

    /// An upstream delivered a signal.
    ///
    /// Ids only grow, and an upstream's signals stay in their order: one that delivers a higher id without having
    /// delivered the pending signal never will, so that one is given up.
    pub fn arrive(&mut self, input: usize, key: Key) -> Change {
        let bit = bit(input);
        if bit & self.every == 0 || self.away & bit != 0 || self.last.is_some_and(|last| key.0 <= last.0) {
            return Change::Refused;
        }
        if let Some(pending) = self.pending.filter(|pending| *pending != key) {
            if key.0 <= pending.0 || self.delivered & bit != 0 {
                return Change::Refused;
            }
            self.give_up();
        } else if self.delivered & bit != 0 {
            return Change::Refused;
        }
        self.pending = Some(key);
        self.delivered |= bit;
        self.settled()
    }

    /// An upstream has ended: it counts as delivering the pending signal and every later one.
    pub fn end(&mut self, input: usize) -> Change {
        self.away |= bit(input);
        self.settled()
    }

    /// An upstream was lost: what it still owed is given up, and later signals are not waited for from it.
    pub fn lose(&mut self, input: usize) {
        let bit = bit(input);
        if self.away & bit == 0 && self.delivered & bit == 0 {
            self.give_up();
        }
        self.away |= bit;
    }

    /// An upstream is there again, in another epoch.
    pub const fn resume(&mut self, input: usize) {
        let bit = bit(input);
        if self.away & bit != 0 {
            self.away &= !bit;
            self.delivered &= !bit;
        }
    }

    fn settled(&mut self) -> Change {
        let Some(pending) = self.pending else { return Change::Pending };
        if (self.delivered | self.away) & self.every != self.every {
            return Change::Pending;
        }
        (self.last, self.pending, self.delivered) = (Some(pending), None, 0);
        Change::Complete(pending)
    }

    fn give_up(&mut self) {
        self.given_up += u64::from(self.pending.take().is_some());
        self.delivered = 0;
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

    /// Signals that could not become complete any more.
    #[must_use]
    pub const fn given_up(&self) -> u64 {
        self.given_up
    }
}

/// 0: there is no such upstream.
const fn bit(input: usize) -> u128 {
    if input < INPUTS_MAX { 1 << input } else { 0 }
}
