// SPDX-License-Identifier: Apache-2.0
//! One epoch's mapping, and what a port of a join knows of that epoch.

use std::ops::{Deref, DerefMut};

use framegate_core::pool::reader::{Dropped, FrameRef};
use framegate_intake::mapping::Mapping;
use framegate_join::stage::Cause;

/// A mapping, and what a port knows of the epoch it holds.
pub(crate) struct Ring {
    mapping: Box<Mapping>,
    /// Whether the epoch began while this agent watched the stream, so that every frame of it is this agent's to join.
    pub(crate) is_watched: bool,
    /// The epoch under which the join knows this one, once it was learned. A source that continues its sequences after
    /// a restart keeps its earlier epoch.
    pub(crate) join_epoch: Option<u64>,
    /// The sequence after the newest one taken from this ring, once a later epoch has replaced it.
    pub(crate) taken_until: u64,
}

impl Ring {
    pub(crate) const fn new(mapping: Box<Mapping>, is_watched: bool) -> Self {
        Self { mapping, is_watched, join_epoch: None, taken_until: 0 }
    }

    /// Replaces the mapping by another of the same regions; gives back the earlier one.
    pub(crate) const fn remap(&mut self, mapping: Box<Mapping>) -> Box<Mapping> {
        std::mem::replace(&mut self.mapping, mapping)
    }

    pub(crate) fn into_mapping(self) -> Box<Mapping> {
        self.mapping
    }

    /// The epoch under which the join knows this one.
    #[inline]
    pub(crate) fn join_epoch(&self) -> u64 {
        self.join_epoch.unwrap_or_else(|| self.epoch())
    }

    /// Reads a frame in one attempt, or says why it cannot be read.
    #[inline]
    pub(crate) fn read(&mut self, seq: u64) -> Result<FrameRef, Cause> {
        // SAFETY: a row is copied within the turn that reads it, and mappings are released between turns.
        unsafe { self.mapping.read(seq) }.map_err(|dropped| cause_of(dropped, seq))
    }

    /// Reads a frame as `read` does, where the driver does not vouch for the regions any more.
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

/// The cause under which a drop is recorded. A frame counts as overwritten only if the commit word shows a newer frame
/// in its slot.
fn cause_of(dropped: Dropped, seq: u64) -> Cause {
    match dropped {
        Dropped::InProgress | Dropped::Overwritten => Cause::Overwritten,
        Dropped::OtherFrame { have_seq } if have_seq > seq => Cause::Overwritten,
        Dropped::OtherFrame { .. } | Dropped::WentBack => Cause::Epoch,
        Dropped::UnknownPool | Dropped::Header(_) => Cause::NoMatch,
    }
}
