// SPDX-License-Identifier: Apache-2.0
//! What flows through a stream of the pipeline: events, watermarks and barriers.

/// The flag of an unaligned barrier: bit 0.
pub const UNALIGNED: u64 = 1;
/// The largest epoch: the command word has 48 bits for it.
pub const EPOCH_MAX: u64 = (1 << 48) - 1;
/// The largest size of a message between two stages.
pub const MESSAGE_BYTES_MAX: usize = 128;

/// A checkpoint barrier, which cuts a stream: what came before it belongs to the checkpoint.
///
/// ```text
///  0               8               16              24
///  +---------------+---------------+---------------+
///  | checkpoint id | epoch         | flags         |
///  +---------------+---------------+---------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CheckpointBarrier {
    /// The id, which strictly increases within a pipeline; 0 is none.
    pub checkpoint_id: u64,
    /// The coordinator's epoch, at most [`EPOCH_MAX`]; it never goes back.
    pub epoch: u64,
    flags: u64,
}

const _: () = assert!(size_of::<CheckpointBarrier>() == 24);

impl CheckpointBarrier {
    /// Makes a barrier that waits for the other inputs.
    #[inline]
    #[must_use]
    pub const fn new(checkpoint_id: u64, epoch: u64) -> Self {
        Self { checkpoint_id, epoch, flags: 0 }
    }

    /// Makes a barrier that overtakes waiting events.
    #[inline]
    #[must_use]
    pub const fn new_unaligned(checkpoint_id: u64, epoch: u64) -> Self {
        Self { checkpoint_id, epoch, flags: UNALIGNED }
    }

    /// Makes a barrier of either kind.
    #[inline]
    #[must_use]
    pub const fn with(checkpoint_id: u64, epoch: u64, is_unaligned: bool) -> Self {
        Self { checkpoint_id, epoch, flags: is_unaligned as u64 }
    }

    /// The same barrier, marked as unaligned.
    #[inline]
    #[must_use]
    pub const fn flagged(self) -> Self {
        Self { flags: self.flags | UNALIGNED, ..self }
    }

    /// Whether the barrier overtakes waiting events.
    #[inline]
    #[must_use]
    pub const fn is_unaligned(&self) -> bool {
        self.flags & UNALIGNED != 0
    }

    /// Whether the barrier waits for the other inputs.
    #[inline]
    #[must_use]
    pub const fn is_aligned(&self) -> bool {
        !self.is_unaligned()
    }
}

/// A promise that no later event of the stream is older than this many milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watermark(pub i64);

/// What a channel between two stages carries, at most [`MESSAGE_BYTES_MAX`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamMessage<T> {
    /// An event to process.
    Event(T),
    /// How far the stream's time has come.
    Watermark(Watermark),
    /// A cut of the stream.
    Barrier(CheckpointBarrier),
}

impl<T> StreamMessage<T> {
    /// Whether the message is a barrier.
    #[inline]
    #[must_use]
    pub const fn is_barrier(&self) -> bool {
        matches!(self, Self::Barrier(_))
    }

    /// The barrier, if the message is one.
    #[inline]
    #[must_use]
    pub const fn as_barrier(&self) -> Option<&CheckpointBarrier> {
        match self {
            Self::Barrier(barrier) => Some(barrier),
            _ => None,
        }
    }

    /// The same message with its event changed.
    #[inline]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> StreamMessage<U> {
        match self {
            Self::Event(event) => StreamMessage::Event(change(event)),
            Self::Watermark(watermark) => StreamMessage::Watermark(watermark),
            Self::Barrier(barrier) => StreamMessage::Barrier(barrier),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_barrier(checkpoint_id: u64) -> StreamMessage<u32> {
        StreamMessage::Barrier(CheckpointBarrier::new(checkpoint_id, 1))
    }

    #[test]
    fn test_checkpoint_barrier_new_creates_aligned() {
        let barrier = CheckpointBarrier::new(12, 3);
        assert!(barrier.is_aligned() && !barrier.is_unaligned());
        assert_eq!((barrier.checkpoint_id, barrier.epoch), (12, 3));
    }

    #[test]
    fn test_checkpoint_barrier_new_unaligned_flag() {
        let barrier = CheckpointBarrier::new_unaligned(12, 3);
        assert!(barrier.is_unaligned() && !barrier.is_aligned());
        assert_eq!(CheckpointBarrier::new(12, 3).flagged(), barrier);
    }

    #[test]
    fn test_checkpoint_barrier_size_is_24_bytes() {
        assert_eq!((size_of::<CheckpointBarrier>(), align_of::<CheckpointBarrier>()), (24, 8));
    }

    #[test]
    fn test_checkpoint_barrier_is_copy() {
        let barrier = CheckpointBarrier::new(1, 1);
        let copy = barrier;
        assert_eq!(copy, barrier);
    }

    #[test]
    fn test_stream_message_is_barrier_returns_true() {
        assert!(of_barrier(1).is_barrier());
        assert!(
            !StreamMessage::Event(1u32).is_barrier() && !StreamMessage::<u32>::Watermark(Watermark(1)).is_barrier()
        );
    }

    #[test]
    fn test_stream_message_as_barrier_returns_some() {
        assert_eq!(of_barrier(7).as_barrier(), Some(&CheckpointBarrier::new(7, 1)));
        assert_eq!(StreamMessage::Event(1u32).as_barrier(), None);
    }

    #[test]
    fn test_stream_message_map_preserves_barrier() {
        assert_eq!(of_barrier(7).map(u64::from).as_barrier(), Some(&CheckpointBarrier::new(7, 1)));
        assert_eq!(StreamMessage::Event(3u32).map(|event| event * 2), StreamMessage::Event(6));
        let watermark = StreamMessage::<u32>::Watermark(Watermark(5));
        assert_eq!(watermark.map(u64::from), StreamMessage::Watermark(Watermark(5)));
    }
}
