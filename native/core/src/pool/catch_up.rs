// SPDX-License-Identifier: Apache-2.0
//! Catching up: how a reader that was lapped gets back to frames that last.
//!
//! Descriptors are read oldest first. Without this, a reader that is one ring behind would stay there, because each
//! frame would be overwritten just before the reader gets to it.

use super::reader::Dropped;

/// Decides which descriptors a lapped reader skips. One lapped frame makes it skip half a ring at most, then it looks
/// at a slot again. So neither a jump of the sequence nor a bad word can cost more than that.
#[derive(Default)]
pub struct CatchUp {
    resume_at: u64,
}

impl CatchUp {
    /// Whether a frame is so old that its slot need not be read.
    #[inline]
    #[must_use]
    pub const fn passes_over(&self, seq: u64) -> bool {
        seq < self.resume_at
    }

    /// Notes that a frame was not taken. A lapped one proves that the writer is a whole ring ahead of it. The next half
    /// ring of frames is then gone, or will be before it is read.
    pub fn on_dropped(&mut self, seq: u64, cause: Dropped, nslots: u32) {
        let is_lapped = match cause {
            Dropped::Overwritten => true,
            Dropped::OtherFrame { have_seq } => have_seq > seq,
            _ => false,
        };
        if is_lapped {
            self.on_lapped(seq, nslots);
        }
    }

    /// Notes that a frame was overwritten, before it was read or while it was held. Returns the sequence at which
    /// reading goes on.
    pub fn on_lapped(&mut self, seq: u64, nslots: u32) -> u64 {
        self.resume_at = self.resume_at.max(seq.saturating_add(u64::from(nslots / 2)));
        self.resume_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lapped_frame_passes_over_half_a_ring() {
        let mut catch_up = CatchUp::default();
        assert!(!catch_up.passes_over(0));
        catch_up.on_dropped(100, Dropped::Overwritten, 64);
        assert!(catch_up.passes_over(131));
        assert!(!catch_up.passes_over(132));
    }

    #[test]
    fn only_a_newer_frame_in_the_slot_proves_a_lap() {
        let mut catch_up = CatchUp::default();
        catch_up.on_dropped(100, Dropped::OtherFrame { have_seq: 36 }, 64);
        assert!(!catch_up.passes_over(101));
        catch_up.on_dropped(100, Dropped::OtherFrame { have_seq: 164 }, 64);
        assert!(catch_up.passes_over(101));
    }

    #[test]
    fn a_frame_further_back_takes_nothing_back() {
        let mut catch_up = CatchUp::default();
        assert_eq!(catch_up.on_lapped(1000, 64), 1032);
        assert_eq!(catch_up.on_lapped(10, 64), 1032);
    }
}
