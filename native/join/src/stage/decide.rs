// SPDX-License-Identifier: Apache-2.0
//! Decisions about frames: each ends as joined, or as one entry of the unmatched.

use super::attempt::{Absence, Pick};
use super::fence::Side;
use super::history::{Frame, Wide};
use super::unmatched::{Cause, Unmatched};
use super::{I64_MAX, Stage};
use crate::barrier::NULL_TIMESTAMP;

/// Where an attempt's frame stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// No frame.
    Nothing,
    /// The last joined one.
    Kept,
    /// One that waits, by its position.
    At(u64),
}

/// The output that is asked for.
pub(super) struct Current {
    pub choices: Box<[Choice]>,
    pub picks: Box<[Pick]>,
    /// Which inputs it goes without.
    pub absent: Box<[Option<Absence>]>,
    /// Room for them, while another output is looked at.
    pub spare: Box<[Option<Absence>]>,
    /// Since when it waits.
    pub asked_ns: Option<u64>,
    /// Whether it was counted that it was asked for in vain.
    pub is_counted: bool,
    /// Whether what is asked about is the output after it.
    pub is_looking_ahead: bool,
}

impl Current {
    pub fn new(inputs: usize) -> Self {
        Self {
            choices: vec![Choice::Nothing; inputs].into_boxed_slice(),
            picks: vec![Pick::Absent(Absence::NotJoined); inputs].into_boxed_slice(),
            absent: vec![None; inputs].into_boxed_slice(),
            spare: vec![None; inputs].into_boxed_slice(),
            asked_ns: None,
            is_counted: false,
            is_looking_ahead: false,
        }
    }
}

impl Stage {
    /// Writes down a frame that is not joined.
    pub(super) fn note(&mut self, input: usize, epoch: u64, frame: &Frame, cause: Cause) {
        let each = &self.inputs[input];
        let is_own = self.config.policy.is_by_sequence() && each.demand.is_some() && each.window.is_none();
        let own = Wide::from(frame.seq) - each.shift;
        let entry = Unmatched {
            input: input as u16,
            cause,
            epoch,
            seq: frame.seq,
            seq_last: frame.seq_last,
            timestamp_ns: (frame.time != NULL_TIMESTAMP).then_some(frame.time),
            out_seq: u64::try_from(own).ok().filter(|own| is_own && *own <= I64_MAX),
        };
        let counted = &mut self.by_input[input].unmatched[cause as usize];
        *counted = counted.saturating_add(entry.frames());
        if !self.queue.push(entry) {
            self.counters.unmatched_dropped = self.counters.unmatched_dropped.saturating_add(entry.frames());
        }
    }

    /// Decides an input's oldest frame: not joined.
    pub(super) fn drop_front(&mut self, input: usize, cause: Cause) {
        let each = &mut self.inputs[input];
        let Some(frame) = each.pop() else { return };
        each.decided = Some(frame.seq_last);
        let epoch = self.streams.sources[each.source].epoch().unwrap_or(0);
        self.note(input, epoch, &frame, frame.lost.unwrap_or(cause));
    }

    /// Decides what is lost and has nothing older before it.
    #[inline]
    pub(super) fn settle(&mut self, input: usize) {
        while self.inputs[input].front().is_some_and(|frame| !frame.is_readable()) {
            self.drop_front(input, Cause::NoMatch);
        }
    }

    /// Decides everything that waits.
    pub(super) fn drop_all(&mut self, input: usize, cause: Cause) {
        while !self.inputs[input].is_empty() {
            self.drop_front(input, cause);
        }
    }

    /// Adds a frame to those that wait, if there is room; returns the cause if it is lost.
    #[inline]
    pub(super) fn add(&mut self, input: usize, frame: Frame, side: Side) -> Option<Cause> {
        if self.inputs[input].is_full() {
            return Some(self.add_to_full(input, frame));
        }
        self.inputs[input].push(frame, side);
        self.settle(input);
        frame.lost
    }

    /// A full history loses what comes, as one range at its end: what waits longest is nearest to its partner. It has no
    /// fence, which would have gone first.
    #[cold]
    fn add_to_full(&mut self, input: usize, frame: Frame) -> Cause {
        let cause = frame.lost.unwrap_or(Cause::NoRoom);
        if self.inputs[input].extend_lost(&frame, cause) {
            return cause;
        }
        if self.inputs[input].is_crammed() {
            // Two ranges that do not go on in one another: the oldest frame makes room for the second.
            self.drop_front(input, Cause::NoRoom);
            self.settle(input);
        }
        self.inputs[input].push(Frame { lost: Some(cause), ..frame }, Side::Present);
        self.settle(input);
        cause
    }

    /// A frame was joined; everything older is decided.
    #[inline]
    pub(super) fn take(&mut self, input: usize, choice: Choice) {
        if let Choice::At(position) = choice {
            while self.inputs[input].head < position {
                self.drop_front(input, Cause::Superseded);
            }
            let each = &mut self.inputs[input];
            each.kept = each.pop();
            let seq = each.kept.map(|frame| frame.seq);
            (each.decided, each.joined) = (seq, seq);
        }
        self.settle(input);
    }

    /// Chooses the frames of an output for the inputs that it does not go without. Whether a required one is missing.
    #[inline]
    pub(super) fn choose(&mut self, candidate: impl Fn(&Self, usize) -> Choice) -> bool {
        let mut is_missing = false;
        for input in 0..self.inputs.len() {
            self.current.choices[input] = Choice::Nothing;
            if self.current.absent[input].is_some() {
                continue;
            }
            self.current.choices[input] = candidate(self, input);
            if self.current.choices[input] == Choice::Nothing {
                if self.inputs[input].config.optional {
                    self.current.absent[input] = Some(Absence::NotJoined);
                } else {
                    is_missing = true;
                }
            }
        }
        is_missing
    }

    /// The frame that a choice names.
    #[inline]
    pub(super) fn chosen(&self, input: usize) -> Option<&Frame> {
        match self.current.choices[input] {
            Choice::Nothing => None,
            Choice::Kept => self.inputs[input].kept.as_ref(),
            Choice::At(position) => Some(self.inputs[input].at(position)),
        }
    }

    fn all_chosen(&self) -> impl Iterator<Item = &Frame> {
        (0..self.inputs.len()).filter_map(|input| self.chosen(input))
    }

    pub(super) fn has_choice(&self) -> bool {
        self.current.choices.iter().any(|choice| *choice != Choice::Nothing)
    }

    /// Whether the chosen frames lie further apart than a row's may.
    pub(super) fn is_skewed(&self) -> bool {
        if self.config.max_skew_ns == 0 {
            return false;
        }
        let times = || self.all_chosen().map(|frame| frame.time).filter(|time| *time != NULL_TIMESTAMP);
        times().max().unwrap_or(0) - times().min().unwrap_or(0) > self.config.max_skew_ns
    }

    /// Whether the oldest chosen frame came too long ago.
    pub(super) fn is_aged(&self, now_ns: u64) -> bool {
        if self.config.max_age_ns == 0 {
            return false;
        }
        let oldest = self.all_chosen().map(|frame| frame.arrival_ns).min();
        oldest.is_some_and(|arrival_ns| now_ns.saturating_sub(arrival_ns) > self.config.max_age_ns)
    }
}
