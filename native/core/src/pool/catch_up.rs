// SPDX-License-Identifier: Apache-2.0
//! How a reader that was lapped comes back to fresh frames.
//!
//! Descriptors are read oldest first. Without this, a reader that is one ring behind stays there: each frame is
//! overwritten just before its turn comes.

use framegate_core::pool::reader::Dropped;

/// Which descriptors are passed over. What a slot says of the newest frame is believed for half a ring at most, so
/// slots are looked at again and again, and neither jumps of the sequence nor a bad word cost more than that.
#[derive(Default)]
pub(super) struct CatchUp {
    resume_at: u64,
}

impl CatchUp {
    /// Whether a frame is so old that its slot need not be touched.
    #[inline]
    pub(super) const fn passes_over(&self, seq: u64) -> bool {
        seq < self.resume_at
    }

    /// A frame was not taken. A lapped one proves that the writer is a whole ring ahead of it: what lies up to half
    /// a ring behind that writer is gone, or will be before it is read.
    pub(super) fn on_dropped(&mut self, seq: u64, cause: Dropped, nslots: u32) {
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
    pub(super) fn on_lapped(&mut self, seq: u64, nslots: u32) -> u64 {
        self.resume_at = self.resume_at.max(seq.saturating_add(u64::from(nslots / 2)));
        self.resume_at
    }
}
