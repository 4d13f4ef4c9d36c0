// SPDX-License-Identifier: Apache-2.0
//! One recorded stream: its regions, the order of its descriptors, and the meaning of gaps between them.
//!
//! Anybody can send a descriptor. It counts only if the commit word of its slot confirms that its frame was published
//! (PROTOCOL 3.3), even if no payloads are recorded.

use std::collections::VecDeque;

use framegate_core::pool::arrivals::{Arrivals, Order};
use framegate_core::pool::catch_up::CatchUp;
use framegate_core::pool::reader::{Belief, Dropped, FrameRef};
use framegate_intake::facts::PortCounters;
use framegate_intake::mapping::Mapping;

use super::early::Early;
use crate::loss::LossCause;

/// Sequences that are missing before a descriptor, and why.
pub(crate) struct Missing {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) cause: LossCause,
}

/// The regions of one epoch.
struct Ring {
    mapping: Box<Mapping>,
    catch_up: CatchUp,
    /// Whether the lease holds under which the regions were mapped. Without it only commit words are read.
    is_leased: bool,
}

impl Ring {
    fn epoch(&self) -> u64 {
        self.mapping.epoch()
    }
}

/// What a descriptor means to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Its frame was published.
    True,
    /// Its epoch is not mapped yet, so it waits.
    Early,
    /// It does not count.
    Nothing,
}

/// Most mappings of one stream.
const RINGS_MAX: usize = 3;

/// One recorded stream.
#[derive(Default)]
pub(crate) struct Source {
    /// The mapped epochs, oldest first: the one being recorded, and those that follow it.
    rings: VecDeque<Ring>,
    /// The epoch whose frames are expected. The next one replaces it when its first descriptor comes, or when the log
    /// was read to its end.
    present: Option<u64>,
    pub(crate) early: Early,
    /// The sequences of the epoch being recorded.
    arrivals: Arrivals,
    ended_epoch: Option<u64>,
    /// The epoch that was present when this recording began. A log can still hold older messages: a new subscriber gets
    /// everything that a slow one has not read yet.
    came_in: Option<u64>,
    images_lost: u64,
    was_away: bool,
    /// Whether recording waits until payloads can be read.
    waits_for_regions: bool,
    counters: PortCounters,
}

impl Source {
    /// Makes a stream. `has_payload`: recording begins once frames can be read, not before.
    pub(crate) fn new(has_payload: bool) -> Self {
        Self { waits_for_regions: has_payload, ..Self::default() }
    }

    pub(crate) fn attach(&mut self, mapping: Box<Mapping>) {
        self.waits_for_regions = false;
        let ring = Ring { mapping, catch_up: CatchUp::default(), is_leased: true };
        let came_in = *self.came_in.get_or_insert(ring.epoch());
        self.ended_epoch = self.ended_epoch.filter(|ended| *ended >= came_in);
        if let Some(own) = self.rings.iter_mut().find(|own| own.epoch() == ring.epoch()) {
            // The same bytes were mapped again.
            *own = ring;
        } else if self.is_to_come(ring.epoch()) {
            self.rings.push_back(ring);
            while self.rings.len() > RINGS_MAX {
                self.rings.pop_front();
            }
        }
        self.present = self.present.or_else(|| self.newest_epoch());
    }

    /// Notes that the lease is gone. The mappings stay, to tell true descriptors from false ones.
    pub(crate) fn detach(&mut self) {
        self.rings.iter_mut().for_each(|ring| ring.is_leased = false);
        (self.present, self.was_away) = (None, true);
    }

    pub(crate) fn leave(&mut self) {
        self.was_away = true;
    }

    /// Moves on to the newest mapped epoch, because the log was read to its end.
    pub(crate) fn switch(&mut self) {
        if self.present.is_some() && self.rings.len() > 1 {
            self.present = self.newest_epoch();
            self.rings.drain(..self.rings.len() - 1);
        }
    }

    /// The epoch whose frames can be read.
    pub(crate) const fn epoch(&self) -> Option<u64> {
        self.present
    }

    pub(crate) fn last_seq(&self) -> Option<u64> {
        self.arrivals.last_seq(self.present?)
    }

    pub(crate) fn newest_epoch(&self) -> Option<u64> {
        self.rings.back().map(Ring::epoch)
    }

    fn is_to_come(&self, epoch: u64) -> bool {
        self.newest_epoch().max(self.arrivals.epoch()).is_none_or(|newest| epoch > newest)
    }

    pub(crate) const fn counters(&self) -> &PortCounters {
        &self.counters
    }

    /// Says what a descriptor means. The commit word of its slot must confirm it; a false descriptor is only counted.
    #[inline]
    pub(crate) fn judge(&mut self, epoch: u64, seq: u64) -> Heard {
        let Some(ring) = self.rings.iter_mut().find(|ring| ring.epoch() == epoch) else {
            return self.judge_other(epoch);
        };
        match ring.mapping.believe(seq) {
            Belief::True => Heard::True,
            Belief::False => {
                self.counters.false_descriptors += 1;
                Heard::Nothing
            }
            Belief::WentBack => {
                self.counters.regressions += 1;
                Heard::Nothing
            }
        }
    }

    #[cold]
    fn judge_other(&mut self, epoch: u64) -> Heard {
        if self.waits_for_regions {
            self.counters.unmapped += 1;
            return Heard::Nothing;
        }
        if self.is_to_come(epoch) {
            return Heard::Early;
        }
        // A producer that was replaced does not count any more.
        self.counters.other_epoch += 1;
        Heard::Nothing
    }

    /// Takes a confirmed descriptor. None if it is not recorded; otherwise what is missing before it.
    #[inline]
    pub(crate) fn take(&mut self, epoch: u64, seq: u64, images_lost: u64) -> Option<Option<Missing>> {
        let recorded = self.arrivals.epoch();
        if recorded.is_some_and(|of| epoch < of) {
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
            self.begin(epoch);
        }
        (self.images_lost, self.was_away) = (images_lost, false);
        self.counters.frames += 1;
        Some(missing)
    }

    /// Begins an epoch with its first frame; earlier epochs are over.
    #[cold]
    fn begin(&mut self, epoch: u64) {
        self.ended_epoch = None;
        self.present = self.present.map(|_| epoch);
        self.rings.retain(|ring| ring.epoch() >= epoch);
    }

    #[cold]
    fn gap(&mut self, first: u64, last: u64, is_anew: bool) -> Missing {
        let cause = if is_anew { LossCause::Unheard } else { LossCause::NotAnnounced };
        let counter = if is_anew { &mut self.counters.missed } else { &mut self.counters.gap_drops };
        *counter += last - first + 1;
        Missing { first, last, cause }
    }

    /// Reads a frame in one attempt, or says why it is lost.
    #[inline]
    pub(crate) fn read(&mut self, epoch: u64, seq: u64) -> Result<FrameRef, LossCause> {
        let Some(ring) = self.rings.iter_mut().find(|ring| ring.epoch() == epoch && ring.is_leased) else {
            self.counters.unmapped += 1;
            return Err(LossCause::Unmapped);
        };
        if ring.catch_up.passes_over(seq) {
            self.counters.late_drops += 1;
            return Err(LossCause::Overwritten);
        }
        // SAFETY: the frame is copied in this turn; regions change only between turns.
        let found = unsafe { ring.mapping.read(seq) };
        found.map_err(|cause| {
            ring.catch_up.on_dropped(seq, cause, ring.mapping.nslots());
            self.counters.late_drops += u64::from(cause.is_late());
            // A slot in progress holds a newer frame, or one whose writer died.
            if cause.is_late() && cause != Dropped::WentBack { LossCause::Overwritten } else { LossCause::Damaged }
        })
    }

    /// Notes that a frame was overwritten while it was copied.
    pub(crate) fn lapped(&mut self, epoch: u64, seq: u64) {
        if let Some(ring) = self.rings.iter_mut().find(|ring| ring.epoch() == epoch) {
            ring.catch_up.on_lapped(seq, ring.mapping.nslots());
        }
        self.counters.late_drops += 1;
    }

    /// Whether this epoch is being recorded.
    pub(crate) fn is_recording(&self, epoch: u64) -> bool {
        self.arrivals.epoch() == Some(epoch)
    }

    /// Ends an epoch after that sequence; returns the frames of it that were not heard.
    pub(crate) fn end(&mut self, epoch: u64, after: Option<u64>) -> Option<Missing> {
        if self.arrivals.epoch().max(self.came_in).is_some_and(|of| epoch < of) {
            return None;
        }
        self.ended_epoch = Some(epoch);
        let (first, last) = self.arrivals.unheard_until(epoch, after?)?;
        self.counters.missed += last - first + 1;
        Some(Missing { first, last, cause: LossCause::Unheard })
    }

    /// Whether nothing more comes of the newest epoch that was heard.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended_epoch.is_some() && !self.early.has_end()
    }
}
