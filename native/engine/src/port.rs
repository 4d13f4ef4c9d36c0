// SPDX-License-Identifier: Apache-2.0
//! One input stream of a join, as the engine reads it: the mappings of its epochs, and the order of its descriptors.
//!
//! The ring is the truth. A descriptor only says when to look, an announce only which mapping comes next. A mapping stays
//! until the stage waits for no frame in it, whatever became of the lease under which it was made.

// A mapping goes from the client's thread to the engine and back; what moves is its pointer.
#![allow(clippy::vec_box)]

use std::collections::VecDeque;

use framegate_core::pool::arrivals::{Arrivals, Order};
use framegate_core::pool::reader::{Belief, FrameRef, Holding};
use framegate_core::pool::tensor::Tensor;
use framegate_intake::facts::PortCounters;
use framegate_intake::mapping::Mapping;
use framegate_join::stage::Cause;

use super::early::{Early, EarlyOnes};
use super::ring::Ring;

/// Mappings of one stream.
const RINGS_MAX: usize = 3;

/// What a descriptor of some epoch is to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A frame of the epoch that is read.
    Present,
    /// A frame of an epoch that is mapped and not read yet: it is its turn now.
    Ahead,
    /// A frame of the epoch before the present one, as which the join knows that epoch.
    Retired(u64),
    /// Nothing that counts now.
    Nothing,
}

/// Where reading goes on after a lap.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Lap {
    /// Frames below it were overwritten.
    pub(crate) gone_below: u64,
    /// Frames below it are passed over.
    pub(crate) resume_at: u64,
}

impl Lap {
    #[inline]
    fn passes_over(self, seq: u64) -> Option<Cause> {
        if seq >= self.resume_at {
            return None;
        }
        Some(if seq < self.gone_below { Cause::Overwritten } else { Cause::Aged })
    }
}

/// A stream.
pub(crate) struct Port {
    /// Of the epoch whose frames count.
    present: Option<Ring>,
    /// Of the epochs that were announced after it, in their order. Nothing of them was taken yet.
    ahead: VecDeque<Ring>,
    /// Of the epoch before the present one.
    retired: Option<Ring>,
    early: EarlyOnes,
    arrivals: Arrivals,
    /// Whether the lease is there under which the newest regions were mapped.
    is_attached: bool,
    /// Whether nothing more is expected of the present epoch: everything that its ring held was taken.
    is_closed: bool,
    /// Whether a commit word of the present ring went back since it was mapped.
    has_gone_back: bool,
    /// Whether the frame that was read last lies in the retired ring.
    has_read_retired: bool,
    /// The newest epoch that was announced, and whether it has a producer.
    announced: Option<(u64, bool)>,
    /// No epoch up to this one is waited for any more.
    floor: Option<u64>,
    /// Of the ends that an earlier life of this agent finished by, the newest epoch.
    pub(crate) spent: Option<u64>,
    /// An end that a mark beside the regions tells of: its epoch, and the last sequence.
    pub(crate) mark: Option<(u64, Option<u64>)>,
    /// The epoch of the regions whose end was heard by this agent.
    pub(crate) ended: Option<u64>,
    /// How many images its subscriptions had lost when its last descriptor came.
    pub(crate) images_lost: u64,
    /// Whether there was a time without regions or subscriptions since its last descriptor: the lease was lost, or the
    /// media driver. What was announced then passed unheard.
    pub(crate) was_away: bool,
    lap: Lap,
    pub(crate) counters: PortCounters,
    pub(crate) has_news: bool,
    /// Whether the present epoch has begun or was closed since this was looked at last.
    pub(crate) has_switched: bool,
}

impl Port {
    /// `resumed`: epoch and sequence of the last frame that an earlier life of this agent decided.
    pub(crate) fn new(resumed: Option<(u64, u64)>) -> Self {
        Self {
            present: None,
            ahead: VecDeque::with_capacity(RINGS_MAX + 1),
            retired: None,
            early: EarlyOnes::default(),
            arrivals: Arrivals::new(resumed),
            is_attached: false,
            is_closed: false,
            has_gone_back: false,
            has_read_retired: false,
            announced: None,
            floor: None,
            spent: None,
            mark: None,
            ended: None,
            images_lost: 0,
            was_away: false,
            lap: Lap::default(),
            counters: PortCounters::default(),
            has_news: true,
            has_switched: false,
        }
    }

    // --- Which epochs there are ----------------------------------------------------------------------------

    /// The epoch that is read, or will be; None while there is no lease.
    pub(crate) fn epoch(&self) -> Option<u64> {
        if !self.is_attached {
            return None;
        }
        self.present_epoch().or_else(|| self.ahead.front().map(|ring| ring.epoch()))
    }

    /// How deep the ring is that is read; 0: none is.
    pub(crate) fn nslots(&self) -> u32 {
        self.present.as_ref().map_or(0, |ring| ring.nslots())
    }

    pub(crate) fn present_epoch(&self) -> Option<u64> {
        self.present.as_ref().map(|ring| ring.epoch())
    }

    /// The epoch that somebody writes into, as far as is known.
    pub(crate) fn written_epoch(&self) -> Option<u64> {
        if !self.is_attached {
            return None;
        }
        let open = self.present_epoch().filter(|_| !self.is_closed);
        open.or_else(|| self.newest_epoch().filter(|epoch| self.announced != Some((*epoch, false))))
    }

    /// The newest epoch that is mapped.
    pub(crate) fn newest_epoch(&self) -> Option<u64> {
        self.ahead.back().map(|ring| ring.epoch()).or_else(|| self.present_epoch())
    }

    /// The driver announced an epoch; whether it has a producer.
    pub(crate) fn note_announced(&mut self, epoch: u64, has_producer: bool) {
        self.announced = Some((epoch, has_producer));
    }

    /// Regions of an epoch were mapped; false where a later one is known. What is not needed any more goes to `unneeded`.
    pub(crate) fn attach(&mut self, mapping: Box<Mapping>, unneeded: &mut Vec<Box<Mapping>>) -> bool {
        self.has_switched |= !std::mem::replace(&mut self.is_attached, true);
        self.has_news = true;
        let epoch = mapping.epoch();
        if std::mem::take(&mut self.has_gone_back) {
            // Another writer's sequences are not those of the one that was heard.
            self.arrivals = Arrivals::default();
        }
        let own = self.present.iter_mut().chain(&mut self.ahead).find(|own| own.epoch() == epoch);
        if let Some(own) = own {
            unneeded.push(own.remap(mapping));
            return true;
        }
        if !self.is_to_come(epoch) {
            unneeded.push(mapping);
            return false;
        }
        let is_watched = self.floor.is_some() || self.newest_epoch().is_some();
        // Nobody writes into the one before any more, and nobody has.
        if self.ahead.back().is_some_and(|before| before.span().is_none()) {
            unneeded.extend(self.ahead.pop_back().map(Ring::into_mapping));
        }
        self.ahead.push_back(Ring::new(mapping, is_watched));
        true
    }

    /// The lease is gone. What was mapped stays, and is read with more care.
    pub(crate) fn detach(&mut self) {
        (self.is_attached, self.was_away, self.has_news) = (false, true, true);
    }

    /// Whether there are more mappings than a stream may have.
    pub(crate) fn is_over_full(&self) -> bool {
        usize::from(self.present.is_some()) + usize::from(self.retired.is_some()) + self.ahead.len() > RINGS_MAX
    }

    /// Whether something waits until what the log has of the present epoch was read.
    #[inline]
    pub(crate) fn awaits_drain(&self) -> bool {
        self.mark.is_some() || (self.is_attached && !self.ahead.is_empty())
    }

    /// The newest epoch ahead that has its turn when the log was read to its end: its producer is known, something of it
    /// was heard before it was mapped, or its ring holds frames though another epoch has followed it.
    pub(crate) fn ripe(&mut self) -> Option<u64> {
        let newest = self.ahead.back().map(|ring| ring.epoch());
        let is_ripe = |ring: &mut Ring| {
            let epoch = ring.epoch();
            let is_early = self.early.of(epoch).and_then(|early| early.first);
            self.announced == Some((epoch, true))
                || is_early.is_some_and(|seq| ring.believe(seq) == Belief::True)
                || (newest != Some(epoch) && ring.span().is_some())
        };
        self.ahead.iter_mut().rev().find_map(|ring| is_ripe(ring).then(|| ring.epoch()))
    }

    pub(crate) fn has_ahead(&self) -> bool {
        self.is_attached && !self.ahead.is_empty()
    }

    /// Whether that epoch is later than every one that is mapped.
    pub(crate) fn is_to_come(&self, epoch: u64) -> bool {
        self.floor.max(self.newest_epoch()).is_none_or(|newest| epoch > newest)
    }

    pub(crate) fn is_ahead(&self, epoch: u64) -> bool {
        self.ahead.iter().any(|ring| ring.epoch() == epoch)
    }

    /// Whether every frame of that epoch was sent while this agent watched the stream.
    pub(crate) fn is_watched(&self, epoch: u64) -> bool {
        self.present.iter().chain(&self.ahead).any(|ring| ring.epoch() == epoch && ring.is_watched)
    }

    /// The next epoch is the present one from now on; False when there is none.
    pub(crate) fn step(&mut self, unneeded: &mut Vec<Box<Mapping>>) -> bool {
        let Some(next) = self.ahead.pop_front() else { return false };
        self.floor = Some(next.epoch());
        if let Some(mut before) = self.present.replace(next) {
            before.taken_until = self.arrivals.next_heard(before.life()).unwrap_or(0);
            unneeded.extend(self.retired.replace(before).map(Ring::into_mapping));
        }
        self.lap = Lap::default();
        (self.is_closed, self.has_news, self.has_switched) = (false, true, true);
        true
    }

    /// Nothing more is expected of the present epoch; False when that is known.
    pub(crate) fn close(&mut self) -> bool {
        if self.present.is_none() || self.is_closed {
            return false;
        }
        (self.is_closed, self.has_switched) = (true, true);
        true
    }

    /// Lets go of mappings of which nothing is needed; `needs` is asked for an epoch and the sequence after the last one.
    pub(crate) fn release(&mut self, needs: impl Fn(u64, u64) -> bool, unneeded: &mut Vec<Box<Mapping>>) {
        if self.retired.as_ref().is_some_and(|ring| !needs(ring.life(), ring.taken_until)) {
            unneeded.extend(self.retired.take().map(Ring::into_mapping));
        }
        if self.is_closed && self.present.as_ref().is_some_and(|ring| !needs(ring.life(), u64::MAX)) {
            unneeded.extend(self.present.take().map(Ring::into_mapping));
        }
        let over = self.present.iter().filter(|_| self.is_closed || !self.is_attached).chain(&self.retired);
        let (epochs, bytes) = over.fold((0, 0), |sum, ring| (sum.0 + 1, sum.1 + ring.bytes()));
        self.has_news |= self.counters.retired_epochs != epochs;
        (self.counters.retired_epochs, self.counters.retired_bytes) = (epochs, bytes);
    }

    // --- As which epoch the join knows one of the regions: its source may go on where an earlier one was -----

    /// The life of an epoch, if it is known.
    #[inline]
    pub(crate) fn known_life(&self, epoch: u64) -> Option<u64> {
        self.present.as_ref().filter(|ring| ring.epoch() == epoch)?.life
    }

    /// The likely life of an epoch before anything of it came: its source may still be about to say it.
    pub(crate) fn likely_life_of(&self, epoch: u64) -> u64 {
        self.known_life(epoch).unwrap_or_else(|| self.find_life(epoch))
    }

    /// Finds it out, now that something of it has come, so that a mark which its source made before is there. An epoch
    /// that began under this agent's eyes is known from its first frame on.
    #[cold]
    pub(crate) fn learn_life(&mut self, epoch: u64) -> u64 {
        let life = self.find_life(epoch);
        let early = self.early.of(epoch).and_then(|early| early.first);
        // What it sent before something of it was heard passed while nobody listened.
        let has_begun_unheard = self.was_away && self.arrivals.epoch().is_some_and(|known| known < epoch);
        if let Some(present) = self.present.as_mut().filter(|ring| ring.epoch() == epoch) {
            present.life = Some(life);
            let first = match (has_begun_unheard, present.is_watched) {
                (true, _) => Some(present.first()),
                (false, true) => early.or_else(|| present.oldest_whole()),
                (false, false) => early,
            };
            if let (Some(first), true) = (first, life == epoch && self.arrivals.epoch() != Some(epoch)) {
                self.arrivals.begin(epoch, first);
            }
        }
        life
    }

    fn find_life(&self, epoch: u64) -> u64 {
        let ring = self.present.iter().chain(&self.ahead).find(|ring| ring.epoch() == epoch);
        let known = self.arrivals.epoch().filter(|known| *known < epoch);
        known.filter(|_| ring.is_some_and(|ring| ring.is_continued())).unwrap_or(epoch)
    }

    /// Whether an end of that epoch means nothing any more: another one is later, and either goes on where the one
    /// before it was, or nothing is known of that epoch.
    pub(crate) fn is_past(&self, epoch: u64) -> bool {
        let newest = self.newest_epoch().or(self.floor);
        let Some(later) = newest.filter(|newest| epoch < *newest) else { return false };
        self.arrivals.epoch() != Some(epoch) || self.likely_life_of(later) != later
    }

    // --- What is heard -------------------------------------------------------------------------------------

    /// What a descriptor is: the commit word of its slot is believed, and nothing else changes for one that is false.
    #[inline]
    pub(crate) fn judge(&mut self, epoch: u64, seq: u64) -> Heard {
        match &mut self.present {
            Some(ring) if ring.epoch() == epoch && self.is_attached => match ring.believe(seq) {
                Belief::True => Heard::Present,
                belief => self.disbelieve(belief),
            },
            _ => self.judge_other(epoch, seq),
        }
    }

    #[cold]
    fn judge_other(&mut self, epoch: u64, seq: u64) -> Heard {
        self.has_news = true;
        if let Some(ring) = self.retired.as_mut().filter(|ring| ring.epoch() == epoch) {
            return match ring.believe(seq) {
                Belief::True if seq < ring.taken_until => Heard::Nothing,
                Belief::True => {
                    ring.taken_until = seq.saturating_add(1);
                    Heard::Retired(ring.life())
                }
                belief => self.disbelieve(belief),
            };
        }
        if self.is_attached
            && let Some(ring) = self.ahead.iter_mut().find(|ring| ring.epoch() == epoch)
        {
            return match ring.believe(seq) {
                Belief::True => Heard::Ahead,
                belief => self.disbelieve(belief),
            };
        }
        if self.present_epoch() == Some(epoch) || self.floor.is_none_or(|floor| epoch > floor) {
            self.early.note_frame(epoch, seq);
        }
        let counter = if self.is_attached { &mut self.counters.other_epoch } else { &mut self.counters.unmapped };
        *counter += 1;
        Heard::Nothing
    }

    #[cold]
    fn disbelieve(&mut self, belief: Belief) -> Heard {
        self.has_news = true;
        let is_second_writer = belief == Belief::WentBack;
        self.has_gone_back |= is_second_writer;
        self.counters.regressions += u64::from(is_second_writer);
        self.counters.false_descriptors += u64::from(!is_second_writer);
        Heard::Nothing
    }

    /// Whether anything but a frame of that epoch counts now; `Ahead`: when it was made the present one.
    pub(crate) fn judge_message(&mut self, epoch: u64) -> Heard {
        if self.is_attached && self.present_epoch() == Some(epoch) {
            return Heard::Present;
        }
        if self.is_attached && self.is_ahead(epoch) {
            return Heard::Ahead;
        }
        let counter = if self.is_attached { &mut self.counters.other_epoch } else { &mut self.counters.unmapped };
        *counter += 1;
        Heard::Nothing
    }

    /// Takes a frame of the present epoch.
    /// `is_anew`: the log was left and joined again before its descriptor, perhaps at a place that had been read.
    #[inline]
    pub(crate) fn take(&mut self, epoch: u64, seq: u64, is_anew: bool) -> Order {
        (self.has_news, self.is_closed) = (true, false);
        let order = self.arrivals.take(epoch, seq, is_anew);
        self.counters.frames += u64::from(matches!(order, Order::Next | Order::Gap(_)));
        order
    }

    pub(crate) fn last_seq(&self) -> Option<u64> {
        let epoch = self.epoch()?;
        self.arrivals.last_seq(self.known_life(epoch).unwrap_or(epoch))
    }

    /// The epoch of the last frame that was taken, by this agent or in an earlier life of it.
    pub(crate) fn known_before(&self) -> Option<u64> {
        self.arrivals.epoch()
    }

    /// Whether the last descriptor was the first that was heard since this agent began.
    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        self.counters.frames == 1
    }

    /// Whether this agent has heard no frame of it since it began.
    pub(crate) fn has_heard_nothing(&self) -> bool {
        self.counters.frames == 0
    }

    /// Whether an earlier life of this agent went on to a later epoch, of which nothing has come in this one yet.
    pub(crate) fn is_before_resumed(&self, epoch: u64) -> bool {
        self.has_heard_nothing() && self.arrivals.epoch().is_some_and(|resumed| epoch < resumed)
    }

    /// What an earlier life heard, known only after this port was made. Nothing has been heard since.
    pub(crate) fn resume(&mut self, heard: Option<(u64, u64)>) {
        self.arrivals = Arrivals::new(heard);
    }

    /// Frames that were heard before their epoch was mapped, and its end.
    pub(crate) fn take_early(&mut self, epoch: u64) -> Option<Early> {
        self.early.take(epoch)
    }

    pub(crate) fn note_early_end(&mut self, epoch: u64, after: Option<u64>) {
        if self.floor.is_none_or(|floor| epoch > floor) {
            self.early.note_end(epoch, after);
        }
    }

    pub(crate) fn is_early(&self, epoch: u64) -> bool {
        self.early.of(epoch).is_some()
    }

    // --- What no descriptor brings -------------------------------------------------------------------------

    /// The oldest sequence that the present ring can still hold, and the newest one that is whole.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        self.present.as_ref()?.span()
    }

    /// What the slot of that frame holds in the present ring.
    pub(crate) fn holds(&self, seq: u64) -> Holding {
        self.present.as_ref().map_or(Holding::Older, |ring| ring.holds(seq))
    }

    /// The sequence that comes next in an epoch of which something was heard.
    pub(crate) fn next_heard(&self, life: u64) -> Option<u64> {
        self.arrivals.next_heard(life)
    }

    /// The sequence that comes next in an epoch, as this agent heard it or an earlier life of it did.
    pub(crate) fn next_known(&self, life: u64) -> Option<u64> {
        self.arrivals.next_known(life)
    }

    /// What is before that sequence is known.
    pub(crate) fn pass(&mut self, life: u64, next: u64) {
        self.has_news = true;
        self.arrivals.pass(life, next);
    }

    /// The epoch is over after that sequence: what lies between the last one that was taken and it, and will not come.
    pub(crate) fn unheard_until(&mut self, epoch: u64, after: u64) -> Option<(u64, u64)> {
        self.arrivals.unheard_until(epoch, after)
    }

    // --- What is read --------------------------------------------------------------------------------------

    /// What the frame that was read last is.
    #[inline]
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        let ring = if self.has_read_retired { &self.retired } else { &self.present };
        ring.as_ref().map(|ring| ring.tensor())
    }

    /// One attempt at a frame of an epoch as the join knows it; else why it cannot be read.
    #[inline]
    pub(crate) fn read(&mut self, life: u64, seq: u64) -> Result<FrameRef, Cause> {
        let found = match &mut self.present {
            Some(ring) if ring.life() == life => {
                self.has_read_retired = false;
                if let Some(cause) = self.lap.passes_over(seq) {
                    Err(cause)
                } else if self.is_attached && !self.is_closed {
                    ring.read(seq)
                } else {
                    ring.read_unvouched(seq)
                }
            }
            _ => Err(Cause::Epoch),
        };
        match found {
            Ok(frame) => Ok(frame),
            Err(cause) => self.read_retired(life, seq, cause),
        }
    }

    /// A source that goes on has its sequences in two rings.
    #[cold]
    fn read_retired(&mut self, life: u64, seq: u64, cause: Cause) -> Result<FrameRef, Cause> {
        let found = match &mut self.retired {
            Some(ring) if ring.life() == life && seq < ring.taken_until => ring.read_unvouched(seq),
            _ => Err(cause),
        };
        self.has_read_retired = found.is_ok();
        self.counters.late_drops += u64::from(matches!(found, Err(Cause::Overwritten)));
        found
    }

    /// Why a frame that has just been announced is not looked at, if it is not.
    #[inline]
    pub(crate) fn passes_over(&self, life: u64, seq: u64) -> Option<Cause> {
        let cause = self.lap.passes_over(seq)?;
        self.present.as_ref().filter(|ring| ring.life() == life).map(|_| cause)
    }

    /// A frame was overwritten while it was copied.
    #[cold]
    pub(crate) fn on_torn(&mut self) {
        self.counters.late_drops += 1;
    }

    /// A frame of that epoch was overwritten before it was joined. Reading goes on half a ring behind the newest frame: what is
    /// older would be overwritten under its copy as well. Where it goes on, if that is further than it was.
    #[cold]
    pub(crate) fn catch_up(&mut self, life: u64) -> Option<Lap> {
        let ring = self.present.as_ref().filter(|ring| ring.life() == life && self.is_attached && !self.is_closed)?;
        let (gone_below, newest) = ring.span()?;
        let resume_at = newest.saturating_add(1).saturating_sub(u64::from(ring.nslots() / 2));
        if resume_at <= self.lap.resume_at {
            return None;
        }
        self.lap = Lap { gone_below, resume_at };
        Some(self.lap)
    }
}
