// SPDX-License-Identifier: Apache-2.0
//! Joins the frames of a recording, which come over no Aeron log and lie in no ring. Stage, rows and seals are those of
//! a live join.
//!
//! The recording's clock decides everything that depends on time (deadlines, staleness, ages, ticks), so that rows do
//! not depend on how fast it is read. A full journal loses nothing: the caller feeds more when the journal takes rows
//! again.

use framegate_core::clock::{monotonic_ns, realtime_ns};
use framegate_core::pool::arrivals::Order;
use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::pool::tensor::Tensor;
use framegate_join::stage::{Cause, Observed};

use crate::engine::{Engine, Outcome};
use crate::wires::Wires;

const BEAT_NS: u64 = 20_000_000;
/// After this long without a row, `settle` returns so that the caller can look whether readers have released segments.
const PATIENCE_NS: u64 = 20_000_000;

/// The times at which a fed frame or message was received, by the clocks of its recording.
#[derive(Clone, Copy, Debug)]
pub struct FedAt {
    pub monotonic_ns: u64,
    pub realtime_ns: u64,
}

/// The clocks that an engine goes by: the machine's own, or those of a recording.
pub(crate) struct Time {
    /// Whether output times are realtime.
    pub(crate) is_realtime: bool,
    /// The time of what was fed most recently; None in a live join.
    pub(crate) fed_at: Option<FedAt>,
    /// When a fed engine next writes its journal's heartbeat.
    beat_at_ns: u64,
}

impl Time {
    pub(crate) const fn new(is_realtime: bool) -> Self {
        Self { is_realtime, fed_at: None, beat_at_ns: 0 }
    }

    /// The time that the stage takes as now.
    #[inline]
    pub(crate) fn stage_ns(&self, now_ns: u64) -> u64 {
        self.fed_at.map_or(now_ns, |fed| fed.monotonic_ns)
    }

    /// The time by which outputs are due: realtime if the output's clock is realtime, else `stage_ns`.
    #[inline]
    pub(crate) fn output_ns(&self, stage_ns: u64) -> u64 {
        match self.fed_at {
            _ if !self.is_realtime => stage_ns,
            Some(fed) => fed.realtime_ns,
            None => realtime_ns(),
        }
    }
}

/// One frame of a recording.
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
    /// Takes a frame of a recording, and copies its payload. A frame whose sequence has passed is ignored.
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

    /// Copies a frame of a recording to where frames wait; false if there was no space.
    pub(crate) fn keep_fed(&mut self, frame: &Fed<'_>, slot_timestamp_ns: u64) -> bool {
        let Fed { port, epoch, seq, payload, ref tensor, .. } = *frame;
        let is_kept = self.copying.waiting.keep_bytes(port, (epoch, seq), payload, slot_timestamp_ns, tensor);
        if !is_kept {
            self.refuse_copy(port, (epoch, seq));
        }
        is_kept
    }

    /// Takes a message that stands between frames: a barrier, a watermark or a signal.
    pub fn feed_control(&mut self, message: &[u8], at: FedAt) {
        self.time.fed_at = Some(at);
        self.on_control(message, at.monotonic_ns);
    }

    /// Joins everything that the frames fed so far make possible. Sets `is_full` if the journal takes no row; the
    /// caller then has to call again.
    pub fn settle(&mut self, outputs: u64) -> Outcome {
        let mut outcome = Outcome::default();
        let began_ns = monotonic_ns();
        let mut now_ns = began_ns;
        // Why this call found the journal full. Empty means only that the next file is not ready yet.
        self.ledger.full_reason = "";
        loop {
            let full_turns = self.counters.full_turns;
            let work = self.turn(now_ns, outputs, &mut outcome);
            if self.ledger.failure.is_some() || outcome.has_all_outputs || outcome.has_new_epoch {
                break;
            }
            if self.waits_for_journal(full_turns, now_ns, &mut outcome) {
                if now_ns - began_ns >= PATIENCE_NS {
                    outcome.is_full = true;
                    break;
                }
            } else if work == 0 {
                break;
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
