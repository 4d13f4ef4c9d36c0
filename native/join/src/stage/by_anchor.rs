// SPDX-License-Identifier: Apache-2.0
//! Inputs of a timestamp join whose frames are picked by the sequence of the anchor's frame.

use super::Stage;
use super::attempt::Absence;
use super::decide::Choice;
use super::history::Wide;
use super::unmatched::Cause;

impl Stage {
    /// The sequence that the input gives to the current output, or to the one after it while that is looked at. None: the
    /// anchor has no frame for it.
    pub(super) fn wanted(&self, input: usize) -> Option<Wide> {
        let anchor = &self.inputs[self.numbers.anchor?];
        let first = anchor.readable_from(anchor.head)?;
        let at = if self.current.is_looking_ahead { anchor.readable_from(first + 1)? } else { first };
        Some(Wide::from(anchor.at(at).seq) + Wide::from(self.inputs[input].config.seq_offset))
    }

    /// Whether the wanted frame was seen, or never comes. A stale input is absent.
    pub(super) fn has_come(&mut self, input: usize, now_ns: u64) -> bool {
        let source = &self.streams.sources[self.inputs[input].source];
        let last_seq = source.last_seq().map(Wide::from);
        if source.is_ended || self.wanted(input).is_some_and(|wanted| last_seq >= Some(wanted)) {
            return true;
        }
        if source.seen.is_stale(now_ns, self.rules.stale_timeout_ns) {
            self.current.absent[input] = Some(Absence::Stale);
        }
        self.current.absent[input].is_some()
    }

    /// How many sequences the input lacks for the current output; None: none.
    pub(super) fn sequences_missing(&self, input: usize) -> Option<u64> {
        let source = &self.streams.sources[self.inputs[input].source];
        let last_seq = source.last_seq().filter(|_| !source.is_ended).map(Wide::from)?;
        self.wanted(input).map(|wanted| wanted - last_seq).filter(|missing| *missing > 0).map(|missing| missing as u64)
    }

    /// The frame with the wanted sequence, if it waits.
    pub(super) fn candidate_by_sequence(&self, input: usize) -> Choice {
        let each = &self.inputs[input];
        let Some(wanted) = self.wanted(input) else { return Choice::Nothing };
        let found = (each.head..each.tail)
            .take_while(|at| Wide::from(each.at(*at).seq) <= wanted)
            .find(|at| Wide::from(each.at(*at).seq) == wanted && each.at(*at).is_readable());
        found.map_or(Choice::Nothing, Choice::At)
    }

    /// Decides the frames below the one that the anchor's next frame wants; with `past` 1 that one too.
    pub(super) fn leave_by_sequence(&mut self, input: usize, past: Wide, cause: Cause) {
        let Some(wanted) = self.wanted(input) else { return };
        while let Some(seq) = self.inputs[input].front().map(|frame| Wide::from(frame.seq)) {
            if seq >= wanted + past {
                break;
            }
            self.drop_front(input, if seq == wanted { cause } else { Cause::NoPartner });
        }
        self.settle(input);
    }

    /// Whether the output that would take a frame was decided.
    pub(super) fn is_past_by_sequence(&self, input: usize, seq: u64) -> bool {
        let decided = self.numbers.anchor.and_then(|anchor| self.inputs[anchor].decided).map(Wide::from);
        let offset = Wide::from(self.inputs[input].config.seq_offset);
        decided.is_some_and(|decided| Wide::from(seq) <= decided + offset)
    }
}
