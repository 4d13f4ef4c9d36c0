// SPDX-License-Identifier: Apache-2.0
//! The gate of a stream that several agents cut by themselves, at one place that their coordinator fixes (P10).
//!
//! ```text
//!            hold                     cut, behind what was taken
//!   open ------------> held ---------------------------------------> due
//!     ^                 | cut, here: at once                          | the place comes
//!     +-----------------+---------------------------------------------+
//! ```
//! While it is held nothing passes, so that no agent is beyond the place when it is told: the place is the highest at
//! which one of them stands.

use crate::message::CheckpointBarrier;

/// Where somebody stands in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Of the stream's regions; None: none are read.
    pub epoch: Option<u64>,
    /// The last sequence that was taken; None: none of that epoch.
    pub seq: Option<u64>,
}

/// What becomes of a frame at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes on.
    Pass,
    /// It waits, and is asked about again when the gate is no longer held.
    Wait,
    /// The barrier stands before it.
    CutBefore(CheckpointBarrier),
    /// The barrier stands behind it.
    CutBehind(CheckpointBarrier),
}

/// What becomes of a cut that the coordinator has fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The barrier stands here, before whatever waits.
    Now,
    /// The place has not come yet.
    Later,
    /// More was taken already: the streams would be cut apart.
    Past,
    /// Another epoch of the stream is read.
    OtherEpoch,
    /// This checkpoint was cut, or given up, before.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Held { barrier: CheckpointBarrier, place: Place, since_ns: u64 },
    Due { barrier: CheckpointBarrier, place: Place },
}

/// One stream's. Frames are asked about in their order.
#[derive(Clone, Copy, Debug)]
pub struct IngressGate {
    state: State,
    /// The highest id that was cut or given up here.
    last_id: u64,
}

impl Default for IngressGate {
    fn default() -> Self {
        Self::new()
    }
}

impl IngressGate {
    /// Open, and nothing was cut before.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: State::Open, last_id: 0 }
    }

    /// Stops here: the place to tell. What was told before it moves is told again. None: this checkpoint is over.
    pub fn hold(&mut self, barrier: CheckpointBarrier, present: Place, now_ns: u64) -> Option<Place> {
        if barrier.checkpoint_id <= self.last_id || self.current().is_some_and(|id| barrier.checkpoint_id < id) {
            return None;
        }
        let (place, since_ns) = match self.state {
            // What waits was not taken, whichever checkpoint it waits for.
            State::Held { place, since_ns, .. } => (place, since_ns),
            State::Due { barrier: due, .. } if due.checkpoint_id == barrier.checkpoint_id => return None,
            State::Due { .. } | State::Open => (present, now_ns),
        };
        self.state = State::Held { barrier, place, since_ns };
        Some(place)
    }

    /// The place is fixed. `present`: where whoever was not asked to hold stands. With [`Cut::Now`] the barrier is the
    /// caller's to send, with [`Cut::Later`] a frame will say so.
    pub fn cut(&mut self, barrier: CheckpointBarrier, at: Place, present: Place) -> Cut {
        let id = barrier.checkpoint_id;
        let standing = match self.state {
            State::Due { barrier: due, .. } if due.checkpoint_id == id => return Cut::Later,
            _ if id <= self.last_id || self.current().is_some_and(|current| id < current) => return Cut::Over,
            State::Held { place, .. } => place,
            State::Due { .. } | State::Open => present,
        };
        if standing.epoch == at.epoch && standing.seq < at.seq {
            self.state = State::Due { barrier, place: at };
            return Cut::Later;
        }
        self.end(id);
        if standing.epoch != at.epoch {
            Cut::OtherEpoch
        } else if standing.seq > at.seq {
            Cut::Past
        } else {
            Cut::Now
        }
    }

    /// A frame comes, or is asked about again.
    #[inline]
    pub fn frame(&mut self, epoch: u64, seq: u64) -> Passage {
        match self.state {
            State::Open => Passage::Pass,
            State::Held { .. } => Passage::Wait,
            State::Due { barrier, place } if place.epoch == Some(epoch) => {
                if Some(seq) < place.seq {
                    return Passage::Pass;
                }
                self.end(barrier.checkpoint_id);
                if Some(seq) == place.seq { Passage::CutBehind(barrier) } else { Passage::CutBefore(barrier) }
            }
            State::Due { barrier, .. } => {
                // The place was in an epoch that is over.
                self.end(barrier.checkpoint_id);
                Passage::Pass
            }
        }
    }

    /// Opens, if it is for this checkpoint or an older one (None: whichever); its barrier then.
    pub fn give_up(&mut self, checkpoint_id: Option<u64>) -> Option<CheckpointBarrier> {
        let (State::Held { barrier, .. } | State::Due { barrier, .. }) = self.state else { return None };
        if checkpoint_id.is_some_and(|given| given < barrier.checkpoint_id) {
            return None;
        }
        self.end(barrier.checkpoint_id);
        Some(barrier)
    }

    /// Whether it has been held for longer than that.
    #[must_use]
    pub const fn is_overdue(&self, now_ns: u64, timeout_ns: u64) -> bool {
        matches!(self.state, State::Held { since_ns, .. } if now_ns.saturating_sub(since_ns) > timeout_ns)
    }

    /// Whether whatever comes has to wait.
    #[inline]
    #[must_use]
    pub const fn is_held(&self) -> bool {
        matches!(self.state, State::Held { .. })
    }

    /// Whether everything passes.
    #[inline]
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// The epoch of the place at which it stands, or is to be cut.
    #[must_use]
    pub const fn epoch(&self) -> Option<u64> {
        match self.state {
            State::Open => None,
            State::Held { place, .. } | State::Due { place, .. } => place.epoch,
        }
    }

    /// The checkpoint that it is held or due for.
    #[must_use]
    pub const fn current(&self) -> Option<u64> {
        match self.state {
            State::Open => None,
            State::Held { barrier, .. } | State::Due { barrier, .. } => Some(barrier.checkpoint_id),
        }
    }

    const fn end(&mut self, checkpoint_id: u64) {
        self.state = State::Open;
        if checkpoint_id > self.last_id {
            self.last_id = checkpoint_id;
        }
    }
}
