// SPDX-License-Identifier: Apache-2.0
//! Frames that do not come over Aeron and lie in no ring: a recording's. The same stage, rows and seals as live.
//!
//! Time is the recording's own, so that what goes by the clock (deadlines, staleness, ages, ticks) comes out alike however
//! fast it is read. Nothing is lost for want of room: what is fed waits until the journal takes rows again.

use std::time::Duration;

use framegate_core::clock::{monotonic_ns, realtime_ns};
use framegate_core::pool::arrivals::Order;
use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::pool::tensor::Tensor;
use framegate_join::stage::{Cause, Observed};

use crate::engine::{Engine, Outcome};
use crate::wires::Wires;

const BEAT_NS: u64 = 20_000_000;
const PAUSE: Duration = Duration::from_micros(50);
/// After so long without a row the caller looks whether readers have let go of something.
const PATIENCE_NS: u64 = 20_000_000;

/// When what is fed came, by the clocks of its recording.
#[derive(Clone, Copy, Debug)]
pub struct FedAt {
    pub monotonic_ns: u64,
    pub realtime_ns: u64,
}

/// The times that an engine lives by.
pub(crate) struct Time {
    /// Whether output times are realtime.
    pub(crate) is_realtime: bool,
    /// The time of what was fed last: an engine that is fed does not live in the present.
    pub(crate) fed_at: Option<FedAt>,
    /// When its journal's readers are next told that it lives, where it is fed.
    beat_at_ns: u64,
}

impl Time {
    pub(crate) const fn new(is_realtime: bool) -> Self {
        Self { is_realtime, fed_at: None, beat_at_ns: 0 }
    }

    /// What the stage takes for now.
    #[inline]
    pub(crate) fn stage_ns(&self, now_ns: u64) -> u64 {
        self.fed_at.map_or(now_ns, |fed| fed.monotonic_ns)
    }

    /// The time by which outputs are due; `stage_ns` where they go by the same clock as the stage.
    #[inline]
    pub(crate) fn output_ns(&self, stage_ns: u64) -> u64 {
        match self.fed_at {
            _ if !self.is_realtime => stage_ns,
            Some(fed) => fed.realtime_ns,
            None => realtime_ns(),
        }
    }
}

/// A frame.
pub struct Fed<'a> {
    pub port: usize,
    pub epoch: u64,
    pub seq: u64,
    pub timestamp_ns: Option<u64>,
    pub descriptor_timestamp_ns: Option<u64>,
    pub trace_id: u64,
    pub tensor: Tensor,
    pub payload: &'a [u8],
}

impl<W: Wires> Engine<W> {
    /// Takes a frame; its payload is copied. One whose sequence has passed is left alone.
    pub fn feed(&mut self, frame: &Fed<'_>, at: FedAt) {
        self.time.fed_at = Some(at);
        let Fed { port: index, epoch, seq, .. } = *frame;
        let port = &mut self.ports[index];
        if port.is_before_resumed(epoch) {
            port.counters.other_epoch += 1;
            return;
        }
        match port.take(epoch, seq, false) {
            Order::Next => {}
            Order::Gap(frames) => port.counters.gap_drops += frames,
            Order::Repeated | Order::Regressed => return,
        }
        let slot_timestamp_ns = frame.timestamp_ns.unwrap_or(NULL_TIMESTAMP);
        let seen = Observed {
            epoch,
            seq,
            descriptor_timestamp_ns: frame.descriptor_timestamp_ns.unwrap_or(NULL_TIMESTAMP),
            slot_timestamp_ns,
            trace_id: frame.trace_id,
        };
        if self.fed_during_cut(frame, &seen, at.monotonic_ns) {
            return;
        }
        if !self.keep_fed(frame, slot_timestamp_ns) {
            self.stage.observe_lost(index, epoch, seq, Cause::NoRoom, at.monotonic_ns);
            return;
        }
        self.stage.observe(index, &seen, at.monotonic_ns);
    }

    /// Copies a frame that lies in no ring to where frames wait; whether there was room.
    pub(crate) fn keep_fed(&mut self, frame: &Fed<'_>, slot_timestamp_ns: u64) -> bool {
        let Fed { port, epoch, seq, payload, ref tensor, .. } = *frame;
        let is_kept = self.copying.waiting.keep_bytes(port, (epoch, seq), payload, slot_timestamp_ns, tensor);
        if !is_kept {
            self.refuse_copy(port, (epoch, seq));
        }
        is_kept
    }

    /// Takes what stands between the frames: barriers, watermarks and signals.
    pub fn feed_control(&mut self, message: &[u8], at: FedAt) {
        self.time.fed_at = Some(at);
        self.on_control(message, at.monotonic_ns);
    }

    /// Joins everything that what was fed makes possible; `is_full` when the journal takes no row, and the caller has to
    /// come again.
    pub fn settle(&mut self, outputs: u64) -> Outcome {
        let mut outcome = Outcome::default();
        let began_ns = monotonic_ns();
        let mut now_ns = began_ns;
        // It says of this call alone why it is full; nothing: the next file is on its way.
        self.ledger.full_reason = "";
        loop {
            let full_turns = self.counters.full_turns;
            let work = self.turn(now_ns, outputs, &mut outcome);
            if self.ledger.failure.is_some() || outcome.has_all_outputs || outcome.has_new_epoch {
                break;
            }
            let awaits_seal = self.cut.awaits_seal(self.ledger.writer.sealed_rows());
            let is_held_up = self.counters.full_turns != full_turns || self.stage.has_unmatched() || awaits_seal;
            if work == 0 && !is_held_up {
                break;
            }
            if is_held_up {
                if self.stage.has_unmatched() {
                    self.seal(now_ns, &mut outcome);
                }
                if now_ns - began_ns >= PATIENCE_NS {
                    outcome.is_full = true;
                    break;
                }
                if self.counters.full_turns != full_turns || awaits_seal {
                    std::thread::sleep(PAUSE);
                }
            }
            now_ns = monotonic_ns();
        }
        if now_ns >= self.time.beat_at_ns {
            self.time.beat_at_ns = now_ns + BEAT_NS;
            self.publish_facts();
            if let Err(failure) = self.ledger.writer.heartbeat(now_ns) {
                self.note_failure(failure, &mut outcome);
            }
        }
        outcome
    }
}
