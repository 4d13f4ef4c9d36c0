// SPDX-License-Identifier: Apache-2.0
//! One epoch's mapping, as a port of a join keeps it: also after the lease is gone, while frames in it wait.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use framegate_core::pool::reader::{Belief, Dropped, FrameRef, Holding, Reader};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::Tensor;
use framegate_join::stage::Cause;

/// Longer than any mark.
const MARK_BYTES: u64 = 64;

/// A mapping. Made on the client's thread, and dropped there: `munmap` of a large region takes a while.
pub(crate) struct Ring {
    reader: Reader,
    /// Who made the regions, as their superblock said when they were mapped.
    made_by: Option<u64>,
    /// Whether the epoch began while this agent watched the stream, so that every frame of it is this agent's to join.
    pub(super) is_watched: bool,
    /// The epoch that the join knows it as, once that was found out: its source may go on where an earlier one was.
    pub(super) life: Option<u64>,
    /// The sequence after the last one that was taken of it, where another epoch has taken its place.
    pub(super) taken_until: u64,
}

impl Ring {
    pub(crate) fn new(regions: Arc<Regions>) -> Self {
        let made_by = regions.ring_superblock().ok().map(|block| block.pid);
        Self { reader: Reader::new(regions), made_by, is_watched: false, life: None, taken_until: 0 }
    }

    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.reader.regions().epoch
    }

    /// The epoch that the join knows it as.
    #[inline]
    pub(super) fn life(&self) -> u64 {
        self.life.unwrap_or_else(|| self.epoch())
    }

    /// Another mapping of the same regions takes its place.
    pub(super) fn take_over(&mut self, other: &Self) {
        (self.is_watched, self.life) = (other.is_watched, other.life);
    }

    /// Without what a port knows of it.
    pub(crate) fn into_reader(self) -> Reader {
        self.reader
    }

    pub(super) fn nslots(&self) -> u32 {
        self.reader.regions().nslots()
    }

    /// Bytes of memory that the mapping keeps.
    pub(super) fn bytes(&self) -> u64 {
        self.reader.regions().bytes()
    }

    #[inline]
    pub(super) fn believe(&mut self, seq: u64) -> Belief {
        self.reader.believe(seq)
    }

    /// What the slot of that frame holds.
    pub(super) fn holds(&self, seq: u64) -> Holding {
        self.reader.holds(seq)
    }

    /// The oldest sequence that it can still hold, and the newest one that is whole.
    pub(super) fn span(&self) -> Option<(u64, u64)> {
        let newest = self.reader.newest()?;
        Some((self.reader.oldest_beside(newest), newest))
    }

    /// The first frame of its epoch, as far as the ring says it.
    pub(super) fn first(&self) -> u64 {
        self.reader.newest().map_or(0, |newest| self.reader.first_of(newest))
    }

    /// The oldest frame that lies there whole.
    pub(super) fn oldest_whole(&self) -> Option<u64> {
        let (oldest, newest) = self.span()?;
        (oldest..=newest).find(|seq| self.holds(*seq) == Holding::This)
    }

    /// What the frame that was read last is.
    #[inline]
    pub(super) fn tensor(&self) -> &Tensor {
        &self.reader.tensor().tensor
    }

    /// One attempt at a frame; else why it cannot be read.
    #[inline]
    pub(super) fn read(&mut self, seq: u64) -> Result<FrameRef, Cause> {
        // SAFETY: rows are copied within the turn that reads them, and rings are let go between turns.
        unsafe { self.reader.read(seq) }.map_err(|dropped| cause_of(dropped, seq))
    }

    /// The same where no driver vouches for the regions any more: another process may have made them anew in place.
    pub(super) fn read_unvouched(&mut self, seq: u64) -> Result<FrameRef, Cause> {
        let found = self.read(seq)?;
        if self.is_as_mapped() { Ok(found) } else { Err(Cause::Epoch) }
    }

    fn is_as_mapped(&self) -> bool {
        let block = self.reader.regions().ring_superblock().ok();
        block.is_some_and(|block| block.epoch == self.epoch() && Some(block.pid) == self.made_by)
    }

    /// Whether the source of the epoch says that its sequences go on where those of the one before were. The twin that
    /// writes it is `shmpool/marks/continued.py`.
    pub(super) fn is_continued(&self) -> bool {
        self.reader.regions().folder().is_some_and(|folder| is_marked_continued(folder, self.epoch()))
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

fn is_marked_continued(folder: &Path, epoch: u64) -> bool {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK);
    let Ok(file) = options.open(folder.join("continued.json")) else { return false };
    let mut text = String::new();
    // A mark that is anything else, or another epoch's, means nothing.
    file.take(MARK_BYTES).read_to_string(&mut text).is_ok() && text == format!("{{\"epoch\": {epoch}}}")
}
