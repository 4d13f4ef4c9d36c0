// SPDX-License-Identifier: Apache-2.0
//! What the engine takes from its streams: descriptors, barriers, watermarks and signals, in the order in which they
//! stand there.

// A mapping goes from the client's thread to the engine and back; what moves is its pointer.
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

/// Fragments of one subscription in one turn, so that no input waits long for another.
const FRAGMENTS: usize = 64;
/// Producers that are paced by their readers wait for the facts: a slice is long for them, a turn of a busy loop short.
const FACTS_NS: u64 = 1_000_000;
const CONTROL_SCHEMA: u16 = 920;
/// Waits for every upstream.
const BARRIER_CATEGORY: u8 = 1;
/// Turns that took less of every log than they might have: one poll may stop at the end of a term.
const DRAINED_TURNS: u32 = 2;
/// StreamGracefulEnd.
pub(super) const END_KIND: u8 = 0;

/// What an engine hears, and what it has done with.
pub(super) struct Hearing<D> {
    pub(super) mailbox: Arc<Mailbox<D>>,
    pub(super) subscriptions: Vec<Arc<D>>,
    pub(super) route: Route,
    /// How many fragments of a subscription a turn takes.
    fragments: usize,
    /// Whether each of the subscriptions had less to give than it was asked for.
    pub(super) is_drained: bool,
    /// Turns in a row that read every log to its end.
    pub(super) drained_turns: u32,
    /// When the next facts are due although descriptors keep coming.
    facts_due_ns: u64,
    /// Mappings that are on their way to the client's thread.
    pub(super) unneeded: Vec<Box<Mapping>>,
}

impl<D> Hearing<D> {
    /// `is_one_by_one`: so that no two are taken between two questions.
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
    /// Takes what came; how many fragments.
    pub(super) fn hear(&mut self, now_ns: u64) -> usize {
        let mut heard = 0;
        self.hearing.is_drained = true;
        for index in 0..self.hearing.subscriptions.len() {
            let subscription = Arc::clone(&self.hearing.subscriptions[index]);
            // Asked for each message: the image that brings it may have come in this very poll.
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
                self.let_go();
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
            Heard::Retired(life) => return self.on_retired(index, life, descriptor, now_ns),
            Heard::Nothing => return,
        }
        let epoch = self.life_of(index, epoch);
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

    /// A frame of the epoch before the present one, which nobody has taken yet: the stage says what becomes of it.
    #[cold]
    fn on_retired(&mut self, index: usize, epoch: u64, descriptor: &Descriptor, now_ns: u64) {
        self.ports[index].counters.frames += 1;
        self.observe_or_wait(index, observed(epoch, descriptor), now_ns);
    }

    /// The first frame that this agent hears of a stream. What the epoch sent before it passed while no agent was there,
    /// if an earlier life of it knew an earlier epoch.
    #[cold]
    fn on_first(&mut self, index: usize, epoch: u64, seq: u64, known: Option<u64>, now_ns: u64) {
        if seq > 0 && known.is_some_and(|known| known < epoch) {
            self.recover_down(index, epoch, (0, seq - 1), now_ns);
        }
    }

    /// These passed while no agent was there. Those that the ring still holds are taken from it.
    pub(super) fn recover_down(&mut self, index: usize, epoch: u64, (first, last): (u64, u64), now_ns: u64) {
        let oldest = self.ports[index].span().map_or(u64::MAX, |(oldest, _)| oldest);
        if first < oldest {
            self.note_down(index, epoch, first, last.min(oldest - 1));
        }
        self.recover(index, (first, last), true, now_ns);
    }

    /// A frame has come: it counts now, or waits where a checkpoint holds its stream.
    #[inline]
    pub(super) fn observe_or_wait(&mut self, index: usize, seen: Observed, now_ns: u64) {
        if self.cut.is_under_way {
            return self.frame_during_cut(index, seen, now_ns);
        }
        self.observe_frame(index, seen, now_ns);
    }

    /// The epoch that the join knows one of the regions as, of which something has come.
    #[inline]
    pub(super) fn life_of(&mut self, index: usize, epoch: u64) -> u64 {
        match self.ports[index].known_life(epoch) {
            Some(life) => life,
            None => self.learn_life(index, epoch),
        }
    }

    #[cold]
    fn learn_life(&mut self, index: usize, epoch: u64) -> u64 {
        let life = self.ports[index].learn_life(epoch);
        if life != epoch && self.stage.has_ended_in(index, life) {
            self.stage.reopen(index);
        }
        life
    }

    /// Whether the source of a stream that had ended has come back to go on, and nothing was heard of it yet: an end of
    /// which an earlier life of this agent was told is none then.
    pub(super) fn has_returned(&mut self) -> bool {
        let mut has_returned = false;
        for (index, port) in self.ports.iter().enumerate() {
            let newest = port.epoch().and(port.newest_epoch());
            let Some(epoch) = newest.filter(|epoch| port.ended != Some(*epoch)) else { continue };
            let life = port.likely_life_of(epoch);
            if life != epoch && self.stage.has_ended_in(index, life) {
                self.stage.reopen(index);
                has_returned = true;
            }
        }
        has_returned
    }

    /// A frame counts from now on.
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

    /// The slot's own time, null where it need not be read now; or why the frame cannot be read. A frame that is to wait in
    /// memory of our own is copied at once, so that nothing it waits for can cost it.
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
                // It waits in its ring.
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

    /// The epoch is over, at this place of the stream. What it sent unheard passed while this agent was down.
    pub(super) fn note_end_now(&mut self, index: usize, epoch: u64, after: Option<u64>, now_ns: u64) {
        let port = &mut self.ports[index];
        port.ended = port.present_epoch().filter(|own| port.likely_life_of(*own) == epoch);
        let unheard = after.and_then(|after| match self.stage.known_epoch(index) {
            // Nothing of it was heard at all, and it followed one that was.
            Some(known) if known < epoch && port.next_heard(epoch).is_none() => Some((0, after)),
            _ => port.unheard_until(epoch, after),
        });
        if let Some((first, last)) = unheard {
            port.counters.missed += last - first + 1;
            if self.ports[index].has_heard_nothing() {
                self.note_down(index, epoch, first, last);
            }
            self.stage.missed(index, epoch, first, last, now_ns);
        }
        self.stage.ended(index, epoch, now_ns);
    }

    /// Sequences were left out: they may lie in the ring.
    #[cold]
    fn on_gap(&mut self, index: usize, epoch: u64, seq: u64, frames: u64, images_lost: u64, now_ns: u64) {
        let port = &self.ports[index];
        let left_out = (seq - frames, seq - 1);
        if port.is_first() {
            return self.recover_down(index, epoch, left_out, now_ns);
        }
        let was_away = port.was_away || images_lost != port.images_lost;
        self.recover(index, left_out, was_away, now_ns);
    }

    /// These passed while no agent was there; what an earlier life has decided of them is none of it.
    fn note_down(&mut self, index: usize, epoch: u64, first: u64, last: u64) {
        let decided = self.stage.decided(index).filter(|decided| decided.0 == epoch);
        let first = decided.map_or(first, |(_, seq)| first.max(seq.saturating_add(1)));
        if first <= last {
            self.gaps[index] = Some((epoch, first, last));
        }
    }

    /// Barriers, watermarks and signals stand between the descriptors of their stream.
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
            // A barrier of a life that is over, or of one that cannot be read yet, cuts nothing here.
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
                // Whoever came, went or began anew before it is known as that, or it would be given up for their sake.
                self.note_switches(now_ns);
                signal.epoch = self.life_of(port, signal.epoch);
                if signal.is_end() {
                    self.recover_until(port, signal.epoch, signal.after, now_ns);
                }
                self.stand(port, Standing::Signal(signal), message, now_ns);
            }
        }
    }

    /// An end closes the epoch that it names, unless its source has come back since: a log may be joined where another
    /// reader was that has died. Anything else of a life that is over is nobody's.
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

/// A frame as its descriptor announces it, of an epoch as the join knows it.
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
