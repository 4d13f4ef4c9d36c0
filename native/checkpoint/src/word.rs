// SPDX-License-Identifier: Apache-2.0
//! The command word, by which a coordinator asks for a barrier in one atomic operation.
//!
//! ```text
//!   127                        64 63                 16  15  14        0
//!  +-----------------------------+---------------------+---+-----------+
//!  | checkpoint id, 64 bits      | epoch, 48 bits      | U | 0         |   0 as a whole: nothing is asked for
//!  +-----------------------------+---------------------+---+-----------+
//! ```
//!
//! Any number of handles write commands, and the newest wins; one injector takes them. What may happen to a command C
//! that is written while the injector polls:
//!
//! | outcome | |
//! |---|---|
//! | C is taken whole, once | allowed |
//! | C is replaced by a later command before it is taken | allowed |
//! | C is erased without being taken or replaced | **forbidden**: taking is one exchange, not a load and a store |
//! | id, epoch or flag of one command with another's | **forbidden**: there is one word |
//!
//! `tests/loom_word.rs` checks these under every allowed order.

use crate::atomics::Ordering;
use crate::message::{CheckpointBarrier, EPOCH_MAX};

pub use crate::atomics::AtomicU128;

/// The word that asks for nothing.
pub const EMPTY: u128 = 0;
const UNALIGNED_BIT: u32 = 15;

/// Why a barrier does not fit a command word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The id is 0, which means that nothing is asked for.
    Id,
    /// The epoch needs more than 48 bits.
    Epoch,
}

/// Packs a barrier into a command word.
pub const fn pack(barrier: CheckpointBarrier) -> Result<u128, Unfit> {
    if barrier.checkpoint_id == 0 {
        return Err(Unfit::Id);
    }
    if barrier.epoch > EPOCH_MAX {
        return Err(Unfit::Epoch);
    }
    let flag = barrier.is_unaligned() as u128;
    Ok((barrier.checkpoint_id as u128) << 64 | (barrier.epoch as u128) << 16 | flag << UNALIGNED_BIT)
}

/// Unpacks the barrier that a word asks for. None for the empty word, and for a word without an id, which another
/// process may have written.
#[inline]
#[must_use]
pub const fn unpack(word: u128) -> Option<CheckpointBarrier> {
    let (checkpoint_id, epoch) = ((word >> 64) as u64, (word >> 16) as u64 & EPOCH_MAX);
    if checkpoint_id == 0 {
        return None;
    }
    Some(CheckpointBarrier::with(checkpoint_id, epoch, word >> UNALIGNED_BIT & 1 != 0))
}

/// Asks for a barrier. A command that was not taken yet is replaced.
pub fn inject(word: &AtomicU128, barrier: CheckpointBarrier) -> Result<(), Unfit> {
    // Release: pairs with `take`. Everything that the coordinator wrote before, above all its stored counter, comes
    // first.
    word.store(pack(barrier)?, Ordering::Release);
    Ok(())
}

/// Takes the command, once. Mostly there is none, which costs one load.
#[inline]
pub fn take(word: &AtomicU128) -> u128 {
    if word.load(Ordering::Relaxed) == EMPTY {
        return EMPTY;
    }
    // One exchange: between a load and a store, a newer command could be erased unseen.
    word.swap(EMPTY, Ordering::AcqRel)
}

/// Whether the operations need no lock. Other processes would not see a lock.
#[cfg(not(loom))]
#[must_use]
pub fn is_lock_free() -> bool {
    AtomicU128::is_lock_free()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn there_and_back(barrier: CheckpointBarrier) -> Option<CheckpointBarrier> {
        unpack(pack(barrier).expect("it fits"))
    }

    #[test]
    fn test_packed_barrier_cmd_round_trip() {
        for id in [1, 2, 0xDEAD_BEEF, u64::MAX] {
            for epoch in [0, 1, 77] {
                for is_unaligned in [false, true] {
                    let barrier = CheckpointBarrier::with(id, epoch, is_unaligned);
                    assert_eq!(there_and_back(barrier), Some(barrier));
                }
            }
        }
    }

    #[test]
    fn test_packed_barrier_cmd_empty_sentinel() {
        assert_eq!(unpack(EMPTY), None);
        assert_ne!(pack(CheckpointBarrier::new(1, 0)), Ok(EMPTY));
        assert_eq!(pack(CheckpointBarrier::new(0, 5)), Err(Unfit::Id));
    }

    #[test]
    fn test_packed_barrier_cmd_epoch_48bit_max() {
        let largest = CheckpointBarrier::new(1, EPOCH_MAX);
        assert_eq!(there_and_back(largest), Some(largest));
        assert_eq!(pack(CheckpointBarrier::new(1, EPOCH_MAX + 1)), Err(Unfit::Epoch));
    }

    #[test]
    fn taking_leaves_nothing_and_the_newest_wins() {
        let word = AtomicU128::new(EMPTY);
        inject(&word, CheckpointBarrier::new(1, 1)).expect("it fits");
        inject(&word, CheckpointBarrier::new(2, 1)).expect("it fits");
        assert_eq!(unpack(take(&word)), Some(CheckpointBarrier::new(2, 1)));
        assert_eq!(take(&word), EMPTY);
    }
}
