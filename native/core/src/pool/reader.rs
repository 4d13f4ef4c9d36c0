// SPDX-License-Identifier: Apache-2.0
//! Frames out: one attempt for each descriptor, and a cause for each frame that is not taken (PROTOCOL 4.2).

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
    /// The slot is being written: a newer frame is coming, or the writer died in the middle.
    InProgress,
    /// The word changed while the slot was read.
    Overwritten,
    /// The slot holds another frame.
    OtherFrame {
        /// Which.
        have_seq: u64,
    },
    /// The word went back, which no writer of this epoch does.
    WentBack,
    /// The slot names a pool that is not mapped.
    UnknownPool,
    /// The header is not sound.
    Header(SlotFault),
}

/// How many [`Dropped::index`] values there are.
pub const DROP_CAUSES: usize = 17;
/// Their names, in that order, as counters carry them.
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
    /// Its place in [`DROP_NAMES`].
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

    /// Whether the frame was there and gone: what `dropsLate` counts.
    #[must_use]
    pub const fn is_late(self) -> bool {
        matches!(self, Self::InProgress | Self::Overwritten | Self::OtherFrame { .. } | Self::WentBack)
    }
}

/// What the commit word of its slot says of a frame that a descriptor announced. A descriptor follows its commit
/// (PROTOCOL 3.3), so the word of a true one is never older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// The slot holds the frame, or a newer one.
    True,
    /// The slot has not come as far: nobody has published such a frame.
    False,
    /// The word is older than one that this reader saw there: a second writer.
    WentBack,
}

/// What the commit word of the slot of a frame says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The slot has not come as far: the frame was never committed.
    Older,
    /// The slot holds exactly this frame, whole.
    This,
    /// The slot has a later frame: this one is gone, if it was ever there.
    Newer,
}

/// A frame that was found sound. Its payload is a loan: the writer may take the slot at any time. It points into the
/// regions that it was read from, and whoever had it read keeps those mapped: see [`Reader::read`].
#[derive(Clone, Copy, Debug)]
pub struct FrameRef {
    /// The frame.
    pub seq: u64,
    /// What its slot says, checked.
    pub header: SlotHeader,
    /// Its payload, `header.values_bytes` long.
    pub payload: *const u8,
    slot: SlotPtr,
    word: u64,
}

// SAFETY: the payload pointer lies in regions that whoever holds the frame keeps mapped; nothing is written
// through it, and what is read is believed by the commit word.
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

    /// The frame that the slot holds, or is getting, now.
    #[must_use]
    pub fn slot_seq(&self) -> u64 {
        commit::sequence(commit::look(self.slot.commit_word()))
    }

    /// The header slot's bytes, for whoever keeps them: they are this frame's if it is still valid afterwards.
    #[must_use]
    pub fn slot_bytes(&self) -> [u8; SLOT_BYTES] {
        self.slot.snapshot().bytes(self.word)
    }

    /// Copies the payload; false when the frame was overwritten meanwhile, and the copy is worth nothing.
    ///
    /// # Safety
    /// `target` must be valid for `header.values_bytes` bytes, and the regions must still be mapped.
    #[inline]
    #[must_use]
    pub unsafe fn copy_to(&self, kind: CopyKind, target: *mut u8) -> bool {
        // SAFETY: the payload lies within its pool, checked when the frame was read; the target is the caller's.
        // The writer may store into the source meanwhile; then the bytes are not believed.
        unsafe { copy(kind, self.payload, target, self.header.values_bytes as usize) };
        self.is_valid()
    }
}

/// Reads a stream's frames by their sequence.
#[derive(Debug)]
pub struct Reader {
    regions: Arc<Regions>,
    /// The newest word seen in each slot: a word that goes back is a second writer, or memory gone bad.
    newest_words: Vec<u64>,
    seen_tensor: SeenTensor,
}

impl Reader {
    /// A reader that has seen nothing.
    #[must_use]
    pub fn new(regions: Arc<Regions>) -> Self {
        let newest_words = vec![0; regions.nslots() as usize];
        Self { regions, newest_words, seen_tensor: SeenTensor::default() }
    }

    /// The regions that it reads.
    #[inline]
    #[must_use]
    pub const fn regions(&self) -> &Arc<Regions> {
        &self.regions
    }

    /// The tensor of the frame that was read last; of any other with the same `tensor_id`, too.
    #[inline]
    #[must_use]
    pub const fn tensor(&self) -> &CheckedTensor {
        self.seen_tensor.checked()
    }

    /// Whether frame `seq` can have been published. One load.
    #[inline]
    pub fn believe(&mut self, seq: u64) -> Belief {
        let index = slot_index(seq, self.regions.nslots());
        let word = commit::look(self.regions.slot(index).commit_word());
        let newest = &mut self.newest_words[index as usize];
        if word < *newest {
            return Belief::WentBack;
        }
        *newest = word;
        // A sequence that no commit word can hold is no frame's.
        if seq <= commit::SEQUENCE_MAX && word >= commit::committed(seq) { Belief::True } else { Belief::False }
    }

    /// What the slot of frame `seq` holds. One load.
    #[must_use]
    pub fn holds(&self, seq: u64) -> Holding {
        if seq > commit::SEQUENCE_MAX {
            // No commit word can hold it.
            return Holding::Older;
        }
        let index = slot_index(seq, self.regions.nslots());
        match commit::look(self.regions.slot(index).commit_word()).cmp(&commit::committed(seq)) {
            Ordering::Less => Holding::Older,
            Ordering::Equal => Holding::This,
            Ordering::Greater => Holding::Newer,
        }
    }

    /// The newest frame that is whole in the ring. A load for each slot.
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        let words = (0..self.regions.nslots()).map(|index| commit::look(self.regions.slot(index).commit_word()));
        words.filter(|word| commit::is_committed(*word)).max().map(commit::sequence)
    }

    /// The first frame of an epoch whose newest one is `last`: the oldest in the ring, or 0 where there may have been
    /// others before it. A load for each slot.
    #[must_use]
    pub fn first_of(&self, last: u64) -> u64 {
        let words = (0..self.regions.nslots()).map(|index| commit::look(self.regions.slot(index).commit_word()));
        let oldest = words.filter(|word| commit::is_committed(*word)).min().map(commit::sequence);
        oldest.filter(|oldest| *oldest > self.oldest_beside(last)).unwrap_or(0)
    }

    /// The oldest sequence that the ring can still hold when `newest` is its newest.
    #[must_use]
    pub fn oldest_beside(&self, newest: u64) -> u64 {
        newest.saturating_add(1).saturating_sub(self.regions.nslots().into())
    }

    /// One attempt at frame `seq`, which a descriptor of the regions' epoch announced.
    ///
    /// # Errors
    /// Why it was not taken. Nothing is retried: what is not there now will not come.
    ///
    /// # Safety
    /// The frame must not be used after the regions were unmapped: hold [`Reader::regions`], or this, for as long.
    // Always: a frame that is given back through memory is copied by vectors, which wait for the stores of its fields.
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
