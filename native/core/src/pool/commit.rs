// SPDX-License-Identifier: Apache-2.0
//! The commit word: one u64 for each slot, which says what frame the slot holds and whether it is complete (PROTOCOL
//! 4).
//!
//! ```text
//!   word = (sequence << 1) | state        state 0: being written, 1: committed
//! ```
//!
//! One producer writes the word, and any number of readers load it. Nobody waits. The table shows what readers may see
//! in a slot that holds frame A and is being reused for frame B:
//!
//! | word before | payload | word after | reader |
//! |---|---|---|---|
//! | A committed | A | A committed | takes A |
//! | B committed | B | B committed | takes B |
//! | A committed | any mixture | B anything | drops: the words differ |
//! | being written | - | - | drops at once |
//! | A committed | B or a mixture | A committed | **forbidden**; the fences exclude it |
//! | B committed | A or a mixture | B committed | **forbidden**; release and acquire exclude it |
//!
//! `tests/loom_commit.rs` runs all of these under every allowed order.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The largest sequence that a word can hold.
pub const SEQUENCE_MAX: u64 = u64::MAX >> 1;

/// The word while frame `seq` is being written.
#[inline]
#[must_use]
pub const fn in_progress(seq: u64) -> u64 {
    seq << 1
}

/// The word once frame `seq` is complete.
#[inline]
#[must_use]
pub const fn committed(seq: u64) -> u64 {
    (seq << 1) | 1
}

/// Whether the word says that its frame is complete.
#[inline]
#[must_use]
pub const fn is_committed(word: u64) -> bool {
    word & 1 == 1
}

/// The sequence in a word.
#[inline]
#[must_use]
pub const fn sequence(word: u64) -> u64 {
    word >> 1
}

/// The writer calls this before the first byte of header or payload.
///
/// A payload copied past the cache needs a store fence in addition to this one; `copy` has it.
#[inline]
pub fn begin(word: &AtomicU64, seq: u64) {
    word.store(in_progress(seq), Ordering::Release);
    // A release store orders what came before it, not what follows. Without this fence a weakly ordered CPU may show
    // bytes of the new frame while the word still says that the old one is complete.
    fence(Ordering::Release);
}

/// The writer calls this after the last byte of header and payload.
#[inline]
pub fn commit(word: &AtomicU64, seq: u64) {
    // Release: pairs with the acquire load of `look`. Without it the word may be seen before the payload.
    word.store(committed(seq), Ordering::Release);
}

/// A reader calls this before it reads anything else of the slot.
#[inline]
#[must_use]
pub fn look(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

/// A reader calls this after reading: whether everything that it read belongs to the frame that `look` saw.
#[inline]
#[must_use]
pub fn is_unchanged(word: &AtomicU64, seen: u64) -> bool {
    // The loads of the payload must not move after the load below. An acquire load alone does not prevent that.
    fence(Ordering::Acquire);
    word.load(Ordering::Acquire) == seen
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_zeroed_slot_is_frame_zero_being_written() {
        assert!(!is_committed(0));
        assert_eq!(sequence(0), 0);
    }

    #[test]
    fn words_carry_the_sequence_and_the_state() {
        for seq in [0, 1, 5, super::super::layout::SEQUENCE_MAX] {
            assert_eq!(sequence(in_progress(seq)), seq);
            assert_eq!(sequence(committed(seq)), seq);
            assert!(is_committed(committed(seq)) && !is_committed(in_progress(seq)));
        }
        assert_eq!(committed(5), 0x0B);
    }
}
