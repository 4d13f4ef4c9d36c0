// SPDX-License-Identifier: Apache-2.0
//! Takes descriptors, barriers, watermarks and signals from the streams, in the order in which they stand there.

// A mapping moves between the client's thread and the engine; boxed, only its pointer moves.
#![allow(clippy::vec_box)]

use std::sync::Arc;

use framegate_checkpoint::message::{CheckpointBarrier, UNALIGNED};
use framegate_codecs::control;
use framegate_core::pool::arrivals::Order;
use framegate_core::pool::descriptor::Descriptor;
use framegate_core::pool::hold::Kept;
use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::record::Verdict;
use framegate_intake::descriptors::Descriptors;
use framegate_intake::mailbox::Mailbox;
use framegate_intake::mapping::Mapping;
use framegate_intake::route::Route;
use framegate_join::stage::{Cause, Observed};

use super::Engine;
use super::cut::{Signal, Standing};
use crate::port::Heard;
use crate::wires::Wires;

/// Most fragments polled from one subscription in one turn, so that no input waits long for another.
const FRAGMENTS: usize = 64;
/// Facts are published this often even while descriptors keep coming. Producers that pace themselves by their readers
/// wait for the facts; a slice would be too long for them, and publishing in every turn too dear.
const FACTS_NS: u64 = 1_000_000;
const CONTROL_SCHEMA: u16 = 920;
/// Category of signals that wait for every upstream.
const BARRIER_CATEGORY: u8 = 1;
/// After so many turns without a full poll, every log was read to its end: one poll may stop at the end of a term.
const DRAINED_TURNS: u32 = 2;
/// Kind of the signal StreamGracefulEnd.
pub(super) const END_KIND: u8 = 0;

/// What an engine hears with, and the mappings that it is done with.
pub(super) struct Hearing<D> {
    pub(super) mailbox: Arc<Mailbox<D>>,
    pub(super) subscriptions: Vec<Arc<D>>,
    pub(super) route: Route,
    /// Most fragments that a turn takes from one subscription.
    fragments: usize,
    /// Whether every subscription gave less than it was asked for in this turn.
    pub(super) is_drained: bool,
    /// How many turns in a row read every log to its end.
    pub(super) drained_turns: u32,
    /// When facts are published next although descriptors keep coming.
    facts_due_ns: u64,
    /// Mappings to be handed to the client's thread.
    pub(super) unneeded: Vec<Box<Mapping>>,
}

impl<D> Hearing<D> {
    /// Makes the hearing part. `is_one_by_one`: poll one fragment at a time, so that no two frames are taken between
    /// two joins.
    pub(super) fn new(mailbox: Arc<Mailbox<D>>, is_one_by_one: bool) -> Self {
        Self {
            subscriptions: Vec::new(),
            route: Route::new(mailbox.facts.iter().map(|facts| facts.stream_id)),
            fragments: if is_one_by_one { 1 } else { FRAGMENTS },
            is_drained: false,
            drained_turns: 0,
            facts_due_ns: 0,
            unneeded: Vec::with_capacity(2 * mailbox.facts.len()),
            mailbox,
        }
    }
}

impl<W: Wires> Engine<W> {
    /// Polls every subscription; returns how many fragments came.
    pub(super) fn hear(&mut self, now_ns: u64) -> usize {
        let mut heard = 0;
        self.hearing.is_drained = true;
        for index in 0..self.hearing.subscriptions.len() {
            let subscription = Arc::clone(&self.hearing.subscriptions[index]);
            // Ask for each message: the image that brings it may have come in this very poll.
            let fragments = subscription.poll_whole(self.hearing.fragments, |message| {
                self.on_message(message, subscription.images_lost(), now_ns);
            });
            self.hearing.is_drained &= fragments < self.hearing.fragments;
            heard += fragments;
        }
        self.hearing.drained_turns =
            if self.hearing.is_drained { self.hearing.drained_turns.saturating_add(1) } else { 0 };
        if self.hearing.drained_turns >= DRAINED_TURNS {
            self.on_drained(now_ns);
        }
        if heard == 0 || now_ns >= self.hearing.facts_due_ns {
            if now_ns >= self.hearing.facts_due_ns {
                self.release_mappings();
            }
            self.hearing.facts_due_ns = now_ns + FACTS_NS;
            self.publish_facts();
        }
        heard
    }

    #[inline]
    fn on_message(&mut self, message: &[u8], images_lost: u64, now_ns: u64) {
        match Descriptor::read(message) {
            Ok(descriptor) => match self.hearing.route.place(descriptor.stream_id) {
                Some(port) => self.on_descriptor(port, &descriptor, images_lost, now_ns),
                None => self.counters.other_streams += 1,
            },
            Err(Verdict::OtherSchema) => self.on_control(message, now_ns),
            Err(_) => self.counters.other_messages += 1,
        }
    }

    #[inline]
    fn on_descriptor(&mut self, index: usize, descriptor: &Descriptor, images_lost: u64, now_ns: u64) {
        let Descriptor { epoch, seq, .. } = *descriptor;
        match self.ports[index].judge(epoch, seq) {
            Heard::Present => {}
            Heard::Ahead => self.advance_to(index, epoch, now_ns),
            Heard::Retired(join_epoch) => return self.on_retired(index, join_epoch, descriptor, now_ns),
            Heard::Nothing => return,
        }
        let epoch = self.join_epoch_of(index, epoch);
        let port = &mut self.ports[index];
        let is_anew = port.was_away || images_lost != port.images_lost;
        let known = port.known_before();
        match port.take(epoch, seq, is_anew) {
            Order::Next if port.is_first() => self.on_first(index, epoch, seq, known, now_ns),
            Order::Next => {}
            Order::Repeated | Order::Regressed => return,
            Order::Gap(frames) => self.on_gap(index, epoch, seq, frames, images_lost, now_ns),
        }
        let port = &mut self.ports[index];
        port.images_lost = images_lost;
        port.was_away = false;
        self.observe_or_wait(index, observed(epoch, descriptor), now_ns);
    }

    /// Takes a frame of the epoch before the present one, which nobody has taken yet. The stage decides what becomes of
    /// it.
    #[cold]
    fn on_retired(&mut self, index: usize, epoch: u64, descriptor: &Descriptor, now_ns: u64) {
        self.ports[index].counters.frames += 1;
        self.observe_or_wait(index, observed(epoch, descriptor), now_ns);
    }

    /// Takes the first frame that this agent hears of a stream. If an earlier run knew an earlier epoch, what this
    /// epoch sent before passed while no agent ran.
    #[cold]
    fn on_first(&mut self, index: usize, epoch: u64, seq: u64, known: Option<u64>, now_ns: u64) {
        if seq > 0 && known.is_some_and(|known| known < epoch) {
            self.recover_downtime(index, epoch, (0, seq - 1), now_ns);
        }
    }

    /// Takes frames that passed while no agent ran from the ring, as far as it still holds them.
    pub(super) fn recover_downtime(&mut self, index: usize, epoch: u64, (first, last): (u64, u64), now_ns: u64) {
        let oldest = self.ports[index].span().map_or(u64::MAX, |(oldest, _)| oldest);
        if first < oldest {
            self.note_downtime(index, epoch, first, last.min(oldest - 1));
        }
        self.recover(index, (first, last), true, now_ns);
    }

    /// Takes a new frame: it counts now, or it waits if a checkpoint holds its stream.
    #[inline]
    pub(super) fn observe_or_wait(&mut self, index: usize, seen: Observed, now_ns: u64) {
        if self.cut.is_under_way {
            return self.frame_during_cut(index, seen, now_ns);
        }
        self.observe_frame(index, seen, now_ns);
    }

    /// The join epoch of an epoch of the regions. Learned when something of the epoch has come.
    #[inline]
    pub(super) fn join_epoch_of(&mut self, index: usize, epoch: u64) -> u64 {
        match self.ports[index].known_join_epoch(epoch) {
            Some(join_epoch) => join_epoch,
            None => self.learn_join_epoch(index, epoch),
        }
    }

    #[cold]
    fn learn_join_epoch(&mut self, index: usize, epoch: u64) -> u64 {
        let join_epoch = self.ports[index].learn_join_epoch(epoch);
        if join_epoch != epoch && self.stage.has_ended_in(index, join_epoch) {
            self.stage.reopen(index);
        }
        join_epoch
    }

    /// Reopens streams that had ended and whose source has come back to continue; true if there was one. An end that an
    /// earlier run of this agent heard is no end then.
    pub(super) fn reopen_continued(&mut self) -> bool {
        let mut reopen_continued = false;
        for (index, port) in self.ports.iter().enumerate() {
            let newest = port.epoch().and(port.newest_epoch());
            let Some(epoch) = newest.filter(|epoch| port.ended != Some(*epoch)) else { continue };
            let join_epoch = port.likely_join_epoch(epoch);
            if join_epoch != epoch && self.stage.has_ended_in(index, join_epoch) {
                self.stage.reopen(index);
                reopen_continued = true;
            }
        }
        reopen_continued
    }

    /// Takes a frame now: the stage observes it, or records why it cannot be read.
    #[inline]
    pub(super) fn observe_frame(&mut self, index: usize, mut seen: Observed, now_ns: u64) {
        let found = match self.ports[index].passes_over(seen.epoch, seen.seq) {
            None => self.read_on_arrival(index, seen.epoch, seen.seq),
            Some(cause) => Err(cause),
        };
        match found {
            Ok(slot_timestamp_ns) => {
                seen.slot_timestamp_ns = slot_timestamp_ns;
                self.stage.observe(index, &seen, now_ns);
            }
            Err(cause) => {
                self.stage.observe_lost(index, seen.epoch, seen.seq, cause, now_ns);
                if cause == Cause::Overwritten {
                    self.catch_up(index, seen.epoch);
                }
            }
        }
    }

    /// Reads a new frame if the agent copies frames on arrival or the stage needs the slot's time. Returns that time,
    /// null if unread, or why the frame cannot be read. The copy keeps the frame safe however long it waits.
    #[inline]
    fn read_on_arrival(&mut self, index: usize, epoch: u64, seq: u64) -> Result<u64, Cause> {
        let port = &mut self.ports[index];
        let frame = if self.copying.is_at_arrival {
            let frame = port.read(epoch, seq)?;
            let tensor = port.tensor().ok_or(Cause::NoMatch)?;
            match self.copying.waiting.keep(index, epoch, &frame, tensor, true) {
                Kept::Whole(_) => {}
                Kept::Torn => {
                    port.on_torn();
                    return Err(Cause::Overwritten);
                }
                // The frame waits in its ring instead.
                Kept::No(_) => self.refuse_copy(index, (epoch, seq)),
            }
            frame
        } else if self.stage.needs_slot_time(index) {
            port.read(epoch, seq)?
        } else {
            return Ok(NULL_TIMESTAMP);
        };
        Ok(frame.header.timestamp_ns)
    }

    /// Ends an epoch at this place of the stream. Frames that it sent unheard are recorded as missed.
    pub(super) fn note_end_now(&mut self, index: usize, epoch: u64, after: Option<u64>, now_ns: u64) {
        let port = &mut self.ports[index];
        port.ended = port.present_epoch().filter(|own| port.likely_join_epoch(*own) == epoch);
        let unheard = after.and_then(|after| match self.stage.known_epoch(index) {
            // Nothing of this epoch was heard, and an earlier one was.
            Some(known) if known < epoch && port.next_heard(epoch).is_none() => Some((0, after)),
            _ => port.unheard_until(epoch, after),
        });
        if let Some((first, last)) = unheard {
            port.counters.missed += last - first + 1;
            if self.ports[index].has_heard_nothing() {
                self.note_downtime(index, epoch, first, last);
            }
            self.stage.missed(index, epoch, first, last, now_ns);
        }
        self.stage.ended(index, epoch, now_ns);
    }

    /// Handles sequences that were left out: their frames may lie in the ring.
    #[cold]
    fn on_gap(&mut self, index: usize, epoch: u64, seq: u64, frames: u64, images_lost: u64, now_ns: u64) {
        let port = &self.ports[index];
        let left_out = (seq - frames, seq - 1);
        if port.is_first() {
            return self.recover_downtime(index, epoch, left_out, now_ns);
        }
        let was_away = port.was_away || images_lost != port.images_lost;
        self.recover(index, left_out, was_away, now_ns);
    }

    /// Notes a range that passed while no agent ran, without what an earlier run had decided.
    fn note_downtime(&mut self, index: usize, epoch: u64, first: u64, last: u64) {
        let decided = self.stage.decided(index).filter(|decided| decided.0 == epoch);
        let first = decided.map_or(first, |(_, seq)| first.max(seq.saturating_add(1)));
        if first <= last {
            self.gaps[index] = Some((epoch, first, last));
        }
    }

    /// Takes a message that stands between descriptors: a barrier, a watermark or a signal.
    #[cold]
    pub(crate) fn on_control(&mut self, message: &[u8], now_ns: u64) {
        if message.get(4..6) != Some(&CONTROL_SCHEMA.to_le_bytes()) {
            self.counters.other_messages += 1;
            return;
        }
        if let Ok(watermark) = control::Watermark::checked(message) {
            if let Some(port) = self.hearing.route.place(watermark.stream_id())
                && self.is_reading(port, watermark.source_epoch(), now_ns)
            {
                self.on_watermark(port, watermark.timestamp_ms(), message, now_ns);
            }
        } else if let Ok(barrier) = control::CheckpointBarrier::checked(message) {
            let is_unaligned = barrier.flags() & UNALIGNED != 0;
            let found = CheckpointBarrier::with(barrier.checkpoint_id(), barrier.epoch(), is_unaligned);
            // A barrier of an epoch that is over, or cannot be read yet, cuts nothing here.
            if let Some(port) = self.hearing.route.place(barrier.stream_id())
                && self.is_reading(port, barrier.source_epoch(), now_ns)
            {
                self.on_barrier(port, found, now_ns);
            }
        } else if let Ok(signal) = control::ControlSignal::checked(message) {
            let port = signal.stream_id().and_then(|stream| self.hearing.route.place(stream));
            let mut signal = Signal {
                is_barrier: u8::from(signal.category()) == BARRIER_CATEGORY,
                kind: u8::from(signal.kind()),
                barrier_id: signal.barrier_id(),
                epoch: signal.source_epoch(),
                after: signal.after_seq(),
            };
            if let Some(port) = port
                && self.is_of_present(port, &signal, now_ns)
            {
                // Take up new, closed and lost epochs first, or the signal would be given up because of them.
                self.note_switches(now_ns);
                signal.epoch = self.join_epoch_of(port, signal.epoch);
                if signal.is_end() {
                    self.recover_until(port, signal.epoch, signal.after, now_ns);
                }
                self.take_or_hold(port, Standing::Signal(signal), message, now_ns);
            }
        }
    }

    /// Whether a signal counts now. An end closes the epoch that it names, unless its source has come back since: a log
    /// may be rejoined at a place before the end. Any other signal counts only for the epoch that is read.
    fn is_of_present(&mut self, port: usize, signal: &Signal, now_ns: u64) -> bool {
        if self.time.fed_at.is_some() || !signal.is_end() {
            return self.is_reading(port, signal.epoch, now_ns);
        }
        if self.is_reading(port, signal.epoch, now_ns) {
            return true;
        }
        if self.ports[port].is_to_come(signal.epoch) {
            self.ports[port].note_early_end(signal.epoch, signal.after);
            return false;
        }
        !self.ports[port].is_past(signal.epoch)
    }

    fn is_reading(&mut self, port: usize, epoch: u64, now_ns: u64) -> bool {
        if self.time.fed_at.is_some() {
            return true;
        }
        match self.ports[port].judge_message(epoch) {
            Heard::Present => true,
            Heard::Ahead => {
                self.advance_to(port, epoch, now_ns);
                true
            }
            Heard::Retired(_) | Heard::Nothing => false,
        }
    }
}

/// A frame as its descriptor announces it, under its join epoch.
#[inline]
const fn observed(epoch: u64, descriptor: &Descriptor) -> Observed {
    Observed {
        epoch,
        seq: descriptor.seq,
        descriptor_timestamp_ns: descriptor.timestamp_ns,
        slot_timestamp_ns: NULL_TIMESTAMP,
        trace_id: descriptor.trace_id,
    }
}
