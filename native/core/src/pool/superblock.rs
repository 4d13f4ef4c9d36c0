// SPDX-License-Identifier: Apache-2.0
//! The superblock: the first 64 bytes of a region, which say what it is and when its owner last refreshed it (PROTOCOL
//! 3.2).

use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{self, SUPERBLOCK_BYTES, superblock as at};

/// The fields of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The version of the layout of the whole region.
    pub layout_version: u32,
    /// The stream's epoch.
    pub epoch: u64,
    /// The number of the stream.
    pub stream_id: u32,
    /// [`layout::HEADER_RING`] or [`layout::PAYLOAD_POOL`].
    pub region_type: i16,
    /// The id of the pool; 0 for the ring.
    pub pool_id: u16,
    /// How many slots the region has.
    pub nslots: u32,
    /// 256 for the ring; the stride, or not given, for a pool.
    pub slot_bytes: u32,
    /// 0 for the ring.
    pub stride_bytes: u32,
    /// The process that made the region.
    pub pid: u64,
    /// When it was made, by the monotonic clock of its maker.
    pub start_timestamp_ns: u64,
    /// When the region was last known to be in use.
    pub activity_timestamp_ns: u64,
}

/// Why a superblock is refused, with what was wanted and what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuperblockFault {
    /// The name of the field in the protocol.
    pub field: &'static str,
    /// The value in the announce.
    pub want: u64,
    /// The value in the region.
    pub have: u64,
}

/// What an announce says of a region, and its superblock must say too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The number of the stream.
    pub stream_id: u32,
    /// The epoch of the stream.
    pub epoch: u64,
    /// 0 for the header ring.
    pub pool_id: u16,
    /// How many slots the region has.
    pub nslots: u32,
    /// 0 for the header ring.
    pub stride_bytes: u32,
}

impl Expected {
    /// How many bytes the region's file must have.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        if self.is_ring() {
            layout::header_ring_bytes(self.nslots)
        } else {
            layout::payload_pool_bytes(self.nslots, self.stride_bytes)
        }
    }

    /// Whether this is the header ring.
    #[must_use]
    pub const fn is_ring(&self) -> bool {
        self.pool_id == 0
    }

    /// The superblock of a region with these values.
    #[must_use]
    pub const fn superblock(&self, pid: u64, now_ns: u64) -> Superblock {
        Superblock {
            layout_version: layout::LAYOUT_VERSION,
            epoch: self.epoch,
            stream_id: self.stream_id,
            region_type: if self.is_ring() { layout::HEADER_RING } else { layout::PAYLOAD_POOL },
            pool_id: self.pool_id,
            nslots: self.nslots,
            slot_bytes: if self.is_ring() { layout::SLOT_BYTES as u32 } else { self.stride_bytes },
            stride_bytes: self.stride_bytes,
            pid,
            start_timestamp_ns: now_ns,
            activity_timestamp_ns: now_ns,
        }
    }
}

impl Superblock {
    /// The 64 bytes of the superblock.
    #[must_use]
    pub fn encode(&self) -> [u8; SUPERBLOCK_BYTES] {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        let mut put = |offset: usize, field: &[u8]| bytes[offset..offset + field.len()].copy_from_slice(field);
        put(at::MAGIC, &layout::MAGIC.to_le_bytes());
        put(at::LAYOUT_VERSION, &self.layout_version.to_le_bytes());
        put(at::EPOCH, &self.epoch.to_le_bytes());
        put(at::STREAM_ID, &self.stream_id.to_le_bytes());
        put(at::REGION_TYPE, &self.region_type.to_le_bytes());
        put(at::POOL_ID, &self.pool_id.to_le_bytes());
        put(at::NSLOTS, &self.nslots.to_le_bytes());
        put(at::SLOT_BYTES, &self.slot_bytes.to_le_bytes());
        put(at::STRIDE_BYTES, &self.stride_bytes.to_le_bytes());
        put(at::PID, &self.pid.to_le_bytes());
        put(at::START_TIMESTAMP_NS, &self.start_timestamp_ns.to_le_bytes());
        put(at::ACTIVITY_TIMESTAMP_NS, &self.activity_timestamp_ns.to_le_bytes());
        bytes
    }

    /// Reads the fields from 64 bytes.
    ///
    /// # Errors
    /// If the magic is a different one; then nothing else has a meaning.
    pub fn decode(bytes: &[u8; SUPERBLOCK_BYTES]) -> Result<Self, SuperblockFault> {
        let u16_at = |offset: usize| u16::from_le_bytes([bytes[offset], bytes[offset + 1]]);
        let u32_at = |offset: usize| u32::from(u16_at(offset)) | u32::from(u16_at(offset + 2)) << 16;
        let u64_at = |offset: usize| u64::from(u32_at(offset)) | u64::from(u32_at(offset + 4)) << 32;
        let magic = u64_at(at::MAGIC);
        if magic != layout::MAGIC {
            return Err(SuperblockFault { field: "magic", want: layout::MAGIC, have: magic });
        }
        Ok(Self {
            layout_version: u32_at(at::LAYOUT_VERSION),
            epoch: u64_at(at::EPOCH),
            stream_id: u32_at(at::STREAM_ID),
            region_type: u16_at(at::REGION_TYPE) as i16,
            pool_id: u16_at(at::POOL_ID),
            nslots: u32_at(at::NSLOTS),
            slot_bytes: u32_at(at::SLOT_BYTES),
            stride_bytes: u32_at(at::STRIDE_BYTES),
            pid: u64_at(at::PID),
            start_timestamp_ns: u64_at(at::START_TIMESTAMP_NS),
            activity_timestamp_ns: u64_at(at::ACTIVITY_TIMESTAMP_NS),
        })
    }

    /// Compares the superblock with what was announced.
    ///
    /// # Errors
    /// The first field that differs. A pool's `slotBytes` may be its stride or "not given", because both occur.
    pub fn check(&self, expected: &Expected) -> Result<(), SuperblockFault> {
        let wanted = expected.superblock(self.pid, 0);
        let slot_bytes_not_given = !expected.is_ring() && self.slot_bytes == layout::SLOT_BYTES_NOT_GIVEN;
        let slot_bytes = if slot_bytes_not_given { wanted.slot_bytes } else { self.slot_bytes };
        for (field, want, have) in [
            ("layoutVersion", u64::from(wanted.layout_version), u64::from(self.layout_version)),
            ("epoch", wanted.epoch, self.epoch),
            ("streamId", u64::from(wanted.stream_id), u64::from(self.stream_id)),
            ("regionType", wanted.region_type as u64, self.region_type as u64),
            ("poolId", u64::from(wanted.pool_id), u64::from(self.pool_id)),
            ("nslots", u64::from(wanted.nslots), u64::from(self.nslots)),
            ("slotBytes", u64::from(wanted.slot_bytes), u64::from(slot_bytes)),
        ] {
            if want != have {
                return Err(SuperblockFault { field, want, have });
            }
        }
        let (want, have) = (u64::from(wanted.stride_bytes), u64::from(self.stride_bytes));
        // What a ring says here differs between implementations and has no meaning.
        if !expected.is_ring() && want != have {
            return Err(SuperblockFault { field: "strideBytes", want, have });
        }
        Ok(())
    }
}

/// The activity word, the only one in a superblock that changes.
///
/// # Safety
/// `region` must be 8-aligned and point at a mapped superblock that stays mapped while the result is used.
#[must_use]
pub unsafe fn activity_word<'a>(region: *mut u8) -> &'a AtomicU64 {
    // SAFETY: the caller vouches for the mapping; the offset is a multiple of 8 within it.
    unsafe { &*region.add(at::ACTIVITY_TIMESTAMP_NS).cast() }
}

/// Notes that the region is in use at `now_ns`.
pub fn refresh_activity(word: &AtomicU64, now_ns: u64) {
    word.store(now_ns, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: Expected = Expected { stream_id: 10_000, epoch: 7, pool_id: 0, nslots: 8, stride_bytes: 0 };
    const POOL: Expected = Expected { pool_id: 1, stride_bytes: 65_536, ..RING };
    const RING_BYTES: &str = "314d48534c504f5401000000070000000000000010270000010000000800000000010000000000009210000000000000e803000000000000d007000000000000";
    const POOL_BYTES: &str = "314d48534c504f5401000000070000000000000010270000020001000800000000000100000001009210000000000000e803000000000000d007000000000000";

    fn golden(hex: &str) -> [u8; SUPERBLOCK_BYTES] {
        std::array::from_fn(|index| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap())
    }

    #[test]
    fn the_golden_superblocks_are_written_and_read_byte_for_byte() {
        for (expected, hex) in [(RING, RING_BYTES), (POOL, POOL_BYTES)] {
            let block = Superblock { activity_timestamp_ns: 2000, ..expected.superblock(4242, 1000) };
            assert_eq!(block.encode(), golden(hex));
            assert_eq!(Superblock::decode(&golden(hex)), Ok(block));
            assert_eq!(block.check(&expected), Ok(()));
        }
    }

    #[test]
    fn a_pool_may_leave_its_slot_bytes_out_and_a_ring_may_not() {
        let pool = Superblock { slot_bytes: u32::MAX, ..POOL.superblock(1, 1) };
        assert_eq!(pool.check(&POOL), Ok(()));
        let ring = Superblock { slot_bytes: u32::MAX, ..RING.superblock(1, 1) };
        assert_eq!(ring.check(&RING).unwrap_err().field, "slotBytes");
    }

    #[test]
    fn every_field_of_the_announce_is_compared() {
        let cases: [(&str, Expected); 5] = [
            ("streamId", Expected { stream_id: 1, ..POOL }),
            ("epoch", Expected { epoch: 8, ..POOL }),
            ("poolId", Expected { pool_id: 2, ..POOL }),
            ("nslots", Expected { nslots: 16, ..POOL }),
            ("slotBytes", Expected { stride_bytes: 64, ..POOL }),
        ];
        for (field, other) in cases {
            assert_eq!(POOL.superblock(1, 1).check(&other).unwrap_err().field, field);
        }
        assert_eq!(RING.superblock(1, 1).check(&POOL).unwrap_err().field, "regionType");
        let wrong_stride = Superblock { stride_bytes: 64, ..POOL.superblock(1, 1) };
        assert_eq!(wrong_stride.check(&POOL).unwrap_err().field, "strideBytes");
    }

    #[test]
    fn every_flip_of_a_compared_byte_is_refused() {
        for offset in 0..at::PID {
            for bit in 0..8 {
                let mut bytes = golden(POOL_BYTES);
                bytes[offset] ^= 1 << bit;
                let checked = Superblock::decode(&bytes).and_then(|block| block.check(&POOL));
                assert!(checked.is_err(), "byte {offset} bit {bit}");
            }
        }
    }
}
