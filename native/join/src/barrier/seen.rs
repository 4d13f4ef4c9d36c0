// SPDX-License-Identifier: Apache-2.0
//! What was observed of one stream in one epoch of its producer: all that readiness is decided from.

use super::NULL_TIMESTAMP;

/// A descriptor, with its slot's timestamp.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// The frame's sequence.
    pub seq: u64,
    /// The input's epoch; None: the current one.
    pub epoch: Option<u64>,
    /// Of slot header and frame descriptor, in this order; all ones is null.
    pub times: [u64; 2],
}

impl Observation {
    /// A frame of the current epoch without timestamps.
    #[must_use]
    pub const fn of(seq: u64) -> Self {
        Self { seq, epoch: None, times: [NULL_TIMESTAMP; 2] }
    }
}

/// What a stage consumed of an input.
#[derive(Clone, Copy, Debug)]
pub struct Processed {
    /// Up to which sequence.
    pub seq: Option<u64>,
    /// The input's epoch; None: the current one.
    pub epoch: Option<u64>,
    /// Up to which time, of slot header and frame descriptor; all ones is null.
    pub times: [u64; 2],
}

/// How far something has come: a sequence, and the times of slot headers and of frame descriptors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// None: nothing yet.
    pub seq: Option<u64>,
    /// None: no such time yet.
    pub times: [Option<u64>; 2],
}

/// A time that decreased where it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regression {
    /// The frame.
    pub seq: u64,
    /// The newest time before it; None where a checkpoint does not tell.
    pub last_ns: Option<u64>,
    /// Its own.
    pub found_ns: Option<u64>,
}

/// One stream in one epoch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The producer's epoch, once it is known.
    pub epoch: Option<u64>,
    /// The newest sequence and times. A field that is rejected has stopped.
    pub observed: Cursor,
    /// Fields whose times decreased where they must not, as bits.
    pub rejected: u8,
    /// By which frames they were rejected.
    pub rejected_by: [Option<Regression>; 2],
    /// When it was heard last; None: no frame came.
    pub heard_ns: Option<u64>,
    /// The newest frame of the latest policy: what it is ordered by, and its sequence.
    pub newest: Option<(u64, u64)>,
    /// That frame could not be read.
    pub is_invalid: bool,
    /// What was consumed downstream.
    pub processed: Cursor,
}

impl Seen {
    /// Of an epoch of which nothing came yet.
    #[must_use]
    pub fn of(epoch: u64) -> Self {
        Self { epoch: Some(epoch), ..Self::default() }
    }

    /// Whether something of this epoch counts. A higher epoch forgets everything of the one before.
    #[inline]
    pub(super) fn enter(&mut self, epoch: Option<u64>) -> bool {
        match (epoch, self.epoch) {
            (None, _) => true,
            (Some(new), Some(own)) if new <= own => new == own,
            (Some(new), _) => {
                *self = Self::of(new);
                true
            }
        }
    }

    /// A frame came. Times of the `ordered` fields must not decrease.
    #[inline]
    pub fn observe(&mut self, seq: u64, times: [u64; 2], ordered: u8, now_ns: u64) {
        self.observed.seq = self.observed.seq.max(Some(seq));
        self.heard_ns = self.heard_ns.max(Some(now_ns));
        for (place, &time) in times.iter().enumerate() {
            if time == NULL_TIMESTAMP || self.rejected & 1 << place != 0 {
                continue;
            }
            if self.goes_back(place, time, ordered) {
                self.reject(place, Regression { seq, last_ns: self.observed.times[place], found_ns: Some(time) });
            } else {
                self.observed.times[place] = Some(time);
            }
        }
    }

    /// Whether a time is one of an `ordered` field, and less than that field has shown.
    #[inline]
    #[must_use]
    pub fn goes_back(&self, place: usize, time: u64, ordered: u8) -> bool {
        ordered >> place & 1 == 1 && Some(time) < self.observed.times[place]
    }

    /// Nothing is joined by this field any more.
    #[cold]
    pub fn reject(&mut self, place: usize, by: Regression) {
        self.rejected |= 1 << place;
        self.rejected_by[place] = Some(by);
    }

    /// A frame may be the newest.
    #[inline]
    pub fn select(&mut self, order: u64, seq: u64) {
        if Some((order, seq)) > self.newest {
            (self.newest, self.is_invalid) = (Some((order, seq)), false);
        }
    }

    /// The newest frame, if it can be read.
    #[inline]
    #[must_use]
    pub fn selected(&self) -> Option<u64> {
        self.newest.filter(|_| !self.is_invalid).map(|(_, seq)| seq)
    }

    /// The newest frame could not be read: the input is absent until a newer one comes. False: another is the newest.
    pub fn invalid(&mut self, seq: u64) -> bool {
        let is_selected = self.selected() == Some(seq);
        self.is_invalid |= is_selected;
        is_selected
    }

    /// Something came that is observed later: the stream is not silent.
    pub fn heard(&mut self, now_ns: u64) {
        self.heard_ns = self.heard_ns.map(|heard_ns| heard_ns.max(now_ns));
    }

    /// What was consumed. False: it is not of this epoch.
    #[inline]
    pub fn consumed(&mut self, processed: &Processed) -> bool {
        if processed.epoch.is_some() && processed.epoch != self.epoch {
            return false;
        }
        let own = &mut self.processed;
        own.seq = own.seq.max(processed.seq);
        for (known, time) in own.times.iter_mut().zip(processed.times) {
            *known = (*known).max((time != NULL_TIMESTAMP).then_some(time));
        }
        true
    }

    /// Silent for longer than the time-out; what never was observed is not stale.
    #[inline]
    #[must_use]
    pub fn is_stale(&self, now_ns: u64, timeout_ns: Option<u64>) -> bool {
        let silent_ns = || self.heard_ns.map(|heard_ns| now_ns.saturating_sub(heard_ns));
        timeout_ns.is_some_and(|timeout_ns| silent_ns() > Some(timeout_ns))
    }
}
