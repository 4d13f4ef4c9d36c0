// SPDX-License-Identifier: Apache-2.0
//! The reader of a ring: one attempt for each descriptor, and a cause for each frame that is not taken (PROTOCOL 4.2).

use std::cmp::Ordering;
use std::sync::Arc;

use super::commit;
use super::copy::{CopyKind, copy};
use super::layout::{SLOT_BYTES, slot_index};
use super::regions::Regions;
use super::slot::{SeenTensor, SlotFault, SlotHeader, SlotPtr};
use super::tensor::{CheckedTensor, TensorFault};

/// Why a frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The slot is being written: a newer frame is coming, or the writer died while writing it.
    InProgress,
    /// The word changed while the slot was read.
    Overwritten,
    /// The slot holds another frame.
    OtherFrame {
        /// The sequence of that frame.
        have_seq: u64,
    },
    /// The word went back, which no writer of this epoch does: there is a second writer.
    WentBack,
    /// The slot names a pool that is not mapped.
    UnknownPool,
    /// The slot's header is not valid.
    Header(SlotFault),
}

/// How many [`Dropped::index`] values there are.
pub const DROP_CAUSES: usize = 17;
/// The names of the causes in that order, as counters use them.
pub const DROP_NAMES: [&str; DROP_CAUSES] = [
    "in_progress",
    "overwritten",
    "other_frame",
    "went_back",
    "unknown_pool",
    "payload_slot",
    "payload_offset",
    "values_bytes",
    "header_length",
    "tensor_message",
    "dtype",
    "major_order",
    "ndims",
    "dims",
    "strides",
    "progress",
    "extent",
];

impl Dropped {
    /// The index of the cause in [`DROP_NAMES`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::InProgress => 0,
            Self::Overwritten => 1,
            Self::OtherFrame { .. } => 2,
            Self::WentBack => 3,
            Self::UnknownPool => 4,
            Self::Header(SlotFault::PayloadSlot) => 5,
            Self::Header(SlotFault::PayloadOffset) => 6,
            Self::Header(SlotFault::ValuesBytes) => 7,
            Self::Header(SlotFault::HeaderLength) => 8,
            Self::Header(SlotFault::TensorMessage) => 9,
            Self::Header(SlotFault::Tensor(TensorFault::Dtype)) => 10,
            Self::Header(SlotFault::Tensor(TensorFault::MajorOrder)) => 11,
            Self::Header(SlotFault::Tensor(TensorFault::Ndims)) => 12,
            Self::Header(SlotFault::Tensor(TensorFault::Dims)) => 13,
            Self::Header(SlotFault::Tensor(TensorFault::Strides)) => 14,
            Self::Header(SlotFault::Tensor(TensorFault::Progress)) => 15,
            Self::Header(SlotFault::Tensor(TensorFault::Extent)) => 16,
        }
    }

    /// Whether the frame existed and is gone: this is what `dropsLate` counts.
    #[must_use]
    pub const fn is_late(self) -> bool {
        matches!(self, Self::InProgress | Self::Overwritten | Self::OtherFrame { .. } | Self::WentBack)
    }
}

/// Whether the commit word of a slot confirms a descriptor. A descriptor is sent after its commit (PROTOCOL 3.3), so if
/// it is true the word is never older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// The slot holds the frame, or a newer one.
    True,
    /// The slot has an older frame: the announced frame was never published.
    False,
    /// The word is older than one that this reader saw in the slot before: there is a second writer.
    WentBack,
}

/// What a slot holds, compared with one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The slot holds an older frame: this one was never committed.
    Older,
    /// The slot holds exactly this frame, complete.
    This,
    /// The slot holds a later frame: this one is gone, if it ever existed.
    Newer,
}

/// A frame whose header was found valid. The payload is a loan: the writer may reuse the slot at any time. It points
/// into the regions that it was read from; the caller of [`Reader::read`] keeps them mapped.
#[derive(Clone, Copy, Debug)]
pub struct FrameRef {
    /// The frame's sequence.
    pub seq: u64,
    /// The slot's header, checked.
    pub header: SlotHeader,
    /// The payload, `header.values_bytes` long.
    pub payload: *const u8,
    slot: SlotPtr,
    word: u64,
}

// SAFETY: the payload pointer lies in regions that the holder of the frame keeps mapped. Nothing is written through it,
// and what is read counts only after the commit word was checked again.
unsafe impl Send for FrameRef {}
// SAFETY: as above.
unsafe impl Sync for FrameRef {}

impl FrameRef {
    /// Whether everything that was read of the payload so far belongs to this frame.
    #[inline]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        commit::is_unchanged(self.slot.commit_word(), self.word)
    }

    /// The sequence of the frame that the slot holds, or is being written with, now.
    #[must_use]
    pub fn slot_seq(&self) -> u64 {
        commit::sequence(commit::look(self.slot.commit_word()))
    }

    /// The header slot's bytes, for a caller that stores them. They are this frame's if it is still valid afterwards.
    #[must_use]
    pub fn slot_bytes(&self) -> [u8; SLOT_BYTES] {
        self.slot.snapshot().bytes(self.word)
    }

    /// Copies the payload. Returns false if the frame was overwritten meanwhile; the copy is worthless then.
    ///
    /// # Safety
    /// `target` must be valid for `header.values_bytes` bytes, and the regions must still be mapped.
    #[inline]
    #[must_use]
    pub unsafe fn copy_to(&self, kind: CopyKind, target: *mut u8) -> bool {
        // SAFETY: the payload lies within its pool, checked when the frame was read; the target is the caller's. The
        // writer may store into the source meanwhile; then the caller discards the copy.
        unsafe { copy(kind, self.payload, target, self.header.values_bytes as usize) };
        self.is_valid()
    }
}

/// Reads the frames of a stream by their sequence.
#[derive(Debug)]
pub struct Reader {
    regions: Arc<Regions>,
    /// The newest word seen in each slot. A word that goes back shows a second writer, or damaged memory.
    newest_words: Vec<u64>,
    seen_tensor: SeenTensor,
}

impl Reader {
    /// Makes a reader that has seen nothing.
    #[must_use]
    pub fn new(regions: Arc<Regions>) -> Self {
        let newest_words = vec![0; regions.nslots() as usize];
        Self { regions, newest_words, seen_tensor: SeenTensor::default() }
    }

    /// The regions that this reader reads.
    #[inline]
    #[must_use]
    pub const fn regions(&self) -> &Arc<Regions> {
        &self.regions
    }

    /// The tensor of the frame that was read last, and of every other frame with the same `tensor_id`.
    #[inline]
    #[must_use]
    pub const fn tensor(&self) -> &CheckedTensor {
        self.seen_tensor.checked()
    }

    /// Whether frame `seq` can have been published. This costs one load.
    #[inline]
    pub fn believe(&mut self, seq: u64) -> Belief {
        let index = slot_index(seq, self.regions.nslots());
        let word = commit::look(self.regions.slot(index).commit_word());
        let newest = &mut self.newest_words[index as usize];
        if word < *newest {
            return Belief::WentBack;
        }
        *newest = word;
        // A sequence that no commit word can hold belongs to no frame.
        if seq <= commit::SEQUENCE_MAX && word >= commit::committed(seq) { Belief::True } else { Belief::False }
    }

    /// What the slot of frame `seq` holds. This costs one load.
    #[must_use]
    pub fn holds(&self, seq: u64) -> Holding {
        if seq > commit::SEQUENCE_MAX {
            // No commit word can hold this sequence.
            return Holding::Older;
        }
        let index = slot_index(seq, self.regions.nslots());
        match commit::look(self.regions.slot(index).commit_word()).cmp(&commit::committed(seq)) {
            Ordering::Less => Holding::Older,
            Ordering::Equal => Holding::This,
            Ordering::Greater => Holding::Newer,
        }
    }

    /// The newest complete frame in the ring. This costs a load for each slot.
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        let words = (0..self.regions.nslots()).map(|index| commit::look(self.regions.slot(index).commit_word()));
        words.filter(|word| commit::is_committed(*word)).max().map(commit::sequence)
    }

    /// The first frame of an epoch whose newest frame is `last`: the oldest in the ring, or 0 if there may have been
    /// others before it. This costs a load for each slot.
    #[must_use]
    pub fn first_of(&self, last: u64) -> u64 {
        let words = (0..self.regions.nslots()).map(|index| commit::look(self.regions.slot(index).commit_word()));
        let oldest = words.filter(|word| commit::is_committed(*word)).min().map(commit::sequence);
        oldest.filter(|oldest| *oldest > self.oldest_beside(last)).unwrap_or(0)
    }

    /// The oldest sequence that the ring can still hold if `newest` is its newest.
    #[must_use]
    pub fn oldest_beside(&self, newest: u64) -> u64 {
        newest.saturating_add(1).saturating_sub(self.regions.nslots().into())
    }

    /// Makes one attempt to read frame `seq`, which a descriptor of the regions' epoch announced.
    ///
    /// # Errors
    /// Why the frame was not taken. Nothing is retried: a frame that is not there now will not come.
    ///
    /// # Safety
    /// The frame must not be used after the regions were unmapped: keep [`Reader::regions`], or the reader, as long.
    // Inlined always: a frame that is returned through memory is copied by vector loads, which wait for the stores of
    // its fields.
    #[inline(always)]
    pub unsafe fn read(&mut self, seq: u64) -> Result<FrameRef, Dropped> {
        let index = slot_index(seq, self.regions.nslots());
        let slot = self.regions.slot(index);
        let word = commit::look(slot.commit_word());
        if !commit::is_committed(word) {
            return Err(Dropped::InProgress);
        }
        let newest = &mut self.newest_words[index as usize];
        if word < *newest {
            return Err(Dropped::WentBack);
        }
        *newest = word;
        let copy = slot.snapshot_beside(&self.seen_tensor);
        if !commit::is_unchanged(slot.commit_word(), word) {
            return Err(Dropped::Overwritten);
        }
        if commit::sequence(word) != seq {
            return Err(Dropped::OtherFrame { have_seq: commit::sequence(word) });
        }
        let Some(pool) = self.regions.pool_with_id(copy.pool_id()) else {
            return Err(Dropped::UnknownPool);
        };
        let header = copy
            .check(index, self.regions.pools()[pool].stride_bytes, &mut self.seen_tensor)
            .map_err(Dropped::Header)?;
        Ok(FrameRef { seq, header, payload: self.regions.payload(pool, index), slot, word })
    }
}
