// SPDX-License-Identifier: Apache-2.0
//! One input stream of a join, as the engine reads it: the mappings of its epochs, and the order of its descriptors.
//!
//! The ring is the source of truth. A descriptor only says when to look at a slot, and an announce which mapping comes
//! next. A port keeps a mapping until the stage waits for no frame in it, even if the lease it was made under has
//! ended.

// A mapping moves between the client's thread and the engine; boxed, only its pointer moves.
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

/// Most mappings that one stream may have.
const RINGS_MAX: usize = 3;

/// What a descriptor of any epoch means to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A frame of the present epoch, which is being read.
    Present,
    /// A frame of an epoch that is mapped but not read yet: the port must advance to that epoch.
    Ahead,
    /// A frame of the epoch before the present one; the value is its join epoch.
    Retired(u64),
    /// Nothing that counts now.
    Nothing,
}

/// Where reading goes on after a lap.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Lap {
    /// Frames below this sequence were overwritten.
    pub(crate) gone_below: u64,
    /// Frames below this sequence are skipped.
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

/// One input stream, with the mappings of its epochs.
pub(crate) struct Port {
    /// The ring of the epoch whose frames count now.
    present: Option<Ring>,
    /// Rings of epochs announced after the present one, oldest first. Nothing of them was taken yet.
    ahead: VecDeque<Ring>,
    /// The ring of the epoch before the present one.
    retired: Option<Ring>,
    early: EarlyOnes,
    arrivals: Arrivals,
    /// Whether the lease holds under which the newest regions were mapped.
    is_attached: bool,
    /// Whether the present epoch is closed: everything its ring held was taken, and nothing more is expected.
    is_closed: bool,
    /// Whether a commit word of the present ring went back since it was mapped.
    has_gone_back: bool,
    /// Whether the most recent read was from the retired ring.
    has_read_retired: bool,
    /// The newest epoch that the driver announced, and whether it has a producer.
    announced: Option<(u64, bool)>,
    /// The newest epoch that was made present. Older epochs are not mapped any more.
    floor: Option<u64>,
    /// The newest epoch whose end already finished an earlier run of this agent.
    pub(crate) spent: Option<u64>,
    /// The end that a mark beside the regions names: its epoch, and the final sequence.
    pub(crate) mark: Option<(u64, Option<u64>)>,
    /// The epoch of the regions whose end this agent heard.
    pub(crate) ended: Option<u64>,
    /// How many images its subscriptions had lost when its newest descriptor came.
    pub(crate) images_lost: u64,
    /// Whether the lease or the media driver was lost at some time since the newest descriptor. The agent heard nothing
    /// that was announced in that time.
    pub(crate) was_away: bool,
    lap: Lap,
    pub(crate) counters: PortCounters,
    pub(crate) has_news: bool,
    /// Whether the present epoch began or was closed since this flag was taken.
    pub(crate) has_switched: bool,
}

impl Port {
    /// Makes a port. `resumed`: epoch and sequence of the newest frame that an earlier run of this agent decided.
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

    /// The epoch that is read now, or next; None while there is no lease.
    pub(crate) fn epoch(&self) -> Option<u64> {
        if !self.is_attached {
            return None;
        }
        self.present_epoch().or_else(|| self.ahead.front().map(|ring| ring.epoch()))
    }

    /// How many slots the present ring has; 0 without one.
    pub(crate) fn nslots(&self) -> u32 {
        self.present.as_ref().map_or(0, |ring| ring.nslots())
    }

    pub(crate) fn present_epoch(&self) -> Option<u64> {
        self.present.as_ref().map(|ring| ring.epoch())
    }

    /// The epoch that a producer writes into, as far as is known.
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

    /// Notes that the driver announced an epoch, and whether it has a producer.
    pub(crate) fn note_announced(&mut self, epoch: u64, has_producer: bool) {
        self.announced = Some((epoch, has_producer));
    }

    /// Takes a mapping of an epoch; false if a later epoch is known. Mappings that it replaces go to `unneeded`.
    pub(crate) fn attach(&mut self, mapping: Box<Mapping>, unneeded: &mut Vec<Box<Mapping>>) -> bool {
        self.has_switched |= !std::mem::replace(&mut self.is_attached, true);
        self.has_news = true;
        let epoch = mapping.epoch();
        if std::mem::take(&mut self.has_gone_back) {
            // The sequences of another writer do not continue those that were heard.
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
        // Nobody wrote into the epoch before this one, and nobody will.
        if self.ahead.back().is_some_and(|before| before.span().is_none()) {
            unneeded.extend(self.ahead.pop_back().map(Ring::into_mapping));
        }
        self.ahead.push_back(Ring::new(mapping, is_watched));
        true
    }

    /// Notes that the lease is gone. Mapped rings stay, and are read with more care.
    pub(crate) fn detach(&mut self) {
        (self.is_attached, self.was_away, self.has_news) = (false, true, true);
    }

    /// Whether the stream has more than `RINGS_MAX` mappings.
    pub(crate) fn is_over_full(&self) -> bool {
        usize::from(self.present.is_some()) + usize::from(self.retired.is_some()) + self.ahead.len() > RINGS_MAX
    }

    /// Whether a mark or a newer epoch waits until the log was read to its end.
    #[inline]
    pub(crate) fn awaits_drain(&self) -> bool {
        self.mark.is_some() || (self.is_attached && !self.ahead.is_empty())
    }

    /// The newest mapped epoch that can become the present one once the log was read to its end. Either its producer is
    /// known, or its ring confirms a frame heard before it was mapped, or its ring holds frames and a later epoch
    /// exists.
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

    /// Whether an epoch is later than every mapped one.
    pub(crate) fn is_to_come(&self, epoch: u64) -> bool {
        self.floor.max(self.newest_epoch()).is_none_or(|newest| epoch > newest)
    }

    pub(crate) fn is_ahead(&self, epoch: u64) -> bool {
        self.ahead.iter().any(|ring| ring.epoch() == epoch)
    }

    /// Whether this agent watched the stream when the epoch began, so that all its frames are this agent's to join.
    pub(crate) fn is_watched(&self, epoch: u64) -> bool {
        self.present.iter().chain(&self.ahead).any(|ring| ring.epoch() == epoch && ring.is_watched)
    }

    /// Makes the next mapped epoch the present one; false if there is none.
    pub(crate) fn step(&mut self, unneeded: &mut Vec<Box<Mapping>>) -> bool {
        let Some(next) = self.ahead.pop_front() else { return false };
        self.floor = Some(next.epoch());
        if let Some(mut before) = self.present.replace(next) {
            before.taken_until = self.arrivals.next_heard(before.join_epoch()).unwrap_or(0);
            unneeded.extend(self.retired.replace(before).map(Ring::into_mapping));
        }
        self.lap = Lap::default();
        (self.is_closed, self.has_news, self.has_switched) = (false, true, true);
        true
    }

    /// Closes the present epoch: nothing more is expected of it. False if it was closed before.
    pub(crate) fn close(&mut self) -> bool {
        if self.present.is_none() || self.is_closed {
            return false;
        }
        (self.is_closed, self.has_switched) = (true, true);
        true
    }

    /// Releases mappings that hold nothing the stage needs. `needs` gets an epoch and the sequence after its newest
    /// frame.
    pub(crate) fn release(&mut self, needs: impl Fn(u64, u64) -> bool, unneeded: &mut Vec<Box<Mapping>>) {
        if self.retired.as_ref().is_some_and(|ring| !needs(ring.join_epoch(), ring.taken_until)) {
            unneeded.extend(self.retired.take().map(Ring::into_mapping));
        }
        if self.is_closed && self.present.as_ref().is_some_and(|ring| !needs(ring.join_epoch(), u64::MAX)) {
            unneeded.extend(self.present.take().map(Ring::into_mapping));
        }
        let over = self.present.iter().filter(|_| self.is_closed || !self.is_attached).chain(&self.retired);
        let (epochs, bytes) = over.fold((0, 0), |sum, ring| (sum.0 + 1, sum.1 + ring.bytes()));
        self.has_news |= self.counters.retired_epochs != epochs;
        (self.counters.retired_epochs, self.counters.retired_bytes) = (epochs, bytes);
    }

    // --- Join epochs: a source that continues its sequences after a restart keeps its epoch for the join ---

    /// The join epoch of an epoch of the regions, if it was learned.
    #[inline]
    pub(crate) fn known_join_epoch(&self, epoch: u64) -> Option<u64> {
        self.present.as_ref().filter(|ring| ring.epoch() == epoch)?.join_epoch
    }

    /// The join epoch of an epoch of which nothing came yet. A guess: the source may still write its mark of
    /// continuing.
    pub(crate) fn likely_join_epoch(&self, epoch: u64) -> u64 {
        self.known_join_epoch(epoch).unwrap_or_else(|| self.find_join_epoch(epoch))
    }

    /// Learns the join epoch when something of the epoch has come, because a source writes its mark of continuing
    /// before its first frame. For an epoch that began while this agent watched, it also notes the first sequence.
    #[cold]
    pub(crate) fn learn_join_epoch(&mut self, epoch: u64) -> u64 {
        let join_epoch = self.find_join_epoch(epoch);
        let early = self.early.of(epoch).and_then(|early| early.first);
        // Nobody listened to what the epoch sent before its first heard frame.
        let has_begun_unheard = self.was_away && self.arrivals.epoch().is_some_and(|known| known < epoch);
        if let Some(present) = self.present.as_mut().filter(|ring| ring.epoch() == epoch) {
            present.join_epoch = Some(join_epoch);
            let first = match (has_begun_unheard, present.is_watched) {
                (true, _) => Some(present.first()),
                (false, true) => early.or_else(|| present.oldest_whole()),
                (false, false) => early,
            };
            if let (Some(first), true) = (first, join_epoch == epoch && self.arrivals.epoch() != Some(epoch)) {
                self.arrivals.begin(epoch, first);
            }
        }
        join_epoch
    }

    fn find_join_epoch(&self, epoch: u64) -> u64 {
        let ring = self.present.iter().chain(&self.ahead).find(|ring| ring.epoch() == epoch);
        let known = self.arrivals.epoch().filter(|known| *known < epoch);
        known.filter(|_| ring.is_some_and(|ring| ring.is_continued())).unwrap_or(epoch)
    }

    /// Whether an end of this epoch has lost its meaning: a later epoch exists, and either it continues an earlier one,
    /// or nothing of this epoch was heard.
    pub(crate) fn is_past(&self, epoch: u64) -> bool {
        let newest = self.newest_epoch().or(self.floor);
        let Some(later) = newest.filter(|newest| epoch < *newest) else { return false };
        self.arrivals.epoch() != Some(epoch) || self.likely_join_epoch(later) != later
    }

    // --- What is heard -------------------------------------------------------------------------------------

    /// Says what a descriptor means. The commit word of its slot must confirm it; a false descriptor is only counted.
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
                    Heard::Retired(ring.join_epoch())
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

    /// Whether a message of that epoch, other than a frame, counts now. `Ahead`: once that epoch is made present.
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

    /// Takes a frame of the present epoch, and says whether it is the next one.
    /// `is_anew`: the agent left and rejoined the log before this descriptor, perhaps at a place it had read before.
    #[inline]
    pub(crate) fn take(&mut self, epoch: u64, seq: u64, is_anew: bool) -> Order {
        (self.has_news, self.is_closed) = (true, false);
        let order = self.arrivals.take(epoch, seq, is_anew);
        self.counters.frames += u64::from(matches!(order, Order::Next | Order::Gap(_)));
        order
    }

    pub(crate) fn last_seq(&self) -> Option<u64> {
        let epoch = self.epoch()?;
        self.arrivals.last_seq(self.known_join_epoch(epoch).unwrap_or(epoch))
    }

    /// The join epoch of the newest frame that this agent took, or that an earlier run of it decided.
    pub(crate) fn known_before(&self) -> Option<u64> {
        self.arrivals.epoch()
    }

    /// Whether the newest frame is the first one heard since this agent began.
    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        self.counters.frames == 1
    }

    /// Whether this agent has heard no frame of this stream since it began.
    pub(crate) fn has_heard_nothing(&self) -> bool {
        self.counters.frames == 0
    }

    /// Whether an earlier run of this agent had reached a later epoch, and this run has heard nothing yet.
    pub(crate) fn is_before_resumed(&self, epoch: u64) -> bool {
        self.has_heard_nothing() && self.arrivals.epoch().is_some_and(|resumed| epoch < resumed)
    }

    /// Sets how far an earlier run heard, where that is known only after this port was made. Nothing was heard in this
    /// run yet.
    pub(crate) fn resume(&mut self, heard: Option<(u64, u64)>) {
        self.arrivals = Arrivals::new(heard);
    }

    /// Takes what was heard of an epoch before it was mapped: its frames, and its end.
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

    /// What the present ring holds in the slot of that sequence.
    pub(crate) fn holds(&self, seq: u64) -> Holding {
        self.present.as_ref().map_or(Holding::Older, |ring| ring.holds(seq))
    }

    /// The sequence that comes next in a join epoch of which this agent heard something.
    pub(crate) fn next_heard(&self, join_epoch: u64) -> Option<u64> {
        self.arrivals.next_heard(join_epoch)
    }

    /// The sequence that comes next in a join epoch, as this agent or an earlier run of it knows it.
    pub(crate) fn next_known(&self, join_epoch: u64) -> Option<u64> {
        self.arrivals.next_known(join_epoch)
    }

    /// Notes that every sequence before `next` is accounted for.
    pub(crate) fn pass(&mut self, join_epoch: u64, next: u64) {
        self.has_news = true;
        self.arrivals.pass(join_epoch, next);
    }

    /// Takes the sequences between the newest one taken and the end of the epoch: they will not come any more.
    pub(crate) fn unheard_until(&mut self, epoch: u64, after: u64) -> Option<(u64, u64)> {
        self.arrivals.unheard_until(epoch, after)
    }

    // --- What is read --------------------------------------------------------------------------------------

    /// The type and shape of the frame that was read most recently.
    #[inline]
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        let ring = if self.has_read_retired { &self.retired } else { &self.present };
        ring.as_ref().map(|ring| ring.tensor())
    }

    /// Reads a frame of a join epoch, in one attempt; or says why it cannot be read.
    #[inline]
    pub(crate) fn read(&mut self, join_epoch: u64, seq: u64) -> Result<FrameRef, Cause> {
        let found = match &mut self.present {
            Some(ring) if ring.join_epoch() == join_epoch => {
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
            Err(cause) => self.read_retired(join_epoch, seq, cause),
        }
    }

    /// Reads from the ring before the present one: a source that continues its sequences has them in two rings.
    #[cold]
    fn read_retired(&mut self, join_epoch: u64, seq: u64, cause: Cause) -> Result<FrameRef, Cause> {
        let found = match &mut self.retired {
            Some(ring) if ring.join_epoch() == join_epoch && seq < ring.taken_until => ring.read_unvouched(seq),
            _ => Err(cause),
        };
        self.has_read_retired = found.is_ok();
        self.counters.late_drops += u64::from(matches!(found, Err(Cause::Overwritten)));
        found
    }

    /// Why a frame that was just announced is skipped; None if it is not.
    #[inline]
    pub(crate) fn passes_over(&self, join_epoch: u64, seq: u64) -> Option<Cause> {
        let cause = self.lap.passes_over(seq)?;
        self.present.as_ref().filter(|ring| ring.join_epoch() == join_epoch).map(|_| cause)
    }

    /// Counts a frame that was overwritten while it was copied.
    #[cold]
    pub(crate) fn on_torn(&mut self) {
        self.counters.late_drops += 1;
    }

    /// Moves the place of reading to half a ring behind the newest frame, after a frame of that join epoch was
    /// overwritten. Older frames would be overwritten while they are copied. None if reading is already further.
    #[cold]
    pub(crate) fn catch_up(&mut self, join_epoch: u64) -> Option<Lap> {
        let ring = self
            .present
            .as_ref()
            .filter(|ring| ring.join_epoch() == join_epoch && self.is_attached && !self.is_closed)?;
        let (gone_below, newest) = ring.span()?;
        let resume_at = newest.saturating_add(1).saturating_sub(u64::from(ring.nslots() / 2));
        if resume_at <= self.lap.resume_at {
            return None;
        }
        self.lap = Lap { gone_below, resume_at };
        Some(self.lap)
    }
}
