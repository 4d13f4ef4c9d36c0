// SPDX-License-Identifier: Apache-2.0
//! Aligns the signals of one channel by input: it does not wait for inputs that ended or were lost.
//!
//! [`crate::signals::SignalCounter`] counts upstreams, as the protocol's text says. Over real streams a count is not
//! enough: an ended stream owes nothing more and may come back in another epoch, a lost one delivers nothing, and a
//! signal that one of them skipped will never be complete.

use crate::INPUTS_MAX;
use crate::signals::Key;

/// What changes when a signal arrives, or an upstream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing is complete yet.
    Pending,
    /// Every upstream has delivered this signal, or owes nothing any more.
    Complete(Key),
    /// The signal was refused: another is pending, this upstream had delivered it, or all had.
    Refused,
}

/// Aligns the one pending signal.
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
    /// Makes the alignment for this many upstreams, at most [`INPUTS_MAX`].
    #[must_use]
    pub const fn new(inputs: usize) -> Self {
        let every = if inputs >= INPUTS_MAX { u128::MAX } else { (1 << inputs) - 1 };
        Self { every, delivered: 0, away: 0, pending: None, last: None, given_up: 0 }
    }

    /// Takes a signal that an upstream delivered.
    ///
    /// Ids only grow, and an upstream sends its signals in order. If it delivers a higher id without the pending one,
    /// it never will deliver that, so the pending signal is given up.
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

    /// Notes that an upstream has ended: it counts as delivering the pending signal and every later one.
    pub fn end(&mut self, input: usize) -> Change {
        self.away |= bit(input);
        self.settled()
    }

    /// Notes that an upstream was lost: a pending signal that it owes is given up, and later ones do not wait for it.
    pub fn lose(&mut self, input: usize) {
        let bit = bit(input);
        if self.away & bit == 0 && self.delivered & bit == 0 {
            self.give_up();
        }
        self.away |= bit;
    }

    /// Notes that an upstream is back, in another epoch.
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

    /// How many signals could not become complete any more.
    #[must_use]
    pub const fn given_up(&self) -> u64 {
        self.given_up
    }
}

/// The bit of an input; 0 if there is no such input.
const fn bit(input: usize) -> u128 {
    if input < INPUTS_MAX { 1 << input } else { 0 }
}
