// SPDX-License-Identifier: Apache-2.0
//! A frame record: one frame by itself, as a checkpoint keeps it. It is whole SBE messages, then the payload (PROTOCOL
//! 17.2).
//!
//! ```text
//!  0                      48                                         312
//!  | FrameDescriptor, with | SlotHeader: its message header, then the | payload, valuesLenBytes |
//!  | its message header    | 256 bytes of the slot                    |                         |
//! ```
//!
//! The slot header says nothing of a place in a ring: its index and pool are 0.

use super::commit::committed;
use super::layout::{MAX_DIMS, SLOT_BYTES, slot as at};
use super::slot::{FrameWords, SlotImage};
use super::tensor::Tensor;

/// Bytes before the payload.
pub const HEAD_BYTES: usize = DESCRIPTOR_BYTES + 8 + SLOT_BYTES;

const DESCRIPTOR_BYTES: usize = 48;
/// blockLength 40, template 4, schema 900, version 1.
const DESCRIPTOR_HEADER: u64 = 40 | 4 << 16 | 900 << 32 | 1 << 48;
/// blockLength 60, template 51, schema 900, version 1.
const SLOT_HEADER: u64 = 60 | 51 << 16 | 900 << 32 | 1 << 48;

/// Everything in a frame but its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// The stream of the frame.
    pub stream_id: u32,
    /// The epoch of the stream.
    pub epoch: u64,
    /// The frame's sequence.
    pub seq: u64,
    /// The time in the descriptor, or null.
    pub descriptor_timestamp_ns: u64,
    /// The time in the slot, or null.
    pub timestamp_ns: u64,
    /// The metadata version in both, or null.
    pub meta_version: u32,
    /// The trace id; 0 for none.
    pub trace_id: u64,
    /// Bytes of payload.
    pub values_bytes: u32,
    /// The shape, strides and dtype of the payload.
    pub tensor: Tensor,
}

/// Appends the messages of a record to `into`. The caller appends the payload.
pub fn write_head(head: &FrameHead, into: &mut Vec<u8>) {
    into.extend_from_slice(&DESCRIPTOR_HEADER.to_le_bytes());
    into.extend_from_slice(&head.stream_id.to_le_bytes());
    into.extend_from_slice(&head.epoch.to_le_bytes());
    into.extend_from_slice(&head.seq.to_le_bytes());
    into.extend_from_slice(&head.descriptor_timestamp_ns.to_le_bytes());
    into.extend_from_slice(&head.meta_version.to_le_bytes());
    into.extend_from_slice(&head.trace_id.to_le_bytes());
    let mut slot = SlotImage::new(&head.tensor);
    slot.set_frame(&FrameWords::new(0, 0, head.values_bytes, head.timestamp_ns, head.meta_version));
    into.extend_from_slice(&SLOT_HEADER.to_le_bytes());
    into.extend_from_slice(&slot.bytes(committed(head.seq)));
}

/// Reads a record: the frame and its payload. None if the bytes are not exactly one such record.
#[must_use]
pub fn read(record: &[u8]) -> Option<(FrameHead, &[u8])> {
    let (head, payload) = record.split_at_checked(HEAD_BYTES)?;
    if u64_at(head, 0) != DESCRIPTOR_HEADER || u64_at(head, DESCRIPTOR_BYTES) != SLOT_HEADER {
        return None;
    }
    let slot = &head[DESCRIPTOR_BYTES + 8..];
    let found = FrameHead {
        stream_id: u32_at(head, 8),
        epoch: u64_at(head, 12),
        seq: u64_at(head, 20),
        descriptor_timestamp_ns: u64_at(head, 28),
        meta_version: u32_at(head, 36),
        trace_id: u64_at(head, 40),
        timestamp_ns: u64_at(slot, at::TIMESTAMP_NS),
        values_bytes: u32_at(slot, at::VALUES_BYTES),
        tensor: tensor_of(slot)?,
    };
    let is_whole = u64_at(slot, 0) == committed(found.seq) && payload.len() == found.values_bytes as usize;
    (is_whole && found.tensor.check(found.values_bytes).is_ok()).then_some((found, payload))
}

fn tensor_of(slot: &[u8]) -> Option<Tensor> {
    use super::layout::tensor as tensor_at;

    if u64_at(slot, at::TENSOR_MESSAGE_HEADER) != at::TENSOR_MESSAGE_HEADER_VALUE {
        return None;
    }
    let i32_at = |offset: usize| u32_at(slot, offset) as i32;
    let ndims = slot[tensor_at::NDIMS];
    let mut tensor = Tensor {
        dtype: u32_at(slot, tensor_at::DTYPE) as i16,
        major_order: u32_at(slot, tensor_at::MAJOR_ORDER) as i16,
        ndims,
        progress_unit: slot[tensor_at::PROGRESS_UNIT],
        progress_stride_bytes: u32_at(slot, tensor_at::PROGRESS_STRIDE_BYTES),
        dims: [0; MAX_DIMS],
        strides: [0; MAX_DIMS],
    };
    for index in 0..MAX_DIMS.min(usize::from(ndims)) {
        tensor.dims[index] = i32_at(tensor_at::DIMS + 4 * index);
        tensor.strides[index] = i32_at(tensor_at::STRIDES + 4 * index);
    }
    Some(tensor)
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes[offset..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes[offset..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

#[cfg(test)]
mod tests {
    use super::super::tensor::ROW_MAJOR;
    use super::*;

    fn head() -> FrameHead {
        let mut tensor = Tensor::contiguous(9, ROW_MAJOR, &[2, 3]);
        tensor.strides[..2].copy_from_slice(&[12, 4]);
        FrameHead {
            stream_id: 10_001,
            epoch: 7,
            seq: 41,
            descriptor_timestamp_ns: 1_000_000_001,
            timestamp_ns: 999_999_999,
            meta_version: 3,
            trace_id: 12,
            values_bytes: 24,
            tensor,
        }
    }

    fn record() -> Vec<u8> {
        let mut record = Vec::new();
        write_head(&head(), &mut record);
        assert_eq!(record.len(), HEAD_BYTES);
        record.extend(0..24_u8);
        record
    }

    #[test]
    fn a_frame_comes_back_as_it_was() {
        let record = record();
        let (found, payload) = read(&record).expect("it was written so");
        assert_eq!((found, payload), (head(), &(0..24).collect::<Vec<u8>>()[..]));
    }

    #[test]
    fn no_cut_and_no_surplus_is_a_frame() {
        let record = record();
        for bytes in 0..record.len() {
            assert_eq!(read(&record[..bytes]), None, "{bytes}");
        }
        assert_eq!(read(&[record, vec![0]].concat()), None);
    }

    #[test]
    fn no_byte_makes_it_panic() {
        let record = record();
        for at in 0..HEAD_BYTES {
            for value in [0, 1, 127, 128, 255] {
                let mut other = record.clone();
                other[at] = value;
                let _ = read(&other);
            }
        }
    }

    #[test]
    fn the_descriptor_is_one_that_readers_of_streams_know() {
        let seen = super::super::descriptor::Descriptor::read(&record()[..DESCRIPTOR_BYTES]).expect("a descriptor");
        assert_eq!((seen.stream_id, seen.epoch, seen.seq, seen.trace_id), (10_001, 7, 41, 12));
    }
}
