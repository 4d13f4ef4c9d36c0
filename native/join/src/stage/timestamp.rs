// SPDX-License-Identifier: Apache-2.0
//! The timestamp policy: output t takes an input's newest frame up to t + offset or within [t - w, t], or the nearest
//! one.

use std::io::{Result as Written, Write};

use super::config::Preference;
use super::decide::Choice;
use super::history::{Frame, Wide};
use super::policy::Policy;
use super::state::Number;
use super::unmatched::Cause;
use super::{I64_MAX, SKIPS_MAX, Stage};
use crate::barrier::NULL_TIMESTAMP;

/// Where the outputs stand. `t` is the current output, None while nothing asks for one; `last_ns` is the newest decided
/// output, with or without a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timing {
    pub t: Option<u64>,
    pub last_ns: Option<u64>,
}

/// The timestamp policy: outputs have times, and frames near them belong together.
pub(super) struct ByTimestamp;

impl Policy for ByTimestamp {
    #[inline]
    fn arrival_cause(&self, stage: &Stage, input: usize, frame: &Frame) -> Option<Cause> {
        // Only a valid map says whether a frame can be joined.
        if stage.rules.is_valid { stage.arrival_by_timestamp(input, frame) } else { None }
    }

    fn waiting_cause(&self, stage: &Stage, input: usize, frame: &Frame, goes_back: bool) -> Option<Cause> {
        if goes_back && stage.is_given_up(input) {
            return Some(Cause::Regressed);
        }
        (!frame.has_time()).then_some(Cause::NullTimestamp)
    }

    fn fenced_cause(&self, stage: &Stage, input: usize, frame: &Frame) -> Option<Cause> {
        let stream = stage.inputs[input].source;
        if stage.newest(stream).seen.rejected & stage.streams.ordered[stream] != 0 {
            return Some(Cause::Regressed);
        }
        (!frame.has_time()).then_some(Cause::NullTimestamp)
    }

    #[inline]
    fn next(&self, stage: &mut Stage, now_ns: u64) -> bool {
        stage.next_by_timestamp(now_ns)
    }

    #[inline]
    fn out(&self, stage: &Stage) -> (u64, Option<u64>) {
        (stage.out_seq, stage.numbers.timing.t)
    }

    #[inline]
    fn joined(&self, stage: &mut Stage, _now_ns: u64) {
        stage.joined_by_timestamp();
    }

    fn proposed(&self, stage: &Stage) -> Option<u64> {
        stage.numbers.timing.t
    }

    fn is_next_nearer(&self, stage: &Stage) -> bool {
        stage.is_next_asked_for()
    }

    fn new_epoch(&self, stage: &mut Stage) {
        stage.numbers.timing = Timing::default();
        stage.begin_outputs_anew();
    }

    fn numbers_kept(&self) -> usize {
        1
    }

    fn write(&self, stage: &Stage, into: &mut impl Write) -> Written<()> {
        write!(into, "\"time\":{},", Number(stage.numbers.timing.last_ns))
    }

    fn resume(&self, stage: &mut Stage, numbers: &[Option<u64>]) {
        if let [last_ns] = *numbers {
            stage.numbers.timing.last_ns = last_ns;
        }
    }
}

impl Stage {
    #[inline]
    fn next_by_timestamp(&mut self, now_ns: u64) -> bool {
        for _ in 0..SKIPS_MAX {
            if self.streams.has_fence && self.close_if_due() {
                break;
            }
            let Some(t) = self.current_time() else { return false };
            if self.numbers.timing.t != Some(t) || self.current.asked_ns.is_none() {
                self.numbers.timing.t = Some(t);
                self.current.asked_ns = Some(now_ns);
            }
            if !self.opens(t, now_ns) {
                self.is_waiting = true;
                self.not_ready();
                return false;
            }
            for input in 0..self.inputs.len() {
                self.drop_passed(input, t, None, None);
            }
            let is_missing = self.choose(|stage, input| stage.candidate_in_time(input, t));
            match self.why_no_row(is_missing, now_ns) {
                None => return true,
                Some(cause) => self.skip(t, cause),
            }
        }
        self.is_waiting = true;
        false
    }

    /// The current output time. Times that can be no output are decided on the way.
    fn current_time(&mut self) -> Option<u64> {
        for _ in 0..SKIPS_MAX {
            let t = self.proposed(0)?;
            let last_ns = self.numbers.timing.last_ns.map_or(Wide::MIN, Wide::from);
            let start = Wide::from(self.rules.start);
            if (start.max(last_ns)..=Wide::from(I64_MAX)).contains(&t) {
                return Some(t as u64);
            }
            let cause = if t < last_ns {
                self.counters.time_refused += 1;
                Cause::Late
            } else {
                self.counters.skipped_outputs += 1;
                if t < start { Cause::BeforeFirst } else { Cause::NoMatch }
            };
            self.drop_current(cause);
        }
        self.is_waiting = true;
        None
    }

    /// The time of the current output, or of the one `ahead` of it.
    pub(super) fn proposed(&self, ahead: usize) -> Option<Wide> {
        let Some(anchor) = self.numbers.anchor else {
            return if ahead > 0 { self.numbers.times.following() } else { self.numbers.times.current() }
                .map(Wide::from);
        };
        let each = &self.inputs[anchor];
        let first = each.readable_from(each.head)?;
        let at = if ahead > 0 { each.readable_from(first + 1)? } else { first };
        Some(Wide::from(each.at(at).time) - each.shift)
    }

    /// Drops the current output; its anchor's frame, if it has one, is decided.
    fn drop_current(&mut self, cause: Cause) {
        match self.numbers.anchor {
            None => self.numbers.times.pop(),
            Some(anchor) => {
                self.drop_front(anchor, cause);
                self.settle(anchor);
            }
        }
    }

    /// The oldest and newest time that an output may take of an input.
    #[inline]
    pub(super) fn bounds(&self, input: usize, t: u64) -> (Wide, Wide) {
        let each = &self.inputs[input];
        let asked = Wide::from(t) + each.shift;
        // A tolerance narrows what the rule allows.
        let reach = each.window.into_iter().chain(each.config.tolerance_ns).min().map(Wide::from);
        let low = reach.map_or(Wide::MIN, |reach| asked - reach);
        match each.config.pick {
            // A window ends at t, so it has nothing after t.
            Preference::Nearest if each.window.is_none() => (low, reach.map_or(Wide::MAX, |reach| asked + reach)),
            _ => (low, asked),
        }
    }

    #[inline]
    fn candidate_in_time(&self, input: usize, t: u64) -> Choice {
        let each = &self.inputs[input];
        if each.is_anchor {
            return if each.is_empty() { Choice::Nothing } else { Choice::At(each.head) };
        }
        if each.is_one_to_one() {
            return self.paired(input);
        }
        if each.is_by_sequence() {
            return self.candidate_by_sequence(input);
        }
        let ((low, high), asked) = (self.bounds(input, t), Wide::from(t) + each.shift);
        let is_newest = each.config.pick != Preference::Nearest;
        let distance = |frame: &Frame| (Wide::from(frame.time) - asked).abs();
        let (mut best, mut least) = (Choice::Nothing, Wide::MAX);
        if let Some(again) = each.reusable().filter(|again| (low..=high).contains(&Wide::from(again.time))) {
            (best, least) = (Choice::Kept, distance(again));
        }
        for at in each.head..each.tail {
            let frame = each.at(at);
            if !frame.is_readable() {
                continue;
            }
            let time = Wide::from(frame.time);
            // Times do not decrease, so later frames lie even further away.
            if time > high || (!is_newest && time > asked && distance(frame) > least) {
                break;
            }
            // Of two frames at the same distance, the older one is taken.
            if time >= low && (is_newest || distance(frame) < least) {
                (best, least) = (Choice::At(at), distance(frame));
            }
        }
        best
    }

    fn why_no_row(&mut self, is_missing: bool, now_ns: u64) -> Option<Cause> {
        if is_missing || !self.has_choice() {
            return Some(Cause::NoPartner);
        }
        if self.is_aged(now_ns) && self.has_newer(now_ns) {
            return Some(Cause::Aged);
        }
        self.is_skewed().then_some(Cause::Skew)
    }

    /// Whether the output after the current one is already possible.
    fn has_newer(&mut self, now_ns: u64) -> bool {
        let Some(t) = self.proposed(1).filter(|t| *t <= Wide::from(I64_MAX)) else { return false };
        let asked_ns = self.current.asked_ns.take();
        self.current.spare.copy_from_slice(&self.current.absent);
        self.current.is_looking_ahead = true;
        let is_open = self.opens(t as u64, now_ns);
        self.current.is_looking_ahead = false;
        self.current.absent.copy_from_slice(&self.current.spare);
        self.current.asked_ns = asked_ns;
        is_open
    }

    /// Decides output t without a row.
    fn skip(&mut self, t: u64, cause: Cause) {
        self.counters.skipped_outputs += 1;
        for input in 0..self.inputs.len() {
            if self.inputs[input].is_one_to_one() {
                self.drop_paired(input, cause);
                continue;
            }
            if self.inputs[input].is_by_sequence() {
                self.leave_by_sequence(input, 1, cause);
                continue;
            }
            let preferred = self.chosen(input).map(|frame| frame.seq);
            self.drop_passed(input, t, preferred, (cause == Cause::Aged).then_some(cause));
        }
        self.drop_current(cause);
        self.done(t);
    }

    /// Drops the frame of a one-to-one input: it belonged to no other output than this one, which gave no row.
    fn drop_paired(&mut self, input: usize, cause: Cause) {
        if let Choice::At(position) = self.current.choices[input] {
            while self.inputs[input].head < position {
                self.drop_front(input, Cause::Superseded);
            }
            self.drop_front(input, cause);
            self.settle(input);
        }
    }

    fn done(&mut self, t: u64) {
        self.close_pairs();
        (self.numbers.timing.last_ns, self.numbers.timing.t) = (Some(t), None);
        self.next_output();
    }

    /// Decides the frames that no later output can take: those older than the preferred one, or older than t reaches
    /// back.
    #[inline]
    fn drop_passed(&mut self, input: usize, t: u64, preferred: Option<u64>, cause: Option<Cause>) {
        if self.inputs[input].is_anchor {
            return;
        }
        if self.inputs[input].is_by_sequence() {
            self.leave_by_sequence(input, 0, Cause::NoPartner);
            return;
        }
        let (low, high) = self.bounds(input, t);
        let is_window = self.inputs[input].window.is_some();
        while let Some(frame) = self.inputs[input].front() {
            let why = if !frame.is_readable() {
                Cause::NoMatch
            } else if preferred.is_some_and(|seq| frame.seq < seq) {
                cause.unwrap_or(Cause::Superseded)
            } else if Wide::from(frame.time) < low {
                let is_first_look = is_window && Some(frame.seq) > self.inputs[input].looked;
                cause.unwrap_or(if is_first_look { Cause::BeforeWindow } else { Cause::NoMatch })
            } else {
                break;
            };
            self.drop_front(input, why);
        }
        if is_window {
            self.look(input, high);
        }
    }

    /// Notes that a window has seen every frame up to this time.
    fn look(&mut self, input: usize, high: Wide) {
        let each = &mut self.inputs[input];
        let mut looked = each.looked;
        for at in each.head..each.tail {
            let frame = each.at(at);
            if frame.is_readable() {
                if Wide::from(frame.time) > high {
                    break;
                }
                looked = Some(frame.seq);
            }
        }
        each.looked = looked;
    }

    /// Why a new frame can never be joined; None if it may be.
    #[inline]
    fn arrival_by_timestamp(&self, input: usize, frame: &Frame) -> Option<Cause> {
        let each = &self.inputs[input];
        if self.is_rejected(each.source) {
            return Some(Cause::Regressed);
        }
        if frame.time == NULL_TIMESTAMP {
            return Some(Cause::NullTimestamp);
        }
        let last_ns = self.numbers.timing.last_ns.filter(|_| !each.is_anchor)?;
        if each.is_by_sequence() {
            return self.is_past_by_sequence(input, frame.seq).then_some(Cause::Late);
        }
        (Wide::from(frame.time) < self.bounds(input, last_ns).0).then_some(Cause::Late)
    }

    #[inline]
    fn joined_by_timestamp(&mut self) {
        let t = self.numbers.timing.t.unwrap_or(0);
        for input in 0..self.inputs.len() {
            self.drop_passed(input, t, None, None);
        }
        if self.numbers.anchor.is_none() {
            self.numbers.times.pop();
        }
        self.done(t);
    }
}
