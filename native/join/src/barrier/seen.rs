// SPDX-License-Identifier: Apache-2.0
//! What was observed of one stream in one epoch of its producer. Readiness depends on nothing else.

use super::NULL_TIMESTAMP;

/// One frame, by its descriptor and its slot's timestamp.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// The frame's sequence.
    pub seq: u64,
    /// The input's epoch; None means the current one.
    pub epoch: Option<u64>,
    /// The times of slot header and frame descriptor, in this order; all ones is null.
    pub times: [u64; 2],
}

impl Observation {
    /// Makes an observation of the current epoch without timestamps.
    #[must_use]
    pub const fn of(seq: u64) -> Self {
        Self { seq, epoch: None, times: [NULL_TIMESTAMP; 2] }
    }
}

/// How far consumers have processed an input.
#[derive(Clone, Copy, Debug)]
pub struct Processed {
    /// The newest processed sequence.
    pub seq: Option<u64>,
    /// The input's epoch; None means the current one.
    pub epoch: Option<u64>,
    /// The newest processed times, of slot header and frame descriptor; all ones is null.
    pub times: [u64; 2],
}

/// How far a stream has come: a sequence, and the times of slot headers and of frame descriptors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// The newest sequence; None before the first frame.
    pub seq: Option<u64>,
    /// The newest times; None before the first one.
    pub times: [Option<u64>; 2],
}

/// A frame whose time decreased where it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regression {
    /// The frame's sequence.
    pub seq: u64,
    /// The newest time before it; None if it came from a checkpoint, which does not store it.
    pub last_ns: Option<u64>,
    /// The frame's own time.
    pub found_ns: Option<u64>,
}

/// What was observed of one stream in one epoch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The producer's epoch, once it is known.
    pub epoch: Option<u64>,
    /// The newest sequence and times. A rejected field stays at its value.
    pub observed: Cursor,
    /// The timestamp fields whose times decreased where they must not, as bits.
    pub rejected: u8,
    /// The frames that caused the rejections.
    pub rejected_by: [Option<Regression>; 2],
    /// When the newest frame came; None before the first.
    pub heard_ns: Option<u64>,
    /// The newest frame under a latest policy: what it is ordered by, and its sequence.
    pub newest: Option<(u64, u64)>,
    /// Whether that frame could not be read.
    pub is_invalid: bool,
    /// How far consumers have processed the stream.
    pub processed: Cursor,
}

impl Seen {
    /// Makes the record of an epoch of which nothing came yet.
    #[must_use]
    pub fn of(epoch: u64) -> Self {
        Self { epoch: Some(epoch), ..Self::default() }
    }

    /// Whether something of this epoch counts. A higher epoch clears what is known of the one before.
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

    /// Observes a frame. The times of the `ordered` fields must not decrease.
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

    /// Whether a time of an `ordered` field is earlier than that field's newest one.
    #[inline]
    #[must_use]
    pub fn goes_back(&self, place: usize, time: u64, ordered: u8) -> bool {
        ordered >> place & 1 == 1 && Some(time) < self.observed.times[place]
    }

    /// Rejects a field: nothing is joined by it any more.
    #[cold]
    pub fn reject(&mut self, place: usize, by: Regression) {
        self.rejected |= 1 << place;
        self.rejected_by[place] = Some(by);
    }

    /// Takes a frame as the newest if it is newer.
    #[inline]
    pub fn select(&mut self, order: u64, seq: u64) {
        if Some((order, seq)) > self.newest {
            (self.newest, self.is_invalid) = (Some((order, seq)), false);
        }
    }

    /// The sequence of the newest frame, if it can be read.
    #[inline]
    #[must_use]
    pub fn selected(&self) -> Option<u64> {
        self.newest.filter(|_| !self.is_invalid).map(|(_, seq)| seq)
    }

    /// Marks the newest frame as unreadable, so that the input is absent until a newer one comes. False if another
    /// frame is the newest.
    pub fn invalid(&mut self, seq: u64) -> bool {
        let is_selected = self.selected() == Some(seq);
        self.is_invalid |= is_selected;
        is_selected
    }

    /// Notes that something came which is observed later, so the stream is not silent.
    pub fn heard(&mut self, now_ns: u64) {
        self.heard_ns = self.heard_ns.map(|heard_ns| heard_ns.max(now_ns));
    }

    /// Notes what consumers processed. False if it is not of this epoch.
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

    /// Whether the stream was silent for longer than the timeout. A stream of which no frame came is not stale.
    #[inline]
    #[must_use]
    pub fn is_stale(&self, now_ns: u64, timeout_ns: Option<u64>) -> bool {
        let silent_ns = || self.heard_ns.map(|heard_ns| now_ns.saturating_sub(heard_ns));
        timeout_ns.is_some_and(|timeout_ns| silent_ns() > Some(timeout_ns))
    }
}
