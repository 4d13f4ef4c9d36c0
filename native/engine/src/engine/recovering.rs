// SPDX-License-Identifier: Apache-2.0
//! Finds frames that no descriptor brought, by the commit words of their ring; and decides when one epoch follows
//! another.
//!
//! An epoch that was announced but holds no frame only closes the one before it. The stage hears of an epoch only when
//! a ring confirms something of it.

use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::pool::reader::Holding;
use framegate_join::stage::Observed;

use super::Engine;
use super::cut::{Signal, Standing};
use super::hearing::END_KIND;
use crate::wires::Wires;

impl<W: Wires> Engine<W> {
    // --- One epoch after another ---------------------------------------------------------------------------

    /// Does what had to wait until the log was read to its end: follows newer epochs, and takes marks of ends.
    pub(super) fn on_drained(&mut self, now_ns: u64) {
        for index in 0..self.ports.len() {
            if !self.ports[index].awaits_drain() {
                continue;
            }
            match self.ports[index].ripe() {
                Some(epoch) => self.advance_to(index, epoch, now_ns),
                None if self.ports[index].has_ahead() => self.close_present(index, now_ns),
                None => {}
            }
            if let Some((epoch, after)) = self.ports[index].mark.take() {
                self.believe_mark(index, epoch, after, now_ns);
            }
        }
    }

    /// Makes a mapped epoch the present one. The epochs before it are closed, each in its order.
    #[cold]
    pub(super) fn advance_to(&mut self, index: usize, epoch: u64, now_ns: u64) {
        while self.ports[index].present_epoch() != Some(epoch) {
            if !self.advance(index, now_ns) {
                return;
            }
        }
    }

    /// Makes the next mapped epoch the present one; false if there is none.
    fn advance(&mut self, index: usize, now_ns: u64) -> bool {
        // The ring of the epoch before the present one is given back, whatever a snapshot still needs of it.
        self.copy_the_rest();
        self.close_present(index, now_ns);
        let has_stepped = self.ports[index].step(&mut self.hearing.unneeded);
        let begun = self.ports[index].present_epoch().filter(|_| has_stepped);
        if let Some(epoch) = begun
            && self.ports[index].is_early(epoch)
        {
            self.take_early(index, epoch, now_ns);
        }
        has_stepped
    }

    /// Takes what was heard of the present epoch while no lease was held. Its producer may pace itself by its readers,
    /// and send nothing more before they have read it.
    pub(super) fn take_passed(&mut self, index: usize, now_ns: u64) {
        if let Some(epoch) = self.ports[index].present_epoch()
            && self.ports[index].is_early(epoch)
        {
            self.take_early(index, epoch, now_ns);
        }
    }

    /// Takes what was heard of an epoch before it was mapped.
    fn take_early(&mut self, index: usize, epoch: u64, now_ns: u64) {
        // The early frames say where the epoch began.
        let join_epoch = self.join_epoch_of(index, epoch);
        let Some(early) = self.ports[index].take_early(epoch) else { return };
        if let Some(first) = early.first {
            let first = self.ports[index].next_heard(join_epoch).unwrap_or(first);
            // Nothing past the ring's newest frame was published, whatever a descriptor said.
            let newest = self.ports[index].span().map_or(0, |(_, newest)| newest);
            self.recover(index, (first, early.last.min(newest)), true, now_ns);
        }
        if let Some(after) = early.end {
            self.end_present(index, epoch, after, now_ns);
        }
    }

    /// Advances streams that have too many mappings, until they have no more than allowed.
    pub(super) fn advance_over_full(&mut self, now_ns: u64) {
        for index in 0..self.ports.len() {
            while self.ports[index].is_over_full() && self.advance(index, now_ns) {}
        }
    }

    /// Closes the present epoch: frames that were announced but not heard are taken from its ring.
    pub(super) fn close_present(&mut self, index: usize, now_ns: u64) {
        if self.ports[index].close() {
            if self.cut.is_under_way {
                // A stream that owes its barrier will not deliver it any more.
                self.note_switches(now_ns);
            }
            self.recover_tail(index, now_ns);
        }
    }

    /// Takes what the present ring holds behind the newest frame that was taken.
    pub(crate) fn recover_tail(&mut self, index: usize, now_ns: u64) {
        let (Some(epoch), Some((_, newest))) = (self.ports[index].present_epoch(), self.ports[index].span()) else {
            return;
        };
        let join_epoch = if self.ports[index].is_watched(epoch) {
            self.join_epoch_of(index, epoch)
        } else {
            self.ports[index].likely_join_epoch(epoch)
        };
        self.recover_unheard(index, join_epoch, newest, now_ns);
    }

    /// Takes what was sent of an epoch up to a sequence and not heard. If nothing of it was ever heard, it takes
    /// nothing: nobody knows where this agent came to the epoch.
    fn recover_unheard(&mut self, index: usize, join_epoch: u64, last: u64, now_ns: u64) {
        let port = &self.ports[index];
        let Some(first) = port.next_known(join_epoch) else { return };
        if port.has_heard_nothing() {
            self.recover_downtime(index, join_epoch, (first, last), now_ns);
        } else {
            self.recover(index, (first, last), true, now_ns);
        }
    }

    // --- What no descriptor brought ------------------------------------------------------------------------

    /// Takes frames of the present epoch from its ring, as if their descriptors had come. What the ring has lost counts
    /// as missed if nobody listened; what it never held counts as a gap.
    #[cold]
    pub(super) fn recover(&mut self, index: usize, (first, last): (u64, u64), was_away: bool, now_ns: u64) {
        let port = &mut self.ports[index];
        let Some(join_epoch) =
            port.present_epoch().map(|epoch| port.likely_join_epoch(epoch)).filter(|_| first <= last)
        else {
            return;
        };
        port.pass(join_epoch, last.saturating_add(1));
        let (oldest, newest) = port.span().unwrap_or((u64::MAX, 0));
        let from = oldest.max(first);
        if from > first {
            self.miss(index, join_epoch, (first, last.min(from - 1)), was_away, now_ns);
        }
        let mut known = 0;
        for seq in from..=last.min(newest) {
            let holding = self.ports[index].holds(seq);
            if holding == Holding::Older {
                continue;
            }
            if known == 0 && was_away {
                self.lose_unheard(index, now_ns);
            }
            known += 1;
            if holding == Holding::This {
                self.take_recovered(index, join_epoch, seq, now_ns);
            } else {
                // The ring was overwritten since its span was read.
                self.miss(index, join_epoch, (seq, seq), was_away, now_ns);
            }
        }
        if from <= last {
            self.ports[index].counters.gap_drops += last - from + 1 - known;
        }
    }

    fn take_recovered(&mut self, index: usize, epoch: u64, seq: u64, now_ns: u64) {
        let port = &mut self.ports[index];
        (port.counters.frames, port.counters.recovered) = (port.counters.frames + 1, port.counters.recovered + 1);
        let seen = Observed {
            epoch,
            seq,
            descriptor_timestamp_ns: NULL_TIMESTAMP,
            slot_timestamp_ns: NULL_TIMESTAMP,
            trace_id: 0,
        };
        self.observe_or_wait(index, seen, now_ns);
        self.join_drained(now_ns);
    }

    fn miss(&mut self, index: usize, epoch: u64, (first, last): (u64, u64), was_away: bool, now_ns: u64) {
        let counters = &mut self.ports[index].counters;
        let counter = if was_away { &mut counters.missed } else { &mut counters.gap_drops };
        *counter += last - first + 1;
        if was_away {
            self.take_or_hold(index, Standing::Missed { epoch, first, last }, &[], now_ns);
        }
    }

    /// Gives up the barrier that a stream owes: it may have stood in what nobody heard.
    fn lose_unheard(&mut self, index: usize, now_ns: u64) {
        if self.cut.is_under_way && !self.cut.is_blocked(index) && !self.cut.gates.is_used_by(index) {
            self.lose_input(index, true, now_ns);
        }
    }

    // --- Ends ----------------------------------------------------------------------------------------------

    /// Sets, for each stream, the newest epoch whose end already finished an earlier run of this agent.
    pub fn spend_ends(&mut self, spent: &[Option<u64>]) {
        for (port, spent) in self.ports.iter_mut().zip(spent) {
            port.spent = *spent;
        }
    }

    /// Notes a mark beside the regions, which says that an epoch is over. It counts once the log was read to its end.
    pub fn note_mark(&mut self, index: usize, epoch: u64, after: Option<u64>) {
        let port = &mut self.ports[index];
        let is_news = port.mark.is_none_or(|(other, _)| epoch > other);
        if is_news && port.spent.is_none_or(|spent| epoch > spent) && !self.stage.has_ended_in(index, epoch) {
            port.mark = Some((epoch, after));
        }
    }

    /// Ends an epoch by its mark, which no signal announced, if the end concerns this join: something of the epoch was
    /// heard, or it passed while the agent was down or watching. To a journal that has just begun, such an end is
    /// history.
    fn believe_mark(&mut self, index: usize, epoch: u64, after: Option<u64>, now_ns: u64) {
        let port = &self.ports[index];
        let is_known = self.stage.known_epoch(index).is_some_and(|known| known <= epoch);
        if port.ended == Some(epoch) || !(is_known || port.is_watched(epoch) || port.is_early(epoch)) {
            return;
        }
        self.advance_to_ahead(index, epoch, now_ns);
        if self.ports[index].present_epoch() == Some(epoch) {
            return self.end_present(index, epoch, after, now_ns);
        }
        self.ports[index].take_early(epoch);
        if !self.ports[index].is_past(epoch) {
            let signal = Signal { is_barrier: true, kind: END_KIND, barrier_id: 0, epoch, after };
            self.take_or_hold(index, Standing::Signal(signal), &[], now_ns);
        }
    }

    fn advance_to_ahead(&mut self, index: usize, epoch: u64, now_ns: u64) {
        if self.ports[index].is_ahead(epoch) {
            self.advance_to(index, epoch, now_ns);
        }
    }

    /// Ends the present epoch after that sequence, once what was not heard of it is taken.
    pub(super) fn end_present(&mut self, index: usize, epoch: u64, after: Option<u64>, now_ns: u64) {
        let epoch = self.join_epoch_of(index, epoch);
        self.recover_until(index, epoch, after, now_ns);
        let signal = Signal { is_barrier: true, kind: END_KIND, barrier_id: 0, epoch, after };
        self.take_or_hold(index, Standing::Signal(signal), &[], now_ns);
    }

    /// Takes the frames up to the end's final sequence that nobody heard. The end itself counts those that the ring
    /// never held.
    pub(super) fn recover_until(&mut self, index: usize, join_epoch: u64, after: Option<u64>, now_ns: u64) {
        if let (Some(after), Some((_, newest))) = (after, self.ports[index].span()) {
            self.recover_unheard(index, join_epoch, after.min(newest), now_ns);
        }
    }

    /// Takes every mark of an end, now that nothing more will be heard.
    pub fn believe_marks(&mut self, now_ns: u64) {
        for index in 0..self.ports.len() {
            if let Some((epoch, after)) = self.ports[index].mark.take() {
                self.believe_mark(index, epoch, after, now_ns);
            }
        }
    }
}
