// SPDX-License-Identifier: Apache-2.0
//! How far each input's time has come, and how much of that counts for the operator.
//!
//! The watermark of a blocked input passes, but counts only after the events behind its barrier were processed;
//! otherwise they would be late before they were seen.

use crate::INPUTS_MAX;
use crate::message::Watermark;

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    newest: Option<i64>,
    counted: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct Watermarks {
    seen: Box<[Seen; INPUTS_MAX]>,
    /// A bit for each input whose newest watermark does not count yet.
    held: u128,
}

impl Watermarks {
    pub(crate) fn new() -> Self {
        Self { seen: Box::new([Seen::default(); INPUTS_MAX]), held: 0 }
    }

    #[inline]
    pub(crate) fn see(&mut self, input: usize, watermark: Watermark, is_blocked: bool) {
        let seen = &mut self.seen[input];
        // Time does not go back; None compares below every number.
        seen.newest = seen.newest.max(Some(watermark.0));
        if is_blocked {
            self.held |= 1 << input;
        } else {
            seen.counted = seen.newest;
        }
    }

    /// Lets all watermarks count, because no input is blocked any longer.
    #[inline]
    pub(crate) fn unblock(&mut self) {
        while self.held != 0 {
            let seen = &mut self.seen[self.held.trailing_zeros() as usize];
            seen.counted = seen.newest;
            self.held &= self.held - 1;
        }
    }

    pub(crate) fn counted(&self, input: usize) -> Option<i64> {
        self.seen[input].counted
    }

    /// The lowest watermark of these inputs; None while one of them has none, or if there are no inputs.
    pub(crate) fn operator(&self, inputs: impl Iterator<Item = usize>) -> Option<i64> {
        inputs.map(|input| self.seen[input].counted).min().flatten()
    }
}
