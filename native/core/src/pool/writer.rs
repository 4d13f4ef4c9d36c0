// SPDX-License-Identifier: Apache-2.0
//! The writer of a ring: claim a slot, fill it, commit it (PROTOCOL 4.1). Each stream has one; it never waits for a
//! reader.

use std::sync::Arc;

use super::commit;
use super::copy::{CopyKind, copy};
use super::layout::{NULL_META_VERSION, NULL_TIMESTAMP, SEQUENCE_MAX, slot_index};
use super::regions::Regions;
use super::slot::{FrameWords, SlotImage};
use super::tensor::{Tensor, TensorFault};

/// Bytes of a FrameDescriptor message, its header included.
pub const DESCRIPTOR_MESSAGE_BYTES: usize = 48;

/// ```text
///  0                          8          12      20    28            36            40        48
///  | 40, 4, 900, 1 as 4 x u16 | streamId | epoch | seq | timestampNs | metaVersion | traceId |
/// ```
mod descriptor_at {
    pub(super) const STREAM_ID: usize = 8;
    pub(super) const EPOCH: usize = 12;
    pub(super) const SEQ: usize = 20;
    pub(super) const TIMESTAMP_NS: usize = 28;
    pub(super) const META_VERSION: usize = 36;
    pub(super) const TRACE_ID: usize = 40;
}
const DESCRIPTOR_HEADER: u64 = 40 | 4 << 16 | 900 << 32 | 1 << 48;

/// The times and numbers that a frame is stamped with.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    /// Capture time, in the slot.
    pub timestamp_ns: u64,
    /// Publish time, in the descriptor.
    pub descriptor_timestamp_ns: u64,
    /// Metadata version, in both.
    pub meta_version: u32,
    /// Trace id, in the descriptor; 0 if not traced.
    pub trace_id: u64,
}

impl Default for Stamps {
    fn default() -> Self {
        Self {
            timestamp_ns: NULL_TIMESTAMP,
            descriptor_timestamp_ns: NULL_TIMESTAMP,
            meta_version: NULL_META_VERSION,
            trace_id: 0,
        }
    }
}

/// Why a frame was not begun. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// No pool has slots that are large enough.
    TooLarge {
        /// The largest stride.
        limit_bytes: u32,
    },
    /// There is no further sequence.
    SequenceEnd,
    /// Another frame is still open.
    ClaimOpen,
    /// This frame is not open here: it was ended before, or another writer began it.
    NotOpen,
    /// The tensor does not describe the payload.
    Tensor(TensorFault),
}

/// A slot that is being filled.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The frame's sequence.
    pub seq: u64,
    /// Where the payload is to be written.
    pub payload: *mut u8,
    /// How many bytes were requested.
    pub values_bytes: u32,
    pool: usize,
    index: u32,
}

// SAFETY: the payload pointer lies in regions that the holder of the claim keeps mapped. It is only an address, and
// what is written through it is ordered by the commit word.
unsafe impl Send for Claim {}
// SAFETY: as above.
unsafe impl Sync for Claim {}

impl Claim {
    /// Copies the whole payload into the slot.
    ///
    /// # Safety
    /// `source` must be valid for `values_bytes` bytes, and the regions must still be mapped.
    #[inline]
    pub unsafe fn copy_in(&self, source: *const u8) {
        let bytes = self.values_bytes as usize;
        // SAFETY: the slot has space for the bytes, by `Writer::claim`; the source is the caller's.
        unsafe { copy(CopyKind::for_payload(bytes), source, self.payload, bytes) };
    }
}

/// The only writer of a stream's regions.
#[derive(Debug)]
pub struct Writer {
    regions: Arc<Regions>,
    next_seq: u64,
    tensor: Tensor,
    /// Bytes that the tensor's elements need, or what is wrong with the tensor. It is computed once, when the tensor is
    /// set.
    extent_bytes: Result<i64, TensorFault>,
    image: SlotImage,
    /// The sequence from which on every frame had the image's tensor and none was left out. One ring later every slot
    /// has that tensor already, because nobody else writes the slots.
    alike_since: u64,
    descriptor: [u8; DESCRIPTOR_MESSAGE_BYTES],
    is_claimed: bool,
}

impl Writer {
    /// Makes a writer that starts at sequence 0 of the regions' epoch.
    #[must_use]
    pub fn new(regions: Arc<Regions>, tensor: Tensor) -> Self {
        let mut descriptor = [0; DESCRIPTOR_MESSAGE_BYTES];
        descriptor[..8].copy_from_slice(&DESCRIPTOR_HEADER.to_le_bytes());
        put(&mut descriptor, descriptor_at::STREAM_ID, &regions.stream_id.to_le_bytes());
        put(&mut descriptor, descriptor_at::EPOCH, &regions.epoch.to_le_bytes());
        let (image, extent_bytes) = (SlotImage::new(&tensor), extent_of(&tensor));
        Self { regions, next_seq: 0, tensor, extent_bytes, image, alike_since: 0, descriptor, is_claimed: false }
    }

    /// The regions that this writer writes.
    #[must_use]
    pub const fn regions(&self) -> &Arc<Regions> {
        &self.regions
    }

    /// The sequence of the next frame.
    #[inline]
    #[must_use]
    pub const fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Moves on to a later sequence, for schedules and republishing.
    ///
    /// # Errors
    /// If the sequence is lower than the next one, or too large, or if a frame is open.
    pub fn skip_to(&mut self, seq: u64) -> Result<(), WriteFault> {
        if self.is_claimed {
            return Err(WriteFault::ClaimOpen);
        }
        if seq < self.next_seq || seq > SEQUENCE_MAX {
            return Err(WriteFault::SequenceEnd);
        }
        if seq != self.next_seq {
            (self.next_seq, self.alike_since) = (seq, seq);
        }
        Ok(())
    }

    /// Sets the tensor of the frames from now on.
    ///
    /// # Errors
    /// If a frame is open: a frame keeps the tensor with which it was begun.
    pub fn set_tensor(&mut self, tensor: Tensor) -> Result<(), WriteFault> {
        if self.is_claimed {
            return Err(WriteFault::ClaimOpen);
        }
        if tensor != self.tensor {
            self.image = SlotImage::new(&tensor);
            self.extent_bytes = extent_of(&tensor);
            self.tensor = tensor;
            self.alike_since = self.next_seq;
        }
        Ok(())
    }

    /// The tensor of the frames.
    #[inline]
    #[must_use]
    pub const fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// Begins a frame with this tensor, as sequence `seq` if one is given. If it is refused, sequence and slot are
    /// unchanged.
    ///
    /// # Errors
    /// See [`WriteFault`].
    // Inlined always: a claim that is returned through memory is copied by vector loads, which wait for the stores of
    // its fields.
    #[inline(always)]
    pub fn begin(&mut self, tensor: &Tensor, values_bytes: u32, seq: Option<u64>) -> Result<Claim, WriteFault> {
        if self.tensor != *tensor {
            self.set_tensor(*tensor)?;
        }
        let pool = self.free_pool(values_bytes)?;
        self.check(values_bytes)?;
        if let Some(seq) = seq {
            self.skip_to(seq)?;
        }
        self.open(pool, values_bytes)
    }

    /// Chooses the pool for a frame of this many bytes, before the slot is touched. A frame that fits nowhere leaves
    /// the old one readable.
    #[inline]
    fn free_pool(&self, values_bytes: u32) -> Result<usize, WriteFault> {
        if self.is_claimed {
            return Err(WriteFault::ClaimOpen);
        }
        self.regions.pool_for(values_bytes).ok_or_else(|| self.too_large())
    }

    fn too_large(&self) -> WriteFault {
        WriteFault::TooLarge { limit_bytes: self.regions.pools().last().map_or(0, |pool| pool.stride_bytes) }
    }

    /// Begins the next frame. Until it is committed, readers skip its slot.
    ///
    /// # Errors
    /// See [`WriteFault`]; nothing has changed then.
    #[inline]
    pub fn claim(&mut self, values_bytes: u32) -> Result<Claim, WriteFault> {
        let pool = self.free_pool(values_bytes)?;
        self.open(pool, values_bytes)
    }

    #[inline(always)]
    fn open(&mut self, pool: usize, values_bytes: u32) -> Result<Claim, WriteFault> {
        if self.next_seq > SEQUENCE_MAX {
            return Err(WriteFault::SequenceEnd);
        }
        let index = slot_index(self.next_seq, self.regions.nslots());
        commit::begin(self.regions.slot(index).commit_word(), self.next_seq);
        self.is_claimed = true;
        let payload = self.regions.payload(pool, index);
        Ok(Claim { seq: self.next_seq, payload, values_bytes, pool, index })
    }

    /// Completes the frame. Returns the message that announces it, which the caller sends at once.
    ///
    /// # Errors
    /// If the tensor does not fit the payload. The frame stays open.
    #[inline(always)]
    pub fn commit(&mut self, claim: &Claim, stamps: Stamps) -> Result<&[u8; DESCRIPTOR_MESSAGE_BYTES], WriteFault> {
        if !self.is_claimed || claim.seq != self.next_seq {
            return Err(WriteFault::NotOpen);
        }
        self.check(claim.values_bytes)?;
        let pool_id = self.regions.pools()[claim.pool].pool_id;
        let frame = FrameWords::new(claim.index, pool_id, claim.values_bytes, stamps.timestamp_ns, stamps.meta_version);
        let slot = self.regions.slot(claim.index);
        if claim.seq - self.alike_since >= u64::from(self.regions.nslots()) {
            slot.refill(&frame);
        } else {
            slot.fill(&self.image, &frame);
        }
        commit::commit(slot.commit_word(), claim.seq);
        self.is_claimed = false;
        self.next_seq += 1;
        Ok(self.describe(claim.seq, stamps))
    }

    /// Gives the slot up unfinished. Readers skip it. The next frame gets the same sequence, so that none is missing.
    pub fn abandon(&mut self, _claim: Claim) {
        self.is_claimed = false;
    }

    /// Claims a slot, copies the payload, and commits it.
    ///
    /// # Errors
    /// See [`WriteFault`]; nothing has changed then.
    ///
    /// # Safety
    /// `source` must be valid for `values_bytes` bytes.
    #[inline]
    pub unsafe fn publish(
        &mut self,
        source: *const u8,
        values_bytes: u32,
        stamps: Stamps,
    ) -> Result<&[u8; DESCRIPTOR_MESSAGE_BYTES], WriteFault> {
        self.check(values_bytes)?;
        let claim = self.claim(values_bytes)?;
        // SAFETY: the caller's contract; `&mut self` holds the regions.
        unsafe { claim.copy_in(source) };
        self.commit(&claim, stamps)
    }

    #[inline]
    fn check(&self, values_bytes: u32) -> Result<(), WriteFault> {
        match self.extent_bytes {
            Ok(extent_bytes) if extent_bytes <= i64::from(values_bytes) => Ok(()),
            Ok(_) => Err(WriteFault::Tensor(TensorFault::Extent)),
            Err(fault) => Err(WriteFault::Tensor(fault)),
        }
    }

    #[inline]
    fn describe(&mut self, seq: u64, stamps: Stamps) -> &[u8; DESCRIPTOR_MESSAGE_BYTES] {
        put(&mut self.descriptor, descriptor_at::SEQ, &seq.to_le_bytes());
        put(&mut self.descriptor, descriptor_at::TIMESTAMP_NS, &stamps.descriptor_timestamp_ns.to_le_bytes());
        put(&mut self.descriptor, descriptor_at::META_VERSION, &stamps.meta_version.to_le_bytes());
        put(&mut self.descriptor, descriptor_at::TRACE_ID, &stamps.trace_id.to_le_bytes());
        &self.descriptor
    }
}

fn extent_of(tensor: &Tensor) -> Result<i64, TensorFault> {
    tensor.checked().map(|checked| checked.extent_bytes)
}

#[inline]
fn put(bytes: &mut [u8], offset: usize, field: &[u8]) {
    bytes[offset..offset + field.len()].copy_from_slice(field);
}
