// SPDX-License-Identifier: Apache-2.0
//! One recorded stream: its regions, the order of its descriptors, and what their gaps mean.

use framegate_core::pool::arrivals::{Arrivals, Order};
use framegate_core::pool::catch_up::CatchUp;
use framegate_core::pool::reader::{Dropped, FrameRef, Reader};
use framegate_recording::Cause;

use crate::join::{PORT_COUNTERS, PortCounters};

/// Sequences before a descriptor that did not come, and why.
pub(super) struct Missing {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) cause: Cause,
}

/// A stream.
#[derive(Default)]
pub(super) struct Source {
    reader: Option<Reader>,
    /// The next epoch's, taken when its first descriptor comes or the log was read to its end.
    next: Option<Reader>,
    /// Of the epoch that is recorded.
    arrivals: Arrivals,
    ended_epoch: Option<u64>,
    images_lost: u64,
    was_away: bool,
    /// Whether it is recorded only from the moment on at which its payloads can be read.
    waits_for_regions: bool,
    catch_up: CatchUp,
    counters: PortCounters,
}

impl Source {
    /// `has_payload`: whether frames are recorded from the moment on at which they can be read, and not before.
    pub(super) fn new(has_payload: bool) -> Self {
        Self { waits_for_regions: has_payload, ..Self::default() }
    }

    pub(super) fn attach(&mut self, next: Reader) {
        self.next = Some(next);
        if self.reader.is_none() {
            self.switch();
        }
    }

    pub(super) fn detach(&mut self) {
        (self.reader, self.next) = (None, None);
        self.was_away = true;
    }

    pub(super) fn leave(&mut self) {
        self.was_away = true;
    }

    /// Goes over to the next epoch's regions, if there are some.
    pub(super) fn switch(&mut self) {
        if let Some(next) = self.next.take() {
            self.reader = Some(next);
            self.waits_for_regions = false;
            self.catch_up = CatchUp::default();
        }
    }

    /// The epoch whose frames can be read.
    pub(super) fn epoch(&self) -> Option<u64> {
        self.reader.as_ref().map(|reader| reader.regions().epoch)
    }

    pub(super) fn last_seq(&self) -> Option<u64> {
        self.arrivals.last_seq(self.epoch()?)
    }

    pub(super) const fn counters(&self) -> [u64; PORT_COUNTERS.len()] {
        self.counters.as_array()
    }

    /// Takes a descriptor: None when it is not to be recorded, else what is missing before it.
    #[inline]
    pub(super) fn take(&mut self, epoch: u64, seq: u64, images_lost: u64) -> Option<Option<Missing>> {
        if self.waits_for_regions {
            self.counters.unmapped += 1;
            return None;
        }
        let recorded = self.arrivals.epoch();
        if recorded.is_some_and(|of| epoch < of) {
            // A producer that was replaced has nothing to say any more.
            self.counters.other_epoch += 1;
            return None;
        }
        let is_anew = self.was_away || images_lost != self.images_lost;
        let missing = match self.arrivals.take(epoch, seq, is_anew) {
            Order::Next => None,
            Order::Gap(frames) => Some(self.gap(seq - frames, seq - 1, is_anew)),
            Order::Repeated => return None,
            Order::Regressed => {
                self.counters.regressions += 1;
                return None;
            }
        };
        if recorded != Some(epoch) {
            self.ended_epoch = None;
        }
        (self.images_lost, self.was_away) = (images_lost, false);
        self.counters.frames += 1;
        Some(missing)
    }

    #[cold]
    fn gap(&mut self, first: u64, last: u64, is_anew: bool) -> Missing {
        let cause = if is_anew { Cause::Unheard } else { Cause::NotAnnounced };
        let counter = if is_anew { &mut self.counters.missed } else { &mut self.counters.gap_drops };
        *counter += last - first + 1;
        Missing { first, last, cause }
    }

    /// One attempt at a frame.
    #[inline]
    pub(super) fn read(&mut self, epoch: u64, seq: u64) -> Result<FrameRef, Cause> {
        if self.next.as_ref().is_some_and(|next| next.regions().epoch == epoch) {
            self.switch();
        }
        let Some(reader) = self.reader.as_mut().filter(|reader| reader.regions().epoch == epoch) else {
            self.counters.unmapped += 1;
            return Err(Cause::Unmapped);
        };
        if self.catch_up.passes_over(seq) {
            self.counters.late_drops += 1;
            return Err(Cause::Overwritten);
        }
        // SAFETY: the frame is copied in this turn; regions change between turns.
        let found = unsafe { reader.read(seq) };
        found.map_err(|cause| {
            self.catch_up.on_dropped(seq, cause, reader.regions().nslots());
            self.counters.late_drops += u64::from(cause.is_late());
            // A slot that is in progress holds a newer frame, or the one of a writer that died in it.
            if cause.is_late() && cause != Dropped::WentBack { Cause::Overwritten } else { Cause::Damaged }
        })
    }

    /// A frame was overwritten while it was copied.
    pub(super) fn lapped(&mut self, seq: u64) {
        if let Some(reader) = &self.reader {
            self.catch_up.on_lapped(seq, reader.regions().nslots());
        }
        self.counters.late_drops += 1;
    }

    /// Whether that epoch is the one that is recorded.
    pub(super) fn is_recording(&self, epoch: u64) -> bool {
        self.arrivals.epoch() == Some(epoch)
    }

    /// That epoch is over after that sequence; what of it was not heard.
    pub(super) fn end(&mut self, epoch: u64, after: Option<u64>) -> Option<Missing> {
        if self.arrivals.epoch().is_some_and(|of| epoch < of) {
            return None;
        }
        self.ended_epoch = Some(epoch);
        let (first, last) = self.arrivals.unheard_until(epoch, after?)?;
        self.counters.missed += last - first + 1;
        Some(Missing { first, last, cause: Cause::Unheard })
    }

    /// Whether nothing more comes of the epoch that was heard last.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended_epoch.is_some()
    }
}
