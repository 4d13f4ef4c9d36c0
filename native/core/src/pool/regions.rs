// SPDX-License-Identifier: Apache-2.0
//! The regions of one stream in one epoch: a header ring and its payload pools, checked against each other.

use std::path::Path;
use std::sync::Arc;

use super::layout;
use super::region::{Region, RegionError};
use super::slot::SlotPtr;
use super::superblock::{self, Expected, refresh_activity};
#[cfg(not(loom))]
use crate::bell::StreamBells;

/// One payload pool, mapped.
#[derive(Debug)]
pub struct Pool {
    region: Region,
    /// The id of the pool in the announce.
    pub pool_id: u16,
    /// Bytes of each of its slots.
    pub stride_bytes: u32,
}

/// All regions of a stream. Addresses that it returns are valid as long as it lives.
#[derive(Debug)]
pub struct Regions {
    ring: Region,
    /// The pools, from the smallest stride to the largest.
    pools: Vec<Pool>,
    nslots: u32,
    /// The number of the stream.
    pub stream_id: u32,
    /// The epoch of the regions.
    pub epoch: u64,
}

impl Regions {
    /// Combines regions that were each made or opened for the same stream, epoch and number of slots.
    ///
    /// # Errors
    /// If they do not belong together, or a number is not allowed by the protocol.
    pub fn new(ring: Region, pools: Vec<Region>) -> Result<Self, RegionError> {
        let head = *ring.checked();
        let refuse = |reason: String| Err(RegionError::Refused(reason));
        if !head.nslots.is_power_of_two() || !head.is_ring() {
            return refuse(format!("the ring has {} slots and is pool {}", head.nslots, head.pool_id));
        }
        if pools.is_empty() {
            return refuse("the stream has no payload pool".to_owned());
        }
        let mut checked: Vec<Pool> = Vec::with_capacity(pools.len());
        for region in pools {
            let Expected { stream_id, epoch, pool_id, nslots, stride_bytes } = *region.checked();
            if (stream_id, epoch, nslots) != (head.stream_id, head.epoch, head.nslots) || region.checked().is_ring() {
                return refuse(format!("pool {pool_id} does not belong to this ring"));
            }
            if !stride_bytes.is_power_of_two() || stride_bytes < 64 {
                return refuse(format!("pool {pool_id} has a stride of {stride_bytes} bytes"));
            }
            if checked.iter().any(|pool| pool.pool_id == pool_id) {
                return refuse(format!("pool id {pool_id} is there twice"));
            }
            checked.push(Pool { region, pool_id, stride_bytes });
        }
        checked.sort_by_key(|pool| pool.stride_bytes);
        Ok(Self { ring, pools: checked, nslots: head.nslots, stream_id: head.stream_id, epoch: head.epoch })
    }

    /// The folder of the regions, which also holds the marks beside them.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.ring.path().parent()
    }

    /// The bells of the readers that sleep on the stream. None if its folder cannot hold the files for them; then
    /// readers look again and again.
    #[cfg(not(loom))]
    #[must_use]
    pub fn bells(&self) -> Option<Arc<StreamBells>> {
        StreamBells::of(self.folder()?, self.stream_id, self.epoch)?.ok()
    }

    /// How many bytes are mapped.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        std::iter::once(&self.ring)
            .chain(self.pools.iter().map(|pool| &pool.region))
            .map(|each| each.bytes() as u64)
            .sum()
    }

    /// How many slots the ring and every pool have.
    #[inline]
    #[must_use]
    pub const fn nslots(&self) -> u32 {
        self.nslots
    }

    /// The pools, the one with the smallest stride first.
    #[inline]
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// The index of the pool for a payload: the one with the smallest stride that holds it.
    #[inline]
    #[must_use]
    pub fn pool_for(&self, values_bytes: u32) -> Option<usize> {
        self.pools.iter().position(|pool| pool.stride_bytes >= values_bytes)
    }

    /// The index of the pool with that id.
    #[inline]
    #[must_use]
    pub fn pool_with_id(&self, pool_id: u16) -> Option<usize> {
        self.pools.iter().position(|pool| pool.pool_id == pool_id)
    }

    /// Header slot `index`, taken modulo the number of slots.
    #[inline]
    #[must_use]
    pub fn slot(&self, index: u32) -> SlotPtr {
        let offset = layout::header_slot_offset(self.round(index));
        // SAFETY: the ring was mapped with room for `nslots` slots, starts on a page, and lives as long as self.
        unsafe { SlotPtr::new(self.ring.start().add(offset as usize)) }
    }

    /// The index modulo the number of slots, which is a power of two.
    #[inline]
    const fn round(&self, index: u32) -> u32 {
        index & (self.nslots - 1)
    }

    /// Payload slot `index` of pool number `pool`, taken modulo the number of slots.
    #[inline]
    #[must_use]
    pub fn payload(&self, pool: usize, index: u32) -> *mut u8 {
        let pool = &self.pools[pool];
        let offset = layout::payload_slot_offset(self.round(index), pool.stride_bytes);
        // SAFETY: the pool was mapped with room for `nslots` strides.
        unsafe { pool.region.start().add(offset as usize) }
    }

    /// Notes in all regions that they are in use. Only their owner calls this.
    pub fn refresh_activity(&self, now_ns: u64) {
        for region in std::iter::once(&self.ring).chain(self.pools.iter().map(|pool| &pool.region)) {
            if region.is_writable() {
                // SAFETY: a mapped region begins with an aligned superblock.
                refresh_activity(unsafe { superblock::activity_word(region.start()) }, now_ns);
            }
        }
    }

    /// The superblock of the ring at this moment: when its owner last refreshed it, and what process made it.
    ///
    /// # Errors
    /// If the magic is gone.
    pub fn ring_superblock(&self) -> Result<superblock::Superblock, superblock::SuperblockFault> {
        self.ring.superblock()
    }
}
