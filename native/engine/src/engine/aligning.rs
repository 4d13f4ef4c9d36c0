// SPDX-License-Identifier: Apache-2.0
//! Aligns the streams of an engine at their barriers. What comes behind a barrier waits until the other streams have
//! delivered theirs, or until the snapshot overtakes.
//!
//! Without a checkpoint under way, a frame costs one branch. Otherwise the engine first notes for staleness that the
//! stream was heard, copies the frame if it has to wait, and gives it to the aligner, whose steps it carries out in
//! order.

use framegate_checkpoint::input_signals::Change;
use framegate_checkpoint::message::{CheckpointBarrier, EPOCH_MAX, Watermark};
use framegate_checkpoint::unaligned::{Step, UnalignedCheckpointer};
use framegate_codecs::control;
use framegate_core::pool::hold::Kept;
use framegate_join::stage::{Cause, Observed};

use super::cut::{EVENT_BYTES, News, Passing, Signal, Standing, Whereabouts};
use super::hearing::END_KIND;
use super::ingress::FRESH;
use super::row::ROWS;
use super::{Engine, Outcome};
use crate::fed::Fed;
use crate::wires::{Target, Wires};

/// Frames released between two joins: more would overrun the history of the frames that wait.
const DRAINED: usize = 64;

type Checkpointer = UnalignedCheckpointer<Standing>;

impl<W: Wires> Engine<W> {
    // --- What comes ----------------------------------------------------------------------------------------

    /// Takes a frame that was announced while a checkpoint is under way.
    #[cold]
    pub(super) fn frame_during_cut(&mut self, index: usize, seen: Observed, now_ns: u64) {
        self.note_switches(now_ns);
        self.frame_at_gate(index, seen, FRESH, now_ns);
    }

    /// Takes a fed frame while a checkpoint is under way; false if the frame counts at once.
    pub(crate) fn fed_during_cut(&mut self, frame: &Fed<'_>, seen: &Observed, now_ns: u64) -> bool {
        if !self.cut.is_under_way {
            return false;
        }
        let Fed { port: index, payload, tensor, .. } = *frame;
        let at = (seen.epoch, seen.seq);
        if self.cut.owes(index) {
            let bytes = self.capture_fed(index, seen, &tensor, payload);
            let is_kept = self.keep_fed(frame, seen.slot_timestamp_ns);
            let whereabouts = if is_kept { Whereabouts::Kept } else { Whereabouts::Gone };
            self.give(index, Standing::Frame(*seen, whereabouts), bytes, now_ns);
            return true;
        }
        if !self.cut.is_blocked(index) {
            return false;
        }
        self.stage.heard(index, now_ns);
        self.release_copies();
        let is_kept = self.cut.behind.keep_bytes(index, at, payload, seen.slot_timestamp_ns, &tensor);
        let (whereabouts, bytes) = if is_kept {
            self.cut.counters.held_bytes += payload.len() as u64;
            (Whereabouts::Held, payload.len() as u64 + EVENT_BYTES)
        } else {
            // A size beyond every limit ends the alignment here.
            self.cut.counters.hold_full += 1;
            let is_kept = self.keep_fed(frame, seen.slot_timestamp_ns);
            (if is_kept { Whereabouts::Kept } else { Whereabouts::Gone }, u64::MAX)
        };
        self.give(index, Standing::Frame(*seen, whereabouts), bytes, now_ns);
        true
    }

    /// Takes or holds anything other than a frame or a barrier, at its place in the stream.
    pub(super) fn take_or_hold(&mut self, index: usize, standing: Standing, message: &[u8], now_ns: u64) {
        if self.cut.is_under_way {
            self.note_switches(now_ns);
            if self.waits_at_gate(index, standing, message, now_ns) {
                return;
            }
            if self.cut.owes(index) {
                self.capture_message(index, message);
                return self.give(index, standing, message.len() as u64, now_ns);
            }
            if self.cut.is_blocked(index) {
                self.stage.heard(index, now_ns);
                return self.give(index, standing, EVENT_BYTES, now_ns);
            }
        }
        self.take(index, standing, now_ns);
        self.tell_ended(now_ns);
    }

    /// Takes a watermark. It counts at its place in the stream, but the aligner learns the newest of each stream at
    /// once.
    pub(super) fn on_watermark(&mut self, index: usize, ms: i64, message: &[u8], now_ns: u64) {
        if self.waits_at_gate(index, Standing::Watermark(ms), message, now_ns) {
            return;
        }
        if self.cut.is_blocked(index) {
            if let Some(checkpointer) = &mut self.cut.checkpointer {
                checkpointer.watermark(index, Watermark(ms), now_ns, &mut |_| ());
            }
            return self.take_or_hold(index, Standing::Watermark(ms), message, now_ns);
        }
        if self.cut.owes(index) {
            self.capture_message(index, message);
        }
        self.step(now_ns, |checkpointer, mut act| checkpointer.watermark(index, Watermark(ms), now_ns, &mut act));
        if self.cut.checkpointer.is_none() {
            self.take_watermark(index, ms, now_ns);
        }
    }

    /// Takes a barrier at its place in the stream.
    pub fn on_barrier(&mut self, index: usize, barrier: CheckpointBarrier, now_ns: u64) {
        if !is_in_range(barrier) {
            self.cut.counters.barriers_refused += 1;
            return;
        }
        self.note_switches(now_ns);
        if self.cut.began.0 < barrier.checkpoint_id {
            self.cut.began = (barrier.checkpoint_id, now_ns);
        }
        self.step(now_ns, |checkpointer, mut act| checkpointer.barrier(index, barrier, now_ns, &mut act));
    }

    /// Gives up barriers of streams whose regions came, went or changed their epoch: those streams do not deliver them
    /// any more. An epoch that follows a crash has no producer, so its stream owes nothing before the next one.
    pub(super) fn note_switches(&mut self, now_ns: u64) {
        if self.time.fed_at.is_some() {
            return;
        }
        for index in 0..self.ports.len() {
            let port = &mut self.ports[index];
            let (has_switched, epoch) = (std::mem::take(&mut port.has_switched), port.written_epoch());
            if !has_switched && epoch.is_some() {
                continue;
            }
            if has_switched || port.epoch().is_none() {
                self.lose_gate(index, has_switched, now_ns);
            }
            let epoch = epoch.map(|epoch| self.ports[index].likely_join_epoch(epoch));
            let can_deliver = epoch.is_some_and(|epoch| !self.stage.has_ended_in(index, epoch));
            self.lose_input(index, can_deliver, now_ns);
        }
    }

    /// Gives up the barrier that a stream owes. The stream takes part again from the next checkpoint on, if more can
    /// come of it.
    pub(super) fn lose_input(&mut self, index: usize, can_deliver: bool, now_ns: u64) {
        self.step(now_ns, |checkpointer, mut act| checkpointer.lose_input(index, &mut act));
        self.cut.signals.lose(index);
        if can_deliver {
            self.cut.signals.resume(index);
        }
        if let (true, Some(checkpointer)) = (can_deliver, &mut self.cut.checkpointer) {
            checkpointer.resume_input(index);
        }
    }

    /// Lets timeouts of the checkpoint under way take effect.
    #[cold]
    pub(super) fn tick_cut(&mut self, now_ns: u64) {
        self.note_switches(now_ns);
        self.step(now_ns, |checkpointer, mut act| {
            checkpointer.on_tick(now_ns, &mut act);
            checkpointer.give_up_overdue(now_ns, &mut act);
        });
        self.tick_gates(now_ns);
    }

    /// Aborts a checkpoint: the coordinator gave it up, or the engine ends; None aborts any.
    pub fn abort_checkpoint(&mut self, checkpoint_id: Option<u64>, now_ns: u64) {
        self.open_gates(checkpoint_id, now_ns);
        if let Some(checkpoint_id) = checkpoint_id {
            // An aligned checkpoint is over for the aligner while its frames are still being copied.
            self.cut.forget_taking(checkpoint_id);
        }
        self.step(now_ns, |checkpointer, mut act| checkpointer.abort(checkpoint_id, &mut act));
    }

    /// Fails a checkpoint whose captured events could not be written; the next checkpoint is aligned.
    pub fn fail_checkpoint(&mut self, checkpoint_id: u64, now_ns: u64) {
        self.step(now_ns, |checkpointer, mut act| checkpointer.fail(Some(checkpoint_id), &mut act));
    }

    // --- What is done --------------------------------------------------------------------------------------

    pub(super) fn give(&mut self, index: usize, standing: Standing, bytes: u64, now_ns: u64) {
        self.step(now_ns, |checkpointer, mut act| {
            checkpointer.event(index, standing, bytes, now_ns, |standing| *standing, &mut act);
        });
    }

    /// Asks the checkpointer something, and carries out the steps that it answers.
    fn step(&mut self, now_ns: u64, ask: impl FnOnce(&mut Checkpointer, &mut dyn FnMut(Step<Standing>))) {
        let Some(mut checkpointer) = self.cut.checkpointer.take() else { return };
        self.cut.buffered = checkpointer.aligner().buffered_events();
        ask(&mut checkpointer, &mut |step| self.carry_out(step, now_ns));
        self.cut.checkpointer = Some(checkpointer);
        self.note_under_way();
        self.tell_ended(now_ns);
    }

    /// Tells the checkpointer which streams have ended, after the step that brought their ends.
    fn tell_ended(&mut self, now_ns: u64) {
        while self.cut.ended != 0 && self.cut.checkpointer.is_some() {
            let index = self.cut.ended.trailing_zeros() as usize;
            self.cut.ended &= self.cut.ended - 1;
            self.step(now_ns, |checkpointer, mut act| checkpointer.end_input(index, now_ns, &mut act));
        }
    }

    fn carry_out(&mut self, step: Step<Standing>, now_ns: u64) {
        match step {
            Step::PassThrough(index, standing) => self.take(index, standing, now_ns),
            Step::Drain(index, standing) | Step::Released(index, standing) => {
                self.take(index, standing, now_ns);
                self.join_drained(now_ns);
            }
            Step::Watermark(index, Watermark(ms)) => self.take_watermark(index, ms, now_ns),
            Step::TriggerSnapshot(barrier, overtakes) => self.snapshot(barrier, overtakes, now_ns),
            Step::ForwardBarrier(barrier) => self.forward_barrier(barrier),
            Step::Complete(barrier) => {
                let inflight = self.take_inflight();
                let duration_ns = self.cut.lasted_ns(now_ns);
                self.cut.news.push_back(News::Complete { barrier, duration_ns, inflight });
            }
            Step::Aborted(aborted) => {
                self.take_inflight();
                self.cut.forget_taking(aborted.barrier.checkpoint_id);
                let buffered = self.cut.buffered;
                self.cut.news.push_back(News::Aborted { aborted, buffered });
            }
            Step::Buffered(_) | Step::Blocked(..) | Step::Ignored(..) | Step::LateBarrier(..) => {}
        }
    }

    /// Takes something at its place in the stream: from now on it counts.
    pub(super) fn take(&mut self, index: usize, standing: Standing, now_ns: u64) {
        match standing {
            Standing::Frame(seen, Whereabouts::InRing) => self.observe_frame(index, seen, now_ns),
            Standing::Frame(seen, Whereabouts::Waited) => {
                if self.ports[index].read(seen.epoch, seen.seq).is_ok() {
                    self.observe_frame(index, seen, now_ns);
                } else {
                    self.lose_held(index, &seen, now_ns);
                }
            }
            Standing::Frame(seen, Whereabouts::Kept) => _ = self.stage.observe(index, &seen, now_ns),
            Standing::Frame(seen, Whereabouts::Held) => self.take_held(index, &seen, now_ns),
            Standing::Frame(seen, Whereabouts::Gone) => self.lose_held(index, &seen, now_ns),
            Standing::Missed { epoch, first, last } => self.stage.missed(index, epoch, first, last, now_ns),
            Standing::Watermark(ms) => self.take_watermark(index, ms, now_ns),
            Standing::Signal(signal) => self.take_signal(index, signal, now_ns),
        }
    }

    fn lose_held(&mut self, index: usize, seen: &Observed, now_ns: u64) {
        self.cut.counters.held_lost += 1;
        let cause = if self.time.fed_at.is_some() { Cause::NoRoom } else { Cause::Overwritten };
        self.stage.observe_lost(index, seen.epoch, seen.seq, cause, now_ns);
    }

    /// Takes a frame that waited behind a barrier; its copy stays until the frame is decided.
    fn take_held(&mut self, index: usize, seen: &Observed, now_ns: u64) {
        self.stage.reserve_one(index);
        self.stage.observe(index, seen, now_ns);
    }

    /// Joins everything that is possible with what came so far.
    pub(super) fn join_what_came(&mut self, now_ns: u64) {
        let mut outcome = Outcome::default();
        while self.join(now_ns, self.outputs, &mut outcome) == ROWS && !outcome.has_all_outputs {}
    }

    /// Joins released frames in small groups, so that the result is the same as if they had come one by one.
    pub(super) fn join_drained(&mut self, now_ns: u64) {
        self.cut.drained += 1;
        if self.is_one_by_one || self.cut.drained.is_multiple_of(DRAINED) {
            self.join(now_ns, self.outputs, &mut Outcome::default());
            self.note_unmatched(now_ns);
        }
    }

    // --- Copies --------------------------------------------------------------------------------------------

    /// Copies a frame that has to wait; returns where it lies then, and how many bytes it takes.
    pub(super) fn hold_frame(&mut self, index: usize, seen: &mut Observed) -> (Whereabouts, u64) {
        if !self.cut.keeps_payload {
            return (Whereabouts::Waited, EVENT_BYTES);
        }
        self.release_copies();
        let port = &mut self.ports[index];
        let Ok(frame) = port.read(seen.epoch, seen.seq) else { return (Whereabouts::Gone, EVENT_BYTES) };
        let Some(tensor) = port.tensor() else { return (Whereabouts::Gone, EVENT_BYTES) };
        match self.cut.behind.keep(index, seen.epoch, &frame, tensor, true) {
            Kept::Whole(bytes) => {
                let bytes = u64::from(bytes);
                if self.stage.needs_slot_time(index) {
                    seen.slot_timestamp_ns = frame.header.timestamp_ns;
                }
                self.cut.counters.held_bytes += bytes;
                (Whereabouts::Held, bytes + EVENT_BYTES)
            }
            Kept::Torn => {
                port.on_torn();
                (Whereabouts::Gone, EVENT_BYTES)
            }
            Kept::No(_) => {
                // A size beyond every limit ends the alignment here.
                self.cut.counters.hold_full += 1;
                (Whereabouts::InRing, u64::MAX)
            }
        }
    }

    // --- Signals -------------------------------------------------------------------------------------------

    /// Takes a signal behind everything that came before it, so that an end behind a barrier cannot end a join that
    /// still buffers (P5).
    fn take_signal(&mut self, index: usize, signal: Signal, now_ns: u64) {
        if !signal.is_barrier {
            return self.take_instant(signal, now_ns);
        }
        // Ends of independent producers have no id: each ends only its own stream.
        let is_anonymous_end = signal.kind == END_KIND && signal.barrier_id == 0;
        if !is_anonymous_end {
            let change = match signal.barrier_id {
                0 => Change::Refused,
                barrier_id => self.cut.signals.arrive(index, (barrier_id, signal.kind)),
            };
            self.carry_signals(change, now_ns);
        }
        if signal.kind == END_KIND {
            self.note_end_now(index, signal.epoch, signal.after, now_ns);
            if self.stage.has_ended(index) {
                self.cut.ended |= 1 << index;
                let change = self.cut.signals.end(index);
                self.carry_signals(change, now_ns);
            }
        }
    }

    /// Takes a signal that waits for no other upstream.
    fn take_instant(&mut self, signal: Signal, now_ns: u64) {
        self.cut.counters.signals_instant += 1;
        if signal.kind == END_KIND {
            self.join_what_came(now_ns);
            self.cut.end = Some(signal);
            self.cut.is_terminated = true;
        } else {
            self.forward_signal(signal, now_ns);
        }
    }

    fn carry_signals(&mut self, change: Change, now_ns: u64) {
        match change {
            Change::Pending => {}
            Change::Refused => self.cut.counters.signals_refused += 1,
            Change::Complete((barrier_id, kind)) => {
                self.cut.counters.signals_aligned += 1;
                let signal = Signal { is_barrier: true, kind, barrier_id, epoch: 0, after: None };
                if kind == END_KIND {
                    // The end of the output, behind its final frame, carries this signal.
                    self.cut.end = Some(signal);
                } else {
                    self.forward_signal(signal, now_ns);
                }
            }
        }
    }

    // --- On the output -------------------------------------------------------------------------------------

    fn forward_barrier(&mut self, barrier: CheckpointBarrier) {
        let Some((_, target)) = &self.output.target else {
            if self.cut.is_computed {
                // Python publishes every sealed row, so no row from behind the cut may be sealed before this is news.
                self.copy_the_rest();
            }
            let row = self.ledger.writer.next_row();
            return self.cut.news.push_back(News::Forward { barrier, row });
        };
        let is_sent = target.send_barrier(barrier);
        self.note_forwarded(is_sent);
    }

    /// Forwards a signal behind every row made of what came before it.
    fn forward_signal(&mut self, signal: Signal, now_ns: u64) {
        if self.output.target.is_none() && !self.cut.is_computed {
            return;
        }
        self.join_what_came(now_ns);
        self.pass_on(Passing::Signal(signal));
    }

    /// Sends a message behind the newest published frame, natively or through the Python thread that publishes rows.
    pub(super) fn pass_on(&mut self, what: Passing) {
        let Some((_, target)) = &self.output.target else {
            if self.cut.is_computed {
                self.cut.news.push_back(News::Pass { what, row: self.ledger.writer.next_row() });
            }
            return;
        };
        let pipeline = &self.cut.pipeline;
        let is_sent = target.send_between(|stream_id, source_epoch| match what {
            Passing::Signal(signal) => encoded_signal(signal, stream_id, source_epoch, pipeline),
            Passing::Watermark(ms) => {
                let timestamp_ms = i64::try_from(ms).ok()?;
                control::Watermark { timestamp_ms, stream_id, source_epoch }.encode().ok()
            }
        });
        self.note_forwarded(is_sent);
    }

    fn note_forwarded(&mut self, is_sent: bool) {
        self.cut.counters.barriers_forwarded += u64::from(is_sent);
        self.cut.counters.forward_failures += u64::from(!is_sent);
    }
}

/// Whether a barrier's id and epoch lie in the range that a coordinator uses.
pub(super) fn is_in_range(barrier: CheckpointBarrier) -> bool {
    (1..=i64::MAX as u64).contains(&barrier.checkpoint_id) && barrier.epoch <= EPOCH_MAX
}

fn encoded_signal(signal: Signal, stream_id: u32, source_epoch: u64, pipeline: &str) -> Option<Vec<u8>> {
    let category = if signal.is_barrier { control::SignalCategory::Barrier } else { control::SignalCategory::Instant };
    let message = control::ControlSignal {
        category,
        kind: control::SignalKind::try_from(signal.kind).ok()?,
        barrier_id: signal.barrier_id,
        stream_id: Some(stream_id),
        source_epoch,
        // The output fills this in when it sends the signal.
        after_seq: None,
        pipeline: pipeline.to_owned(),
    };
    message.encode().ok()
}
