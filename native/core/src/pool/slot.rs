// SPDX-License-Identifier: Apache-2.0
//! A header slot: 256 bytes that say where a frame's payload is and what it holds (PROTOCOL 3.3).
//!
//! Readers race with the writer by design. So the words of a slot are copied with relaxed atomic accesses, which cost
//! as much as plain ones, and are interpreted only in the reader's own copy.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{self, MAX_DIMS, SLOT_BYTES, slot as at, tensor as tensor_at};
use super::tensor::{CheckedTensor, Tensor, TensorFault};

const WORDS: usize = SLOT_BYTES / 8;
/// The words that differ from frame to frame, apart from the commit word; see [`FrameWords`].
const FRAME_WORDS: Range<usize> = 1..5;
/// The words that a reader needs: up to the end of the strides.
const READ_WORDS: usize = tensor_at::PAD.div_ceil(8);

/// A slot in mapped memory.
#[derive(Clone, Copy, Debug)]
pub struct SlotPtr(*mut AtomicU64);

// SAFETY: every access through the pointer is atomic; the caller of `new` vouches for the mapping's lifetime.
unsafe impl Send for SlotPtr {}
// SAFETY: as above.
unsafe impl Sync for SlotPtr {}

impl SlotPtr {
    /// # Safety
    /// `start` must be 8-aligned and point at [`SLOT_BYTES`] mapped bytes that stay mapped while this is used.
    #[must_use]
    pub unsafe fn new(start: *mut u8) -> Self {
        debug_assert_eq!(start as usize % 8, 0);
        Self(start.cast())
    }

    #[inline]
    fn words(&self) -> &[AtomicU64; WORDS] {
        // SAFETY: `new`'s caller vouched for the bytes and the alignment; atomics may be shared.
        unsafe { &*self.0.cast() }
    }

    /// The commit word.
    #[inline]
    #[must_use]
    pub fn commit_word(&self) -> &AtomicU64 {
        &self.words()[0]
    }

    /// Copies what a reader needs. The copy may be torn until the commit word was checked again.
    #[inline]
    #[must_use]
    pub fn snapshot(&self) -> SlotCopy {
        let mut copy = SlotCopy { words: [0; READ_WORDS], is_seen: false };
        // Word 0 is the commit word, which the reader loads separately.
        for (word, from) in copy.words[1..].iter_mut().zip(&self.words()[1..]) {
            *word = from.load(Ordering::Relaxed);
        }
        copy
    }

    /// Copies like `snapshot`, for a check with this `seen` and no other. The words of the tensor are compared while
    /// they are copied. Comparing them in the finished copy would use vector loads, which wait for the stores of the
    /// words.
    #[inline(always)]
    #[must_use]
    pub fn snapshot_beside(&self, seen: &SeenTensor) -> SlotCopy {
        let (slot, mut words, mut differing) = (self.words(), [0; READ_WORDS], 0);
        for (word, from) in words[1..TENSOR_WORD].iter_mut().zip(&slot[1..TENSOR_WORD]) {
            *word = from.load(Ordering::Relaxed);
        }
        for ((word, from), seen) in words[TENSOR_WORD..].iter_mut().zip(&slot[TENSOR_WORD..]).zip(&seen.words) {
            *word = from.load(Ordering::Relaxed);
            differing |= *word ^ seen;
        }
        SlotCopy { words, is_seen: differing == 0 }
    }

    /// Writes everything but the commit word. The caller has begun the frame and will commit it.
    #[inline]
    pub fn fill(&self, image: &SlotImage, frame: &FrameWords) {
        self.refill(frame);
        for (word, value) in self.words()[FRAME_WORDS.end..].iter().zip(&image.words[FRAME_WORDS.end..]) {
            word.store(*value, Ordering::Relaxed);
        }
    }

    /// Writes only what differs from frame to frame, into a slot that already has the rest of the image. This changes
    /// one of the slot's four cache lines, and readers keep the others in their caches.
    #[inline]
    pub fn refill(&self, frame: &FrameWords) {
        for (word, value) in self.words()[FRAME_WORDS].iter().zip(&frame.0) {
            word.store(*value, Ordering::Relaxed);
        }
    }
}

/// A reader's copy of a slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotCopy {
    words: [u64; READ_WORDS],
    /// Whether its tensor is the one that the reader saw last.
    is_seen: bool,
}

/// The word at which the embedded TensorHeader message begins.
const TENSOR_WORD: usize = at::TENSOR_MESSAGE_HEADER / 8;

/// The last tensor that a reader found valid, with the words that encoded it.
#[derive(Clone, Debug)]
pub struct SeenTensor {
    words: [u64; READ_WORDS - TENSOR_WORD],
    checked: CheckedTensor,
    id: u64,
}

/// How many tensors the readers of this process have found valid. Each gets a number.
static TENSORS: AtomicU64 = AtomicU64::new(0);

impl SeenTensor {
    /// The tensor itself.
    #[inline]
    #[must_use]
    pub const fn checked(&self) -> &CheckedTensor {
        &self.checked
    }

    /// The number of the tensor: frames with the same number have the same tensor.
    #[inline]
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }
}

impl Default for SeenTensor {
    fn default() -> Self {
        let tensor = Tensor::contiguous(0, 0, &[]);
        // No slot has these words: a valid tensor begins with its message header, which is not zero.
        Self {
            words: [0; READ_WORDS - TENSOR_WORD],
            checked: CheckedTensor { tensor, strides: [0; MAX_DIMS], extent_bytes: i64::MAX },
            id: 0,
        }
    }
}

/// Why a slot's header is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotFault {
    /// The payload slot is not the header index of the frame, or is outside the pool.
    PayloadSlot,
    /// The payload offset is not zero.
    PayloadOffset,
    /// The payload is longer than the pool's stride.
    ValuesBytes,
    /// The embedded header's length is not 192.
    HeaderLength,
    /// The embedded message header is not that of a TensorHeader, version 1.
    TensorMessage,
    /// The tensor is not valid.
    Tensor(TensorFault),
}

/// A header that was found valid. Its tensor is not part of it: frames of a stream share one, which is larger than the
/// rest and is kept by [`SeenTensor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotHeader {
    /// Bytes of payload.
    pub values_bytes: u32,
    /// Capture time; [`layout::NULL_TIMESTAMP`] if not given.
    pub timestamp_ns: u64,
    /// Metadata version; [`layout::NULL_META_VERSION`] if not given.
    pub meta_version: u32,
    /// The number of the tensor; see [`SeenTensor::id`].
    pub tensor_id: u64,
}

impl SlotCopy {
    /// The 64 bits from a byte offset on. The copy is kept as words: an unaligned load from words that were just stored
    /// would wait for the store buffer every time.
    #[inline(always)]
    const fn bits(&self, offset: usize) -> u64 {
        let (word, shift) = (offset / 8, offset % 8 * 8);
        let low = self.words[word] >> shift;
        if shift == 0 { low } else { low | self.words[word + 1] << (64 - shift) }
    }

    /// The slot's bytes as they are for a frame committed by `word`. The padding, which carries nothing, is zero.
    #[must_use]
    pub fn bytes(&self, word: u64) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        for (place, value) in bytes.chunks_exact_mut(8).zip(&self.words) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        bytes[at::PAD..at::HEADER_LENGTH].fill(0);
        bytes[tensor_at::PAD..].fill(0);
        bytes
    }

    /// The id of the pool that the slot names. The caller knows which pools are mapped.
    #[inline]
    #[must_use]
    pub fn pool_id(&self) -> u16 {
        self.bits(at::POOL_ID) as u16
    }

    /// Checks the header against the ring index of its frame and the stride of its pool.
    ///
    /// `seen` is the reader's memory of the last valid tensor. Frames of a stream are alike, and a tensor with the same
    /// bits need not be checked again.
    ///
    /// # Errors
    /// The first fault, in the order of PROTOCOL 3.3.
    #[inline(always)]
    pub fn check(&self, index: u32, stride_bytes: u32, seen: &mut SeenTensor) -> Result<SlotHeader, SlotFault> {
        let values_bytes = self.bits(at::VALUES_BYTES) as u32;
        if values_bytes > stride_bytes {
            return Err(SlotFault::ValuesBytes);
        }
        if self.bits(at::PAYLOAD_SLOT) as u32 != index {
            return Err(SlotFault::PayloadSlot);
        }
        if self.bits(at::PAYLOAD_OFFSET) as u32 != 0 {
            return Err(SlotFault::PayloadOffset);
        }
        if self.bits(at::HEADER_LENGTH) as u32 != at::HEADER_LENGTH_VALUE {
            return Err(SlotFault::HeaderLength);
        }
        if !self.is_seen {
            self.look_at_tensor(seen)?;
        }
        if !seen.checked.fits(values_bytes) {
            return Err(SlotFault::Tensor(TensorFault::Extent));
        }
        Ok(SlotHeader {
            values_bytes,
            timestamp_ns: self.bits(at::TIMESTAMP_NS),
            meta_version: self.bits(at::META_VERSION) as u32,
            tensor_id: seen.id,
        })
    }

    #[cold]
    fn look_at_tensor(&self, seen: &mut SeenTensor) -> Result<(), SlotFault> {
        if self.bits(at::TENSOR_MESSAGE_HEADER) != at::TENSOR_MESSAGE_HEADER_VALUE {
            return Err(SlotFault::TensorMessage);
        }
        seen.checked = self.tensor().checked().map_err(SlotFault::Tensor)?;
        seen.words.copy_from_slice(&self.words[TENSOR_WORD..]);
        seen.id = TENSORS.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(())
    }

    #[inline]
    fn tensor(&self) -> Tensor {
        let mut tensor = Tensor {
            dtype: self.bits(tensor_at::DTYPE) as i16,
            major_order: self.bits(tensor_at::MAJOR_ORDER) as i16,
            ndims: self.bits(tensor_at::NDIMS) as u8,
            progress_unit: self.bits(tensor_at::PROGRESS_UNIT) as u8,
            progress_stride_bytes: self.bits(tensor_at::PROGRESS_STRIDE_BYTES) as u32,
            dims: [0; MAX_DIMS],
            strides: [0; MAX_DIMS],
        };
        for index in 0..MAX_DIMS.min(usize::from(tensor.ndims)) {
            tensor.dims[index] = self.bits(tensor_at::DIMS + 4 * index) as i32;
            tensor.strides[index] = self.bits(tensor_at::STRIDES + 4 * index) as i32;
        }
        tensor
    }
}

/// The words of a slot that differ from frame to frame, apart from the commit word. They stay in registers: stored as
/// words and loaded as vectors, they would wait for the store buffer every time.
#[derive(Clone, Copy, Debug)]
pub struct FrameWords([u64; FRAME_WORDS.end - FRAME_WORDS.start]);

impl FrameWords {
    /// Bytes 8 to 40 of a slot; see the drawing in `layout`. payloadOffset is 0.
    #[inline]
    #[must_use]
    pub const fn new(index: u32, pool_id: u16, values_bytes: u32, timestamp_ns: u64, meta_version: u32) -> Self {
        Self([
            values_bytes as u64 | (index as u64) << 32,
            pool_id as u64 | timestamp_ns << 48,
            timestamp_ns >> 16 | (meta_version as u64) << 48,
            meta_version as u64 >> 16,
        ])
    }
}

/// The content of a slot as a writer prepares it in its own memory. The tensor part changes rarely and is kept.
#[derive(Clone, Debug)]
pub struct SlotImage {
    words: [u64; WORDS],
}

impl SlotImage {
    /// Makes an image for frames like `tensor`.
    #[must_use]
    pub fn new(tensor: &Tensor) -> Self {
        let mut image = Self { words: [0; WORDS] };
        image.put(at::HEADER_LENGTH, &at::HEADER_LENGTH_VALUE.to_le_bytes());
        image.put(at::TENSOR_MESSAGE_HEADER, &at::TENSOR_MESSAGE_HEADER_VALUE.to_le_bytes());
        image.put(tensor_at::DTYPE, &tensor.dtype.to_le_bytes());
        image.put(tensor_at::MAJOR_ORDER, &tensor.major_order.to_le_bytes());
        image.put(tensor_at::NDIMS, &[tensor.ndims, 0, tensor.progress_unit]);
        image.put(tensor_at::PROGRESS_STRIDE_BYTES, &tensor.progress_stride_bytes.to_le_bytes());
        for index in 0..MAX_DIMS.min(usize::from(tensor.ndims)) {
            image.put(tensor_at::DIMS + 4 * index, &tensor.dims[index].to_le_bytes());
            image.put(tensor_at::STRIDES + 4 * index, &tensor.strides[index].to_le_bytes());
        }
        image
    }

    /// Sets the words that differ from frame to frame.
    pub fn set_frame(&mut self, frame: &FrameWords) {
        self.words[FRAME_WORDS].copy_from_slice(&frame.0);
    }

    /// The slot's bytes as they are for a frame committed by `word`.
    #[must_use]
    pub fn bytes(&self, word: u64) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        for (place, value) in bytes.chunks_exact_mut(8).zip(&self.words) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        bytes
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        for (index, byte) in bytes.iter().enumerate() {
            let (word, shift) = ((offset + index) / 8, (offset + index) % 8 * 8);
            self.words[word] = self.words[word] & !(0xFF << shift) | u64::from(*byte) << shift;
        }
    }
}

const _: () = {
    assert!(at::TENSOR_MESSAGE_HEADER.is_multiple_of(8));
    // The offsets that `FrameWords` relies on when it shifts fields into words.
    assert!(at::VALUES_BYTES == 8 && at::PAYLOAD_SLOT == 12 && at::POOL_ID == 16 && at::PAYLOAD_OFFSET == 18);
    assert!(at::TIMESTAMP_NS == 22 && at::META_VERSION == 30 && at::PAD == 34);
    assert!(layout::SLOT_BYTES == 8 * WORDS);
};

#[cfg(test)]
mod tests {
    use super::super::tensor::ROW_MAJOR;
    use super::*;

    /// The golden vector of a committed slot: 24 bytes of FLOAT32, 2 x 3, strides given.
    const GOLDEN: &str = concat!(
        "0b00000000000000180000000500000001000000000015cd5b070000000003000000000000000000000000000000000000",
        "0000000000000000000000c0000000b8003400840301000900010002000000000000020000000300000000000000000000",
        "00000000000000000000000000000000000c00000004000000000000000000000000000000000000000000000000000000",
    );

    fn golden() -> Vec<u8> {
        let byte = |index: usize| u8::from_str_radix(&GOLDEN[2 * index..2 * index + 2], 16).unwrap();
        let mut bytes: Vec<u8> = (0..GOLDEN.len() / 2).map(byte).collect();
        bytes.resize(SLOT_BYTES, 0);
        bytes
    }

    /// A slot of our own, aligned.
    struct Memory(Box<[u64; WORDS]>);

    impl Memory {
        fn holding(bytes: &[u8]) -> Self {
            let mut words = Box::new([0; WORDS]);
            for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
                *word = u64::from_le_bytes(chunk.try_into().unwrap());
            }
            Self(words)
        }

        fn slot(&mut self) -> SlotPtr {
            // SAFETY: 256 aligned bytes that live as long as the test's use of the pointer.
            unsafe { SlotPtr::new(self.0.as_mut_ptr().cast()) }
        }

        fn bytes(&self) -> Vec<u8> {
            self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
        }
    }

    fn golden_tensor() -> Tensor {
        let mut tensor = Tensor::contiguous(9, ROW_MAJOR, &[2, 3]);
        tensor.strides[..2].copy_from_slice(&[12, 4]);
        tensor
    }

    #[test]
    fn the_golden_slot_is_read_field_by_field() {
        let mut memory = Memory::holding(&golden());
        let mut seen = SeenTensor::default();
        let header = memory.slot().snapshot_beside(&seen).check(5, 65_536, &mut seen).unwrap();
        assert_eq!((header.values_bytes, header.timestamp_ns, header.meta_version), (24, 123_456_789, 3));
        assert_eq!((seen.checked().tensor, seen.id()), (golden_tensor(), header.tensor_id));
        assert_eq!(memory.slot().snapshot().pool_id(), 1);
    }

    #[test]
    fn the_golden_slot_is_written_byte_for_byte() {
        let mut memory = Memory::holding(&[0xFF; SLOT_BYTES]);
        let image = SlotImage::new(&golden_tensor());
        let slot = memory.slot();
        super::super::commit::begin(slot.commit_word(), 5);
        slot.fill(&image, &FrameWords::new(5, 1, 24, 123_456_789, 3));
        super::super::commit::commit(slot.commit_word(), 5);
        assert_eq!(memory.bytes(), golden());
    }

    #[test]
    fn extreme_values_of_a_frame_stay_in_their_fields() {
        let mut memory = Memory::holding(&golden());
        let image = SlotImage::new(&golden_tensor());
        memory.slot().fill(&image, &FrameWords::new(u32::MAX, u16::MAX, u32::MAX, u64::MAX, u32::MAX));
        memory.slot().refill(&FrameWords::new(7, 2, 24, u64::MAX - 1, u32::MAX));
        let mut seen = SeenTensor::default();
        let copy = memory.slot().snapshot_beside(&seen);
        let header = copy.check(7, 24, &mut seen).unwrap();
        assert_eq!((header.timestamp_ns, header.meta_version, copy.pool_id()), (u64::MAX - 1, u32::MAX, 2));
    }

    #[test]
    fn each_fault_is_told_apart() {
        let fault = |offset: usize, value: u8| {
            let mut bytes = golden();
            bytes[offset] = value;
            let mut seen = SeenTensor::default();
            Memory::holding(&bytes).slot().snapshot_beside(&seen).check(5, 65_536, &mut seen)
        };
        assert_eq!(fault(at::VALUES_BYTES + 3, 1), Err(SlotFault::ValuesBytes));
        assert_eq!(fault(at::PAYLOAD_SLOT, 6), Err(SlotFault::PayloadSlot));
        assert_eq!(fault(at::PAYLOAD_OFFSET + 3, 1), Err(SlotFault::PayloadOffset));
        assert_eq!(fault(at::HEADER_LENGTH, 191), Err(SlotFault::HeaderLength));
        for offset in at::TENSOR_MESSAGE_HEADER..at::TENSOR {
            assert_eq!(fault(offset, 0x77), Err(SlotFault::TensorMessage));
        }
        assert_eq!(fault(tensor_at::NDIMS, 9), Err(SlotFault::Tensor(TensorFault::Ndims)));
    }

    #[test]
    fn a_tensor_that_was_seen_is_not_believed_for_a_shorter_payload_or_after_a_change() {
        let mut seen = SeenTensor::default();
        let mut memory = Memory::holding(&golden());
        let first = memory.slot().snapshot_beside(&seen).check(5, 65_536, &mut seen).unwrap();
        let second = memory.slot().snapshot_beside(&seen).check(5, 65_536, &mut seen).unwrap();
        assert_eq!(first.tensor_id, second.tensor_id);
        let mut shorter = golden();
        shorter[at::VALUES_BYTES] = 23;
        let extent = Err(SlotFault::Tensor(TensorFault::Extent));
        assert_eq!(Memory::holding(&shorter).slot().snapshot_beside(&seen).check(5, 65_536, &mut seen), extent);
        let mut other = golden();
        other[tensor_at::DTYPE] = 12;
        let dtype = Err(SlotFault::Tensor(TensorFault::Dtype));
        assert_eq!(Memory::holding(&other).slot().snapshot_beside(&seen).check(5, 65_536, &mut seen), dtype);
        assert!(memory.slot().snapshot_beside(&seen).check(5, 65_536, &mut seen).is_ok());
    }

    #[test]
    fn another_tensor_has_another_number_even_for_another_reader() {
        let (mut one, mut other) = (SeenTensor::default(), SeenTensor::default());
        let mut taller = golden();
        taller[tensor_at::DIMS] = 1;
        let number = |bytes: &[u8], seen: &mut SeenTensor| {
            Memory::holding(bytes).slot().snapshot_beside(seen).check(5, 65_536, seen).unwrap().tensor_id
        };
        let ids = [number(&golden(), &mut one), number(&taller, &mut one), number(&golden(), &mut other)];
        assert_eq!(one.checked().tensor.dims[0], 1);
        assert_eq!(other.checked().tensor.dims[0], 2);
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    }

    #[test]
    fn every_flip_of_every_byte_gives_a_header_or_a_fault() {
        for offset in 8..SLOT_BYTES {
            for bit in 0..8 {
                let mut bytes = golden();
                bytes[offset] ^= 1 << bit;
                let mut seen = SeenTensor::default();
                let found = Memory::holding(&bytes).slot().snapshot_beside(&seen).check(5, 65_536, &mut seen);
                if let Ok(header) = found {
                    assert!(header.values_bytes <= 65_536);
                }
            }
        }
    }
}
