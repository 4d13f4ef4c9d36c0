// SPDX-License-Identifier: Apache-2.0
//! One epoch's mapping, and what a port of a join knows of that epoch.

use std::ops::{Deref, DerefMut};

use framegate_core::pool::reader::{Dropped, FrameRef};
use framegate_intake::mapping::Mapping;
use framegate_join::stage::Cause;

/// A mapping, and what a port knows of its epoch.
pub(crate) struct Ring {
    mapping: Box<Mapping>,
    /// Whether the epoch began while this agent watched the stream, so that every frame of it is this agent's to join.
    pub(crate) is_watched: bool,
    /// The epoch that the join knows it as, once that was found out: its source may go on where an earlier one was.
    pub(crate) life: Option<u64>,
    /// The sequence after the last one that was taken of it, where another epoch has taken its place.
    pub(crate) taken_until: u64,
}

impl Ring {
    pub(crate) const fn new(mapping: Box<Mapping>, is_watched: bool) -> Self {
        Self { mapping, is_watched, life: None, taken_until: 0 }
    }

    /// The same bytes, mapped again; the mapping before.
    pub(crate) const fn remap(&mut self, mapping: Box<Mapping>) -> Box<Mapping> {
        std::mem::replace(&mut self.mapping, mapping)
    }

    pub(crate) fn into_mapping(self) -> Box<Mapping> {
        self.mapping
    }

    /// The epoch that the join knows it as.
    #[inline]
    pub(crate) fn life(&self) -> u64 {
        self.life.unwrap_or_else(|| self.epoch())
    }

    /// One attempt at a frame; else why it cannot be read.
    #[inline]
    pub(crate) fn read(&mut self, seq: u64) -> Result<FrameRef, Cause> {
        // SAFETY: rows are copied within the turn that reads them, and mappings are let go between turns.
        unsafe { self.mapping.read(seq) }.map_err(|dropped| cause_of(dropped, seq))
    }

    /// The same where no driver vouches for the regions any more.
    pub(crate) fn read_unvouched(&mut self, seq: u64) -> Result<FrameRef, Cause> {
        let found = self.read(seq)?;
        if self.is_as_mapped() { Ok(found) } else { Err(Cause::Epoch) }
    }
}

impl Deref for Ring {
    type Target = Mapping;

    #[inline]
    fn deref(&self) -> &Mapping {
        &self.mapping
    }
}

impl DerefMut for Ring {
    #[inline]
    fn deref_mut(&mut self) -> &mut Mapping {
        &mut self.mapping
    }
}

/// Frames are written down as overwritten only where the commit word says that a newer one has the slot.
fn cause_of(dropped: Dropped, seq: u64) -> Cause {
    match dropped {
        Dropped::InProgress | Dropped::Overwritten => Cause::Overwritten,
        Dropped::OtherFrame { have_seq } if have_seq > seq => Cause::Overwritten,
        Dropped::OtherFrame { .. } | Dropped::WentBack => Cause::Epoch,
        Dropped::UnknownPool | Dropped::Header(_) => Cause::NoMatch,
    }
}
