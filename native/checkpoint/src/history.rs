// SPDX-License-Identifier: Apache-2.0
//! Remembers which checkpoints are over for an operator, and how they ended.

/// How many aborted ids are remembered. Barriers of older ones are ignored as stale.
const ABORTED_REMEMBERED: usize = 64;

/// Why a barrier is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// Its checkpoint is over, or older than the current one.
    Stale,
    /// Its input has already delivered it.
    Duplicate,
    /// Its checkpoint was aborted or cancelled.
    Aborted,
}

/// The ids of checkpoints that are over: all up to `highest`.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) highest: u64,
    aborted: Box<[u64; ABORTED_REMEMBERED]>,
    next: usize,
}

impl History {
    pub(crate) fn new(floor: u64) -> Self {
        Self { highest: floor, aborted: Box::new([0; ABORTED_REMEMBERED]), next: 0 }
    }

    #[inline]
    pub(crate) fn finish(&mut self, checkpoint_id: u64) {
        self.highest = self.highest.max(checkpoint_id);
    }

    pub(crate) fn abort(&mut self, checkpoint_id: u64) {
        self.highest = self.highest.max(checkpoint_id);
        if !self.aborted.contains(&checkpoint_id) {
            self.aborted[self.next] = checkpoint_id;
            self.next = (self.next + 1) % ABORTED_REMEMBERED;
        }
    }

    /// Why a barrier is ignored; None if it begins a checkpoint.
    #[inline]
    pub(crate) fn verdict(&self, checkpoint_id: u64, current_id: u64) -> Option<Ignored> {
        if checkpoint_id > self.highest.max(current_id) {
            return None;
        }
        // An unused entry holds 0, which is no id.
        let was_aborted = checkpoint_id != 0 && self.aborted.contains(&checkpoint_id);
        Some(if was_aborted { Ignored::Aborted } else { Ignored::Stale })
    }
}
