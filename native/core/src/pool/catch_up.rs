// SPDX-License-Identifier: Apache-2.0
//! How a reader that was lapped comes back to fresh frames.
//!
//! Descriptors are read oldest first. Without this, a reader that is one ring behind stays there: each frame is
//! overwritten just before its turn comes.

use super::reader::Dropped;

/// Which descriptors are passed over. What a slot says of the newest frame is believed for half a ring at most, so
/// slots are looked at again and again, and neither jumps of the sequence nor a bad word cost more than that.
#[derive(Default)]
pub struct CatchUp {
    resume_at: u64,
}

impl CatchUp {
    /// Whether a frame is so old that its slot need not be touched.
    #[inline]
    #[must_use]
    pub const fn passes_over(&self, seq: u64) -> bool {
        seq < self.resume_at
    }

    /// A frame was not taken. A lapped one proves that the writer is a whole ring ahead of it: what lies up to half
    /// a ring behind that writer is gone, or will be before it is read.
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

    /// A frame was overwritten, before it was read or while somebody held it; where reading goes on.
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
