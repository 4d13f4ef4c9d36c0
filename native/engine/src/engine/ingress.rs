// SPDX-License-Identifier: Apache-2.0
//! Streams that several agents cut by themselves, at one place: held where each agent stands until the place is known.
//!
//! What comes meanwhile is copied as behind a barrier, and waits before the aligner. When the place comes the barrier goes
//! to the aligner exactly there. No wait is longer than that of an alignment, and none goes on when its input is lost.

use std::collections::VecDeque;

use framegate_checkpoint::aligner::{AbortCause, Aborted};
use framegate_checkpoint::ingress::{Cut, IngressGate, Passage, Place};
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_join::stage::Observed;

use super::Engine;
use super::aligning::is_fit;
use super::cut::{EVENT_BYTES, News, Standing, Whereabouts};
use crate::wires::Wires;

/// What came while its gate was held.
enum Waiting {
    Frame(Observed, Whereabouts, u64),
    /// Anything else, as it came.
    Message(Standing, Vec<u8>),
}

/// One stream's gate, and what waits at it.
#[derive(Default)]
struct Stream {
    gate: IngressGate,
    waiting: VecDeque<Waiting>,
}

/// The gates of an engine.
pub struct Gates {
    streams: Vec<Stream>,
    /// How much may wait at one of them.
    waiting_max: usize,
    timeout_ns: u64,
    /// Whether one of them may be other than open.
    is_used: bool,
    /// How often a stream was held.
    pub held: u64,
    /// How often that came to nothing.
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

    /// Whether one of them is not open.
    #[inline]
    pub(super) fn is_active(&mut self) -> bool {
        self.is_used = self.is_used && self.streams.iter().any(|stream| !stream.gate.is_open());
        self.is_used
    }

    #[inline]
    pub(super) fn is_held(&self, index: usize) -> bool {
        self.streams[index].gate.is_held()
    }

    /// Whether a stream is held, or due to be cut at a place that is known.
    pub(super) fn is_used_by(&self, index: usize) -> bool {
        !self.streams[index].gate.is_open()
    }

    /// The newest checkpoint that one of them is held or due for.
    pub(super) fn current(&self) -> Option<u64> {
        self.streams.iter().filter_map(|stream| stream.gate.current()).max()
    }
}

impl<W: Wires> Engine<W> {
    /// Stops in a stream, before whatever comes next; where. None: the checkpoint is over here.
    pub fn hold_ingress(&mut self, index: usize, barrier: CheckpointBarrier, now_ns: u64) -> Option<Place> {
        if self.cut.checkpointer.is_none() || !is_fit(barrier) {
            return None;
        }
        self.note_switches(now_ns);
        let present = self.present_place(index);
        let gate = &mut self.cut.gates.streams[index].gate;
        let place = gate.hold(barrier, present, now_ns)?;
        (self.cut.gates.held, self.cut.gates.is_used) = (self.cut.gates.held + 1, true);
        self.cut.is_under_way = true;
        // A source that goes on after a restart is known here by the epoch before; others know it by that of its regions.
        Some(Place { epoch: place.epoch.and(self.ports[index].epoch()), seq: place.seq })
    }

    /// The place is fixed: the barrier stands behind it.
    pub fn cut_ingress(&mut self, index: usize, barrier: CheckpointBarrier, at: Place, now_ns: u64) -> Cut {
        if self.cut.checkpointer.is_none() || !is_fit(barrier) {
            return Cut::Over;
        }
        self.note_switches(now_ns);
        let present = self.present_place(index);
        // Any other epoch than the present one stays what it is, and so is another one.
        let is_present = at.epoch.is_some() && at.epoch == self.ports[index].epoch();
        let at = Place { epoch: if is_present { present.epoch } else { at.epoch }, seq: at.seq };
        self.cut.gates.is_used = true;
        let cut = self.cut.gates.streams[index].gate.cut(barrier, at, present);
        if cut == Cut::Now {
            self.on_barrier(index, barrier, now_ns);
        }
        self.drain_gate(index, now_ns);
        cut
    }

    /// A frame comes to a gate that may be held or due.
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
        // As behind a barrier: who is held is never stale.
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

    /// Anything but a frame comes; whether it waits at a gate.
    pub(super) fn stands_at_gate(&mut self, index: usize, standing: Standing, message: &[u8], now_ns: u64) -> bool {
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

    /// What waited goes on, as far as its gate lets it.
    fn drain_gate(&mut self, index: usize, now_ns: u64) {
        while !self.cut.gates.is_held(index) {
            match self.cut.gates.streams[index].waiting.pop_front() {
                Some(Waiting::Frame(seen, whereabouts, bytes)) => {
                    self.frame_at_gate(index, seen, (whereabouts, bytes), now_ns);
                }
                Some(Waiting::Message(Standing::Watermark(ms), message)) => {
                    self.on_watermark(index, ms, &message, now_ns);
                }
                Some(Waiting::Message(standing, message)) => self.stand(index, standing, &message, now_ns),
                None => break,
            }
        }
        self.note_under_way();
    }

    /// The stream's regions went, or are another epoch's.
    pub(super) fn lose_gate(&mut self, index: usize, has_switched: bool, now_ns: u64) {
        // Where nothing was read before, nothing was lost.
        if has_switched || self.cut.gates.streams[index].gate.epoch().is_some() {
            self.give_up_gate(index, AbortCause::InputLost, now_ns);
        }
    }

    /// What time brings about: the coordinator has not said the place.
    pub(super) fn tick_gates(&mut self, now_ns: u64) {
        for index in 0..self.cut.gates.streams.len() {
            let gates = &self.cut.gates;
            if gates.streams[index].gate.is_overdue(now_ns, gates.timeout_ns) {
                self.give_up_gate(index, AbortCause::Timeout, now_ns);
            }
        }
    }

    /// Opens the gates of a checkpoint that is over, and of older ones; None: all.
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

    /// Where the join stands in a stream that is not held.
    fn present_place(&self, index: usize) -> Place {
        let port = &self.ports[index];
        Place { epoch: port.epoch().map(|epoch| port.likely_life_of(epoch)), seq: port.last_seq() }
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
            // Before the aligner: a blocked stream is never stale.
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

/// A frame that has just come and holds nothing yet.
pub(super) const FRESH: (Whereabouts, u64) = (Whereabouts::InRing, EVENT_BYTES);
