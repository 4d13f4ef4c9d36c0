// SPDX-License-Identifier: Apache-2.0
//! How a join that was lapped gets away from the edge of a ring.
//!
//! Frames are joined oldest first. After a lap the oldest frame that is still there is the next one to be overwritten:
//! its copy fails midway, and so does the next one's, for each copy takes as long as the writer takes for a slot. A few
//! frames are let go instead, more each time, until copies succeed again.

/// Which frames of an input are let go unread.
#[derive(Default)]
pub struct Edge {
    resume_at: u64,
    step: u64,
}

impl Edge {
    /// Whether a frame lies so near the edge that its copy would be in vain.
    #[inline]
    #[must_use]
    pub const fn lets_go(&self, seq: u64) -> bool {
        seq < self.resume_at
    }

    /// A frame was overwritten while it was copied. Twice as many as the last time are let go, a quarter of the ring at
    /// most: what was lost already is not made up for by losing what is there.
    #[cold]
    pub fn on_torn(&mut self, seq: u64, nslots: u32) {
        self.step = (self.step * 2).clamp(1, u64::from(nslots / 4).max(1));
        self.resume_at = seq.saturating_add(1).saturating_add(self.step);
    }

    /// A frame was copied whole: the next lap begins with a shorter step again.
    #[inline]
    pub const fn on_whole(&mut self) {
        self.step = self.step.saturating_sub(1);
    }

    /// Another epoch, another ring.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames that are let go after a torn one.
    fn let_go(edge: &Edge, torn: u64) -> u64 {
        (torn + 1..torn + 10_000).take_while(|seq| edge.lets_go(*seq)).count() as u64
    }

    #[test]
    fn each_torn_copy_lets_twice_as_many_go_up_to_a_quarter_of_the_ring() {
        let mut edge = Edge::default();
        let steps: Vec<u64> = (0..6)
            .map(|round| {
                edge.on_torn(round * 1000, 64);
                let_go(&edge, round * 1000)
            })
            .collect();
        assert_eq!(steps, [1, 2, 4, 8, 16, 16]);
    }

    #[test]
    fn whole_copies_shorten_the_next_step() {
        let mut edge = Edge::default();
        for seq in [0, 100, 200, 300] {
            edge.on_torn(seq, 1024);
        }
        (0..6).for_each(|_| edge.on_whole());
        edge.on_torn(400, 1024);
        assert_eq!(let_go(&edge, 400), 4);
        (0..100).for_each(|_| edge.on_whole());
        edge.on_torn(500, 1024);
        assert_eq!(let_go(&edge, 500), 1);
    }

    #[test]
    fn a_ring_of_one_slot_and_the_last_sequence_are_no_exceptions() {
        let mut edge = Edge::default();
        edge.on_torn(u64::MAX, 1);
        assert!(!edge.lets_go(u64::MAX));
    }

    #[test]
    fn another_epoch_begins_at_its_start() {
        let mut edge = Edge::default();
        edge.on_torn(1_000_000, 1024);
        edge.forget();
        assert!(!edge.lets_go(0));
    }
}
