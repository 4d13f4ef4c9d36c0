// SPDX-License-Identifier: Apache-2.0
//! Decides frames: each ends either as joined, or in one entry of the unmatched.

use super::attempt::{Absence, Pick};
use super::fence::Side;
use super::history::{Frame, Wide};
use super::unmatched::{Cause, Unmatched};
use super::{I64_MAX, Stage};
use crate::barrier::NULL_TIMESTAMP;

/// Which frame an attempt takes of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// No frame.
    Nothing,
    /// The frame that was joined most recently.
    Kept,
    /// A waiting frame, by its position.
    At(u64),
}

/// The current output, which is being tried.
pub(super) struct Current {
    pub choices: Box<[Choice]>,
    pub picks: Box<[Pick]>,
    /// The inputs that the output goes without, and why.
    pub absent: Box<[Option<Absence>]>,
    /// A copy of `absent`, kept while the output after this one is looked at.
    pub spare: Box<[Option<Absence>]>,
    /// When the output began to wait.
    pub asked_ns: Option<u64>,
    /// Whether the output was already counted as not ready.
    pub is_counted: bool,
    /// Whether the stage looks at the output after this one.
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
    /// Records a frame as not joined.
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

    /// Decides an input's oldest frame: it is not joined.
    pub(super) fn drop_front(&mut self, input: usize, cause: Cause) {
        let each = &mut self.inputs[input];
        let Some(frame) = each.pop() else { return };
        each.decided = Some(frame.seq_last);
        let epoch = self.streams.sources[each.source].epoch().unwrap_or(0);
        self.note(input, epoch, &frame, frame.lost.unwrap_or(cause));
    }

    /// Decides lost frames that have nothing older before them.
    #[inline]
    pub(super) fn settle(&mut self, input: usize) {
        while self.inputs[input].front().is_some_and(|frame| !frame.is_readable()) {
            self.drop_front(input, Cause::NoMatch);
        }
    }

    /// Decides all waiting frames of an input.
    pub(super) fn drop_all(&mut self, input: usize, cause: Cause) {
        while !self.inputs[input].is_empty() {
            self.drop_front(input, cause);
        }
    }

    /// Adds a frame to those that wait, if there is space. Returns the cause if the frame is lost.
    #[inline]
    pub(super) fn add(&mut self, input: usize, frame: Frame, side: Side) -> Option<Cause> {
        if self.inputs[input].is_full() {
            return Some(self.add_to_full(input, frame));
        }
        self.inputs[input].push(frame, side);
        self.settle(input);
        frame.lost
    }

    /// Adds a frame to a full history, where it is lost, as part of a range at the end: the frames that wait longest
    /// are nearest to their partners. A history that is full has no fence, because `enter` closes the epoch first.
    #[cold]
    fn add_to_full(&mut self, input: usize, frame: Frame) -> Cause {
        let cause = frame.lost.unwrap_or(Cause::NoRoom);
        if self.inputs[input].extend_lost(&frame, cause) {
            return cause;
        }
        if self.inputs[input].is_overfull() {
            // A second range does not continue the first, so the oldest frame is dropped to make space for it.
            self.drop_front(input, Cause::NoRoom);
            self.settle(input);
        }
        self.inputs[input].push(Frame { lost: Some(cause), ..frame }, Side::Present);
        self.settle(input);
        cause
    }

    /// Takes a joined frame; every older one is decided.
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

    /// Chooses frames for the inputs that the output does not go without. True if a required one is missing.
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

    /// The frame that was chosen for an input.
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

    /// Whether the chosen frames lie further apart than the row may have them.
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
