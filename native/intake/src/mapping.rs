// SPDX-License-Identifier: Apache-2.0
//! The mapped ring of one epoch. It outlives its lease while frames in it wait.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use framegate_core::bell::StreamBells;
use framegate_core::pool::reader::{Belief, Dropped, FrameRef, Holding, Reader};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::Tensor;

/// Longer than any valid mark file.
const MARK_BYTES: u64 = 64;

/// A mapped ring. The client's thread makes and drops it, because `munmap` of a large region takes a while.
pub struct Mapping {
    reader: Reader,
    /// The process that made the regions, as their superblock said when they were mapped.
    made_by: Option<u64>,
    bells: Option<Arc<StreamBells>>,
}

impl Mapping {
    /// Takes regions that were just mapped and checked.
    #[must_use]
    pub fn new(regions: Arc<Regions>) -> Self {
        let made_by = regions.ring_superblock().ok().map(|block| block.pid);
        let bells = regions.bells();
        Self { reader: Reader::new(regions), made_by, bells }
    }

    /// Who sleeps on the stream, if that can be told.
    #[must_use]
    pub const fn bells(&self) -> Option<&Arc<StreamBells>> {
        self.bells.as_ref()
    }

    /// The epoch of the regions.
    #[inline]
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.reader.regions().epoch
    }

    /// How many slots the ring has.
    #[inline]
    #[must_use]
    pub fn nslots(&self) -> u32 {
        self.reader.regions().nslots()
    }

    /// Bytes of memory that the mapping keeps.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.reader.regions().bytes()
    }

    /// Whether the commit word of its slot confirms that a frame was published.
    #[inline]
    pub fn believe(&mut self, seq: u64) -> Belief {
        self.reader.believe(seq)
    }

    /// What the slot of that sequence holds.
    #[must_use]
    pub fn holds(&self, seq: u64) -> Holding {
        self.reader.holds(seq)
    }

    /// The oldest sequence that the ring can still hold, and the newest one that is whole.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        let newest = self.reader.newest()?;
        Some((self.reader.oldest_beside(newest), newest))
    }

    /// The first sequence of the epoch, as far as the ring shows it.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.reader.newest().map_or(0, |newest| self.reader.first_of(newest))
    }

    /// The oldest frame that the ring still holds whole.
    #[must_use]
    pub fn oldest_whole(&self) -> Option<u64> {
        let (oldest, newest) = self.span()?;
        (oldest..=newest).find(|seq| self.holds(*seq) == Holding::This)
    }

    /// The type and shape of the frame that was read most recently.
    #[inline]
    #[must_use]
    pub fn tensor(&self) -> &Tensor {
        &self.reader.tensor().tensor
    }

    /// Reads a frame in one attempt.
    ///
    /// # Errors
    /// What the slot holds instead of the frame.
    ///
    /// # Safety
    /// The frame must be copied before the mapping is dropped.
    #[inline]
    pub unsafe fn read(&mut self, seq: u64) -> Result<FrameRef, Dropped> {
        // SAFETY: the caller keeps the mapping for as long as it uses the frame.
        unsafe { self.reader.read(seq) }
    }

    /// Whether the regions are still those that were mapped. Another process may have remade them in place.
    #[must_use]
    pub fn is_as_mapped(&self) -> bool {
        let block = self.reader.regions().ring_superblock().ok();
        block.is_some_and(|block| block.epoch == self.epoch() && Some(block.pid) == self.made_by)
    }

    /// Whether the producer marked this epoch as continuing the sequences of the epoch before.
    /// `shmpool/marks/continued.py` writes the mark.
    #[must_use]
    pub fn is_continued(&self) -> bool {
        self.reader.regions().folder().is_some_and(|folder| is_marked_continued(folder, self.epoch()))
    }
}

fn is_marked_continued(folder: &Path, epoch: u64) -> bool {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK);
    let Ok(file) = options.open(folder.join("continued.json")) else { return false };
    let mut text = String::new();
    // A mark with any other content, or of another epoch, does not count.
    file.take(MARK_BYTES).read_to_string(&mut text).is_ok() && text == format!("{{\"epoch\": {epoch}}}")
}
