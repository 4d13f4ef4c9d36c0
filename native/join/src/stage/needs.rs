// SPDX-License-Identifier: Apache-2.0
//! Which frames of a stream are still to be read: a mapping stays for their sake.

use super::Stage;
use super::history::Frame;

impl Stage {
    /// The newest epoch of a stream of which something has come, in this life or in an earlier one.
    #[must_use]
    pub fn known_epoch(&self, stream: usize) -> Option<u64> {
        self.newest(stream).epoch()
    }

    /// Whether a frame of that epoch with a sequence below `until` waits, or may be joined again.
    #[must_use]
    pub fn needs(&self, stream: usize, epoch: u64, until: u64) -> bool {
        let is_needed = |frame: &Frame| frame.seq < until;
        if self.behind[stream].is_some_and(|behind| behind.epoch() == Some(epoch)) {
            return self.on[stream].iter().any(|input| self.inputs[*input].first_behind().is_some_and(is_needed));
        }
        let is_reusing = self.is_reusing();
        self.sources[stream].epoch() == Some(epoch)
            && self.on[stream].iter().any(|input| {
                let each = &self.inputs[*input];
                let again = each.kept.as_ref().filter(|_| is_reusing && each.config.reuse);
                again.is_some_and(is_needed) || each.front().is_some_and(is_needed)
            })
    }
}
