// SPDX-License-Identifier: Apache-2.0
//! The gate of a stream that several agents cut by themselves, at one place fixed by their coordinator (P10).
//!
//! ```text
//!            hold                     cut, behind what was taken
//!   open ------------> held ---------------------------------------> due
//!     ^                 | cut, here: at once                          | the place comes
//!     +-----------------+---------------------------------------------+
//! ```
//! While the gate is held nothing passes, so no agent is beyond the place when the coordinator names it: it is the
//! furthest place at which one of the agents stands.

use crate::message::CheckpointBarrier;

/// A place in a stream, as a reader stands there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The epoch of the stream's regions; None if none are read.
    pub epoch: Option<u64>,
    /// The newest sequence that was taken; None if none of that epoch was.
    pub seq: Option<u64>,
}

/// What to do with a frame at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Let the frame pass.
    Pass,
    /// Let the frame wait, and ask again when the gate is no longer held.
    Wait,
    /// Cut before the frame, with this barrier.
    CutBefore(CheckpointBarrier),
    /// Cut behind the frame, with this barrier.
    CutBehind(CheckpointBarrier),
}

/// What a fixed cut means for the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutAnswer {
    /// The cut is here, before whatever waits.
    Now,
    /// The stream has not reached the place yet.
    Later,
    /// More frames were taken already, so the agents would cut at different places.
    Past,
    /// The stream is in another epoch.
    OtherEpoch,
    /// This checkpoint was already cut or given up.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Held { barrier: CheckpointBarrier, place: Place, since_ns: u64 },
    Due { barrier: CheckpointBarrier, place: Place },
}

/// The gate of one stream. Ask about its frames in order.
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
    /// Makes an open gate.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: State::Open, last_id: 0 }
    }

    /// Holds the stream, and returns the place where it stands. A second call returns the same place until the stream
    /// moves. None if this checkpoint is over.
    pub fn hold(&mut self, barrier: CheckpointBarrier, present: Place, now_ns: u64) -> Option<Place> {
        if barrier.checkpoint_id <= self.last_id || self.current().is_some_and(|id| barrier.checkpoint_id < id) {
            return None;
        }
        let (place, since_ns) = match self.state {
            // Waiting frames were not taken, whichever checkpoint they wait for.
            State::Held { place, since_ns, .. } => (place, since_ns),
            State::Due { barrier: due, .. } if due.checkpoint_id == barrier.checkpoint_id => return None,
            State::Due { .. } | State::Open => (present, now_ns),
        };
        self.state = State::Held { barrier, place, since_ns };
        Some(place)
    }

    /// Fixes the place of the cut. `present` is where the stream stands if its gate was not held. After [`CutAnswer::Now`]
    /// the caller sends the barrier; after [`CutAnswer::Later`] a frame's [`Passage`] says when.
    pub fn cut(&mut self, barrier: CheckpointBarrier, at: Place, present: Place) -> CutAnswer {
        let id = barrier.checkpoint_id;
        let standing = match self.state {
            State::Due { barrier: due, .. } if due.checkpoint_id == id => return CutAnswer::Later,
            _ if id <= self.last_id || self.current().is_some_and(|current| id < current) => return CutAnswer::Over,
            State::Held { place, .. } => place,
            State::Due { .. } | State::Open => present,
        };
        if standing.epoch == at.epoch && standing.seq < at.seq {
            self.state = State::Due { barrier, place: at };
            return CutAnswer::Later;
        }
        self.end(id);
        if standing.epoch != at.epoch {
            CutAnswer::OtherEpoch
        } else if standing.seq > at.seq {
            CutAnswer::Past
        } else {
            CutAnswer::Now
        }
    }

    /// Says what to do with a frame that comes, or that is asked about again.
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
                // The place lay in an epoch that is over.
                self.end(barrier.checkpoint_id);
                Passage::Pass
            }
        }
    }

    /// Opens a gate that is held or due for this checkpoint or an older one, and returns its barrier. None opens it for
    /// any.
    pub fn give_up(&mut self, checkpoint_id: Option<u64>) -> Option<CheckpointBarrier> {
        let (State::Held { barrier, .. } | State::Due { barrier, .. }) = self.state else { return None };
        if checkpoint_id.is_some_and(|given| given < barrier.checkpoint_id) {
            return None;
        }
        self.end(barrier.checkpoint_id);
        Some(barrier)
    }

    /// Whether the gate has been held for longer than the timeout.
    #[must_use]
    pub const fn is_overdue(&self, now_ns: u64, timeout_ns: u64) -> bool {
        matches!(self.state, State::Held { since_ns, .. } if now_ns.saturating_sub(since_ns) > timeout_ns)
    }

    /// Whether everything that comes has to wait.
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

    /// The epoch of the place where the gate is held, or due to cut.
    #[must_use]
    pub const fn epoch(&self) -> Option<u64> {
        match self.state {
            State::Open => None,
            State::Held { place, .. } | State::Due { place, .. } => place.epoch,
        }
    }

    /// The checkpoint that the gate is held or due for.
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
