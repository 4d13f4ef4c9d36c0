// SPDX-License-Identifier: Apache-2.0
//! The bells of one stream: the seats of its sleepers.
//!
//! ```text
//!  0          8       64               128        192             448      4096
//!  +----------+-------+----------------+----------+---------------+--------+
//!  | magic    | ver.  | rung epoch + 1 | asleep   | seats (4 each) | 0      |
//!  +----------+-------+----------------+----------+---------------+--------+
//! ```
//!
//! A seat holds the number of a bell, plus one; 0 is free. `asleep` has a bit for each seat.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::bells::Bells;
use super::order;
use crate::shared_file::{Kind, Refused, SharedFile};

/// The name of the file in the stream's folder.
const NAME: &str = "sleepers";
/// The name of the file in the namespace's folder.
const BELLS_NAME: &str = "bells";
/// Of the namespace's folder, made by framegate's driver (`driver/driver_lock.py`).
const DRIVER_LOCK_NAME: &str = "driver.lock";
const SEATS: u32 = 64;
const RUNG_AT: usize = 64;
const ASLEEP_AT: usize = 128;
const SEATS_AT: usize = 192;
const KIND: Kind = Kind { magic: *b"FGSLEEP\0", version: 1, bytes: 4096 };

/// The mapped file of one stream, and the bells that its seats name.
#[derive(Debug)]
pub struct StreamBells {
    file: SharedFile,
    bells: Arc<Bells>,
}

impl StreamBells {
    /// Maps the files of the stream whose regions are in `folder`. None if they are not where PROTOCOL 6.2 says, or if
    /// framegate's driver does not keep the namespace: another driver would not remove what it does not know.
    ///
    /// # Errors
    /// If a file belongs to another user, is not of the right kind, or cannot be made.
    pub fn of(folder: &Path, stream_id: u32, epoch: u64) -> Option<Result<Arc<Self>, Refused>> {
        let stream = folder.parent()?;
        let namespace = stream.parent()?;
        let is_ours = namespace.join(DRIVER_LOCK_NAME).is_file();
        let is_laid_out = stream.file_name()?.to_str()? == stream_id.to_string()
            && folder.file_name()?.to_str()? == epoch.to_string();
        (is_ours && is_laid_out).then(|| {
            let bells = Bells::of(&namespace.join(BELLS_NAME))?;
            Ok(Arc::new(Self { file: SharedFile::make(&stream.join(NAME), KIND)?, bells }))
        })
    }

    pub(super) const fn bells(&self) -> &Arc<Bells> {
        &self.bells
    }

    fn rung(&self) -> &AtomicU64 {
        self.file.word64(RUNG_AT)
    }

    #[inline]
    fn asleep(&self) -> &AtomicU64 {
        self.file.word64(ASLEEP_AT)
    }

    fn seat(&self, seat: u32) -> &AtomicU32 {
        self.file.word32(SEATS_AT + seat as usize * size_of::<u32>())
    }

    // --- For writers ---------------------------------------------------------------------------------------

    /// Promises that the writer of this epoch rings.
    pub fn promise(&self, epoch: u64) {
        self.rung().store(epoch.wrapping_add(1), Ordering::Release);
    }

    /// Takes the promise back, unless another writer has made one for its own epoch meanwhile.
    pub fn take_back(&self, epoch: u64) {
        let _ = self.rung().compare_exchange(epoch.wrapping_add(1), 0, Ordering::AcqRel, Ordering::Relaxed);
        self.ring();
    }

    /// Wakes the sleepers, after a message. If there are none this costs a fence and a load.
    #[inline]
    pub fn ring(&self) {
        let seats = order::sleepers(self.asleep());
        if seats != 0 {
            self.wake(seats);
        }
    }

    #[cold]
    fn wake(&self, mut seats: u64) {
        while seats != 0 {
            let bell = self.seat(seats.trailing_zeros()).load(Ordering::Acquire);
            if bell != 0 {
                self.bells.ring(bell - 1);
            }
            seats &= seats - 1;
        }
    }

    // --- For readers ---------------------------------------------------------------------------------------

    /// Whether the writer of this epoch has promised to ring.
    pub(super) fn is_rung(&self, epoch: u64) -> bool {
        self.rung().load(Ordering::Acquire) == epoch.wrapping_add(1)
    }

    /// Takes a seat for a bell, a free one or that of a process that is gone. None if all seats are taken.
    pub(super) fn sit(&self, bell: u32) -> Option<u32> {
        let take = |seat: &u32, seen: u32| {
            self.seat(*seat).compare_exchange(seen, bell + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let orphan = |seat: &u32| {
            let seen = self.seat(*seat).load(Ordering::Acquire);
            (seen == 0 || self.bells.is_orphaned(seen - 1)) && take(seat, seen)
        };
        (0..SEATS).find(|seat| take(seat, 0)).or_else(|| (0..SEATS).find(orphan))
    }

    /// Whether the seat is still this bell's.
    pub(super) fn sits(&self, seat: u32, bell: u32) -> bool {
        self.seat(seat).load(Ordering::Relaxed) == bell + 1
    }

    pub(super) fn stand_up(&self, seat: u32, bell: u32) {
        order::get_up(self.asleep(), seat);
        let _ = self.seat(seat).compare_exchange(bell + 1, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    pub(super) fn lie_down(&self, seat: u32) {
        order::lie_down(self.asleep(), seat);
    }

    pub(super) fn get_up(&self, seat: u32) {
        order::get_up(self.asleep(), seat);
    }
}
