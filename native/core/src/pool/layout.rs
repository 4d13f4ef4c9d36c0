// SPDX-License-Identifier: Apache-2.0
//! The layout of a region: where every byte of it is (PROTOCOL 3). Offsets and constants only.

/// Bytes of the superblock at the start of each region; a constant, never taken from SBE metadata.
pub const SUPERBLOCK_BYTES: usize = 64;
/// Bytes of a header slot.
pub const SLOT_BYTES: usize = 256;
/// The magic number; in the file its bytes are `31 4D 48 53 4C 50 4F 54`.
pub const MAGIC: u64 = 0x544F_504C_5348_4D31;
/// The layout that this code reads and writes.
pub const LAYOUT_VERSION: u32 = 1;
/// `regionType` of a header ring.
pub const HEADER_RING: i16 = 1;
/// `regionType` of a payload pool.
pub const PAYLOAD_POOL: i16 = 2;
/// `slotBytes` of a pool when the field is not given, as one foreign driver writes it.
pub const SLOT_BYTES_NOT_GIVEN: u32 = u32::MAX;
/// The most dimensions that a tensor can have.
pub const MAX_DIMS: usize = 8;
/// An absent timestamp.
pub const NULL_TIMESTAMP: u64 = u64::MAX;
/// An absent metadata version.
pub const NULL_META_VERSION: u32 = u32::MAX;
/// The largest sequence: the commit word has 63 bits for it.
pub const SEQUENCE_MAX: u64 = u64::MAX >> 1;

/// ```text
///  0       8            12      20         24          26       28       32          36            40    48        56
///  | magic | layoutVers | epoch | streamId | regionType | poolId | nslots | slotBytes | strideBytes | pid | startNs | activityNs |
/// ```
pub mod superblock {
    /// u64
    pub const MAGIC: usize = 0;
    /// u32
    pub const LAYOUT_VERSION: usize = 8;
    /// u64, unaligned
    pub const EPOCH: usize = 12;
    /// u32
    pub const STREAM_ID: usize = 20;
    /// i16
    pub const REGION_TYPE: usize = 24;
    /// u16
    pub const POOL_ID: usize = 26;
    /// u32
    pub const NSLOTS: usize = 28;
    /// u32
    pub const SLOT_BYTES: usize = 32;
    /// u32
    pub const STRIDE_BYTES: usize = 36;
    /// u64
    pub const PID: usize = 40;
    /// u64
    pub const START_TIMESTAMP_NS: usize = 48;
    /// u64, aligned: the only field that changes. The owner of the region refreshes it.
    pub const ACTIVITY_TIMESTAMP_NS: usize = 56;
}

/// ```text
///  0             8                12            16       18              22            30            34      60             64
///  | commit word | valuesLenBytes | payloadSlot | poolId | payloadOffset | timestampNs | metaVersion | pad   | headerLength | TensorHeader
/// ```
pub mod slot {
    /// u64, aligned, atomic
    pub const COMMIT_WORD: usize = 0;
    /// u32
    pub const VALUES_BYTES: usize = 8;
    /// u32
    pub const PAYLOAD_SLOT: usize = 12;
    /// u16
    pub const POOL_ID: usize = 16;
    /// u32, unaligned
    pub const PAYLOAD_OFFSET: usize = 18;
    /// u64, unaligned
    pub const TIMESTAMP_NS: usize = 22;
    /// u32, unaligned
    pub const META_VERSION: usize = 30;
    /// 26 bytes
    pub const PAD: usize = 34;
    /// u32
    pub const HEADER_LENGTH: usize = 60;
    /// The TensorHeader's own SBE message header.
    pub const TENSOR_MESSAGE_HEADER: usize = 64;
    /// The TensorHeader's block.
    pub const TENSOR: usize = 72;
    /// The value of `headerLength`: the embedded message, its own header included.
    pub const HEADER_LENGTH_VALUE: u32 = 192;
    /// blockLength 184, templateId 52, schemaId 900, version 1, as one little-endian word.
    pub const TENSOR_MESSAGE_HEADER_VALUE: u64 = 184 | 52 << 16 | 900 << 32 | 1 << 48;
}

/// Offsets from the start of the slot.
///
/// ```text
///  72      74           76      77         78             79                    83         115           147
///  | dtype | majorOrder | ndims | padAlign | progressUnit | progressStrideBytes | dims[8] | strides[8] | pad, 109
/// ```
pub mod tensor {
    /// i16
    pub const DTYPE: usize = 72;
    /// i16
    pub const MAJOR_ORDER: usize = 74;
    /// u8
    pub const NDIMS: usize = 76;
    /// u8
    pub const PAD_ALIGN: usize = 77;
    /// u8
    pub const PROGRESS_UNIT: usize = 78;
    /// u32, unaligned
    pub const PROGRESS_STRIDE_BYTES: usize = 79;
    /// i32 x 8, unaligned
    pub const DIMS: usize = 83;
    /// i32 x 8, unaligned
    pub const STRIDES: usize = 115;
    /// 109 bytes
    pub const PAD: usize = 147;
}

const _: () = {
    assert!(superblock::ACTIVITY_TIMESTAMP_NS + 8 == SUPERBLOCK_BYTES);
    assert!(superblock::ACTIVITY_TIMESTAMP_NS.is_multiple_of(8));
    assert!(slot::PAD + 26 == slot::HEADER_LENGTH);
    assert!(slot::TENSOR == tensor::DTYPE);
    assert!(slot::TENSOR_MESSAGE_HEADER + slot::HEADER_LENGTH_VALUE as usize == SLOT_BYTES);
    assert!(tensor::STRIDES == tensor::DIMS + 4 * MAX_DIMS);
    assert!(tensor::PAD == tensor::STRIDES + 4 * MAX_DIMS);
    assert!(tensor::PAD + 109 == SLOT_BYTES);
};

/// The index of frame `seq` in rings and pools of `nslots`, a power of two.
#[inline]
#[must_use]
pub const fn slot_index(seq: u64, nslots: u32) -> u32 {
    (seq & (nslots as u64 - 1)) as u32
}

/// Where header slot `index` starts.
#[inline]
#[must_use]
pub const fn header_slot_offset(index: u32) -> u64 {
    SUPERBLOCK_BYTES as u64 + SLOT_BYTES as u64 * index as u64
}

/// Where payload slot `index` starts. The product exceeds 32 bits in pools of 4 GiB and more.
#[inline]
#[must_use]
pub const fn payload_slot_offset(index: u32, stride_bytes: u32) -> u64 {
    SUPERBLOCK_BYTES as u64 + stride_bytes as u64 * index as u64
}

/// Bytes of a header ring's file.
#[must_use]
pub const fn header_ring_bytes(nslots: u32) -> u64 {
    header_slot_offset(nslots)
}

/// Bytes of a payload pool's file.
#[must_use]
pub const fn payload_pool_bytes(nslots: u32, stride_bytes: u32) -> u64 {
    payload_slot_offset(nslots, stride_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_magic_has_the_bytes_of_the_protocol() {
        assert_eq!(MAGIC.to_le_bytes(), [0x31, 0x4D, 0x48, 0x53, 0x4C, 0x50, 0x4F, 0x54]);
    }

    #[test]
    fn offsets_pass_four_gibibytes_without_wrapping() {
        assert_eq!(payload_slot_offset(3, 1 << 31), 64 + 3 * (1 << 31));
        assert_eq!(payload_pool_bytes(1 << 20, 1 << 20), 64 + (1 << 40));
        assert_eq!(payload_pool_bytes(u32::MAX, u32::MAX), 64 + u64::from(u32::MAX) * u64::from(u32::MAX));
        assert_eq!(header_ring_bytes(1 << 31), 64 + 256 * (1 << 31));
    }

    #[test]
    fn the_largest_sequence_has_a_slot() {
        assert_eq!(slot_index(SEQUENCE_MAX, 1024), 1023);
        assert_eq!(slot_index(0, 1), 0);
    }
}
