// SPDX-License-Identifier: Apache-2.0
//! Cuts streams that carry no barriers, and that several agents must cut at one place: each agent holds the stream
//! where it stands until the place is known.
//!
//! What comes while a stream is held is copied, as behind a barrier, and waits before the aligner. Once the place is
//! known, the barrier goes to the aligner exactly there. No stream is held longer than an alignment may take, or after
//! its input was lost.

use std::collections::VecDeque;

use framegate_checkpoint::aligner::{AbortCause, Aborted};
use framegate_checkpoint::ingress::{CutAnswer, IngressGate, Passage, Place};
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_join::stage::Observed;

use super::Engine;
use super::aligning::is_in_range;
use super::cut::{EVENT_BYTES, News, Standing, Whereabouts};
use crate::wires::Wires;

/// What came while a gate was held.
enum Waiting {
    Frame(Observed, Whereabouts, u64),
    /// Anything but a frame, with its bytes.
    Message(Standing, Vec<u8>),
}

/// The gate of one stream, and what waits there.
#[derive(Default)]
struct Stream {
    gate: IngressGate,
    waiting: VecDeque<Waiting>,
}

/// The gates of all streams of an engine.
pub struct Gates {
    streams: Vec<Stream>,
    /// Most events that may wait at one gate.
    waiting_max: usize,
    timeout_ns: u64,
    /// Whether a gate may be other than open.
    is_used: bool,
    /// How often a stream was held.
    pub held: u64,
    /// How often a held stream was released without a cut.
    pub given_up: u64,
}

impl Gates {
    pub(super) fn new(streams: usize, waiting_max: usize, timeout_ns: u64) -> Self {
        let streams = (0..streams).map(|_| Stream::default()).collect();
        Self { streams, waiting_max, timeout_ns, is_used: false, held: 0, given_up: 0 }
    }

    pub const fn set_timeout(&mut self, timeout_ns: u64) {
        self.timeout_ns = timeout_ns;
    }

    /// Whether a gate is not open.
    #[inline]
    pub(super) fn is_active(&mut self) -> bool {
        self.is_used = self.is_used && self.streams.iter().any(|stream| !stream.gate.is_open());
        self.is_used
    }

    #[inline]
    pub(super) fn is_held(&self, index: usize) -> bool {
        self.streams[index].gate.is_held()
    }

    /// Whether a stream is held, or is due to be cut at a known place.
    pub(super) fn is_used_by(&self, index: usize) -> bool {
        !self.streams[index].gate.is_open()
    }

    /// The newest checkpoint for which a gate is held or due.
    pub(super) fn current(&self) -> Option<u64> {
        self.streams.iter().filter_map(|stream| stream.gate.current()).max()
    }
}

impl<W: Wires> Engine<W> {
    /// Holds a stream before whatever comes next, and returns that place. None if this agent takes no part in the
    /// checkpoint.
    pub fn hold_ingress(&mut self, index: usize, barrier: CheckpointBarrier, now_ns: u64) -> Option<Place> {
        if self.cut.checkpointer.is_none() || !is_in_range(barrier) {
            return None;
        }
        self.note_switches(now_ns);
        let present = self.present_place(index);
        let gate = &mut self.cut.gates.streams[index].gate;
        let place = gate.hold(barrier, present, now_ns)?;
        (self.cut.gates.held, self.cut.gates.is_used) = (self.cut.gates.held + 1, true);
        self.cut.is_under_way = true;
        // The join may know a restarted source by its earlier epoch; others know it by that of its regions.
        Some(Place { epoch: place.epoch.and(self.ports[index].epoch()), seq: place.seq })
    }

    /// Cuts a stream at a place that is fixed now: the barrier stands behind it.
    pub fn cut_ingress(&mut self, index: usize, barrier: CheckpointBarrier, at: Place, now_ns: u64) -> CutAnswer {
        if self.cut.checkpointer.is_none() || !is_in_range(barrier) {
            return CutAnswer::Over;
        }
        self.note_switches(now_ns);
        let present = self.present_place(index);
        // Only the present epoch is translated to its join epoch; any other stays another one.
        let is_present = at.epoch.is_some() && at.epoch == self.ports[index].epoch();
        let at = Place { epoch: if is_present { present.epoch } else { at.epoch }, seq: at.seq };
        self.cut.gates.is_used = true;
        let cut = self.cut.gates.streams[index].gate.cut(barrier, at, present);
        if cut == CutAnswer::Now {
            self.on_barrier(index, barrier, now_ns);
        }
        self.drain_gate(index, now_ns);
        cut
    }

    /// Takes a frame at a gate that may be held or due.
    pub(super) fn frame_at_gate(
        &mut self,
        index: usize,
        seen: Observed,
        (whereabouts, bytes): (Whereabouts, u64),
        now_ns: u64,
    ) {
        match self.cut.gates.streams[index].gate.frame(seen.epoch, seen.seq) {
            Passage::Wait => self.wait_at_gate(index, seen, now_ns),
            Passage::Pass => self.frame_past_gate(index, seen, (whereabouts, bytes), now_ns),
            Passage::CutBefore(barrier) => {
                self.on_barrier(index, barrier, now_ns);
                self.frame_past_gate(index, seen, (whereabouts, bytes), now_ns);
            }
            Passage::CutBehind(barrier) => {
                self.frame_past_gate(index, seen, (whereabouts, bytes), now_ns);
                self.on_barrier(index, barrier, now_ns);
            }
        }
    }

    fn wait_at_gate(&mut self, index: usize, mut seen: Observed, now_ns: u64) {
        // As behind a barrier, a held stream never counts as stale.
        self.stage.heard(index, now_ns);
        let (whereabouts, bytes) = self.hold_frame(index, &mut seen);
        let gates = &mut self.cut.gates;
        let is_full = gates.streams[index].waiting.len() >= gates.waiting_max;
        if is_full || bytes == u64::MAX {
            self.give_up_gate(index, AbortCause::InputLimit, now_ns);
            return self.frame_at_gate(index, seen, (whereabouts, bytes), now_ns);
        }
        gates.streams[index].waiting.push_back(Waiting::Frame(seen, whereabouts, bytes));
    }

    /// Lets anything but a frame wait at a held gate; false if the gate is not held or has no space.
    pub(super) fn waits_at_gate(&mut self, index: usize, standing: Standing, message: &[u8], now_ns: u64) -> bool {
        if !self.cut.gates.is_held(index) {
            return false;
        }
        self.stage.heard(index, now_ns);
        let gates = &mut self.cut.gates;
        if gates.streams[index].waiting.len() >= gates.waiting_max {
            self.give_up_gate(index, AbortCause::InputLimit, now_ns);
            return false;
        }
        gates.streams[index].waiting.push_back(Waiting::Message(standing, message.to_vec()));
        true
    }

    /// Lets go on what waited at a gate, until the gate is held again.
    fn drain_gate(&mut self, index: usize, now_ns: u64) {
        while !self.cut.gates.is_held(index) {
            match self.cut.gates.streams[index].waiting.pop_front() {
                Some(Waiting::Frame(seen, whereabouts, bytes)) => {
                    self.frame_at_gate(index, seen, (whereabouts, bytes), now_ns);
                }
                Some(Waiting::Message(Standing::Watermark(ms), message)) => {
                    self.on_watermark(index, ms, &message, now_ns);
                }
                Some(Waiting::Message(standing, message)) => self.take_or_hold(index, standing, &message, now_ns),
                None => break,
            }
        }
        self.note_under_way();
    }

    /// Gives up the gate of a stream whose regions went or became another epoch's.
    pub(super) fn lose_gate(&mut self, index: usize, has_switched: bool, now_ns: u64) {
        // If the gate had read nothing before, nothing was lost.
        if has_switched || self.cut.gates.streams[index].gate.epoch().is_some() {
            self.give_up_gate(index, AbortCause::InputLost, now_ns);
        }
    }

    /// Gives up gates whose place the coordinator has not named in time.
    pub(super) fn tick_gates(&mut self, now_ns: u64) {
        for index in 0..self.cut.gates.streams.len() {
            let gates = &self.cut.gates;
            if gates.streams[index].gate.is_overdue(now_ns, gates.timeout_ns) {
                self.give_up_gate(index, AbortCause::Timeout, now_ns);
            }
        }
    }

    /// Opens the gates of a checkpoint that is over, and of older ones; None opens all.
    pub(super) fn open_gates(&mut self, checkpoint_id: Option<u64>, now_ns: u64) {
        for index in 0..self.cut.gates.streams.len() {
            if self.cut.gates.streams[index].gate.give_up(checkpoint_id).is_some() {
                self.drain_gate(index, now_ns);
            }
        }
    }

    fn give_up_gate(&mut self, index: usize, cause: AbortCause, now_ns: u64) {
        let gates = &mut self.cut.gates;
        let Some(barrier) = gates.streams[index].gate.give_up(None) else { return };
        gates.given_up += 1;
        let buffered = gates.streams[index].waiting.len();
        let aborted = Aborted { barrier, cause, input: Some(index), pending: 1 << index };
        self.cut.news.push_back(News::Aborted { aborted, buffered });
        self.drain_gate(index, now_ns);
    }

    /// The epoch and sequence that the join has reached in a stream that is not held.
    fn present_place(&self, index: usize) -> Place {
        let port = &self.ports[index];
        Place { epoch: port.epoch().map(|epoch| port.likely_join_epoch(epoch)), seq: port.last_seq() }
    }

    pub(super) fn note_under_way(&mut self) {
        let is_aligning = self.cut.checkpointer.as_ref().is_some_and(|checkpointer| checkpointer.is_under_way());
        self.cut.is_under_way = is_aligning || self.cut.gates.is_active();
    }

    fn frame_past_gate(
        &mut self,
        index: usize,
        mut seen: Observed,
        (whereabouts, bytes): (Whereabouts, u64),
        now_ns: u64,
    ) {
        if self.cut.owes(index) {
            let captured = self.capture_frame(index, &seen);
            self.give(index, Standing::Frame(seen, whereabouts), captured, now_ns);
        } else if self.cut.is_blocked(index) {
            // Before the aligner takes the frame: a blocked stream never counts as stale.
            self.stage.heard(index, now_ns);
            let (whereabouts, bytes) = match whereabouts {
                Whereabouts::InRing => self.hold_frame(index, &mut seen),
                _ => (whereabouts, bytes),
            };
            self.give(index, Standing::Frame(seen, whereabouts), bytes, now_ns);
        } else if whereabouts == Whereabouts::InRing {
            self.observe_frame(index, seen, now_ns);
        } else {
            self.take(index, Standing::Frame(seen, whereabouts), now_ns);
            self.join_drained(now_ns);
        }
    }
}

/// A frame that has just come and has no copy yet.
pub(super) const FRESH: (Whereabouts, u64) = (Whereabouts::InRing, EVENT_BYTES);
