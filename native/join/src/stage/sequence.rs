// SPDX-License-Identifier: Apache-2.0
//! The sequence policy: output n takes an input's frame n + offset, or its newest frame of the last N.

use std::io::{Result as Written, Write};

use super::decide::Choice;
use super::history::{Frame, Wide};
use super::policy::Policy;
use super::state::Number;
use super::unmatched::Cause;
use super::{I64_MAX, SKIPS_MAX, Stage};

/// Where the outputs stand. `n` is the current output, None until the first one is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counting {
    pub n: Option<u64>,
    pub first: Option<u64>,
    pub last_row: Option<u64>,
}

/// Where to go on after an output that gives no row.
struct Later {
    n: Wide,
    cause: Option<Cause>,
    is_skewed: bool,
}

/// The sequence policy: outputs are numbered like frames.
pub(super) struct BySequence;

impl Policy for BySequence {
    #[inline]
    fn arrival_cause(&self, stage: &Stage, input: usize, frame: &Frame) -> Option<Cause> {
        // Only a valid map says whether a frame can be joined.
        if stage.rules.is_valid { stage.arrival_by_sequence(input, frame) } else { None }
    }

    fn waiting_cause(&self, stage: &Stage, input: usize, frame: &Frame, _goes_back: bool) -> Option<Cause> {
        stage.arrival_by_sequence(input, frame)
    }

    #[inline]
    fn observed(&self, stage: &mut Stage, stream: usize, _is_new: bool, now_ns: u64) {
        stage.start_wait(stream, now_ns);
    }

    fn map_applied(&self, stage: &mut Stage, now_ns: u64) {
        // The frames that are here may be all that an input needs, so the output may wait from now on.
        for stream in 0..stage.streams.sources.len() {
            stage.start_wait(stream, now_ns);
        }
    }

    #[inline]
    fn next(&self, stage: &mut Stage, now_ns: u64) -> bool {
        stage.next_by_sequence(now_ns)
    }

    #[inline]
    fn out(&self, stage: &Stage) -> (u64, Option<u64>) {
        (stage.numbers.counting.n.unwrap_or(0), None)
    }

    #[inline]
    fn joined(&self, stage: &mut Stage, now_ns: u64) {
        let n = stage.numbers.counting.n.unwrap_or(0);
        stage.numbers.counting.last_row = Some(n);
        stage.advance(n + 1, None, false, now_ns);
    }

    fn proposed(&self, stage: &Stage) -> Option<u64> {
        stage.proposed_n()
    }

    fn is_next_nearer(&self, stage: &Stage) -> bool {
        stage.is_next_nearer_at_begin()
    }

    fn new_epoch(&self, stage: &mut Stage) {
        stage.numbers.counting = Counting::default();
        stage.begin_outputs_anew();
    }

    fn numbers_kept(&self) -> usize {
        3
    }

    fn write(&self, stage: &Stage, into: &mut impl Write) -> Written<()> {
        let Counting { n, first, last_row } = stage.numbers.counting;
        write!(into, "\"next\":{},\"first\":{},\"last\":{},", Number(n), Number(first), Number(last_row))
    }

    fn resume(&self, stage: &mut Stage, numbers: &[Option<u64>]) {
        if let [n, first, last_row] = *numbers {
            stage.numbers.counting = Counting { n, first, last_row };
        }
    }
}

impl Stage {
    #[inline]
    fn next_by_sequence(&mut self, now_ns: u64) -> bool {
        for _ in 0..SKIPS_MAX {
            if self.streams.has_fence && self.close_if_due() {
                break;
            }
            if self.numbers.counting.n.is_none() && !self.begin(now_ns) {
                return false;
            }
            let n = self.follow(now_ns);
            if n > I64_MAX {
                return false;
            }
            if self.streams.has_ended && (0..self.inputs.len()).any(|input| self.is_over(input, n)) {
                if self.streams.has_fence {
                    self.close_epoch();
                    break;
                }
                // Frames of windows keep waiting, because another epoch may use them.
                for input in 0..self.inputs.len() {
                    if self.is_exact(input) {
                        self.drop_all(input, Cause::NoPartner);
                    }
                }
                return false;
            }
            if !self.opens(n, now_ns) {
                self.is_waiting = true;
                if self.current.asked_ns.is_some() {
                    self.not_ready();
                }
                return false;
            }
            let is_missing = self.choose(|stage, input| stage.candidate_at(input, n.into()));
            match self.skip_to(n, is_missing, now_ns) {
                None => return self.has_choice(),
                Some(later) => {
                    let skipped = later.n - Wide::from(n);
                    self.counters.skipped_outputs = self.counters.skipped_outputs.saturating_add(skipped as u64);
                    self.advance(later.n as u64, later.cause, later.is_skewed, now_ns);
                }
            }
        }
        self.is_waiting = true;
        false
    }

    /// Finds the first output of an epoch: the smallest that the first frame of every required input allows. False if
    /// it is not known yet.
    fn begin(&mut self, now_ns: u64) -> bool {
        if !self.is_all_observed() {
            return false;
        }
        let is_unknown = |input: usize| self.inputs[input].is_empty() && self.is_awaited(input, now_ns);
        let first = |input| if is_unknown(input) { None } else { self.first_seq(input) };
        let Some(n) = self.first_output(first) else { return false };
        let lacks = |input: usize| self.is_awaited(input, now_ns) && self.lacks(input, n).is_some();
        if (0..self.inputs.len()).any(|input| self.is_required(input) && lacks(input)) {
            // The sequences that this input had reached prove nothing: its source may begin anew, as the one did that
            // began this epoch.
            return false;
        }
        self.numbers.counting.first = Some(n);
        self.advance(n, Some(Cause::BeforeFirst), false, now_ns);
        true
    }

    /// Whether the first row has to wait for a frame of this input.
    fn is_awaited(&self, input: usize, now_ns: u64) -> bool {
        let each = &self.inputs[input];
        let source = &self.streams.sources[each.source];
        !source.is_ended && each.config.deadline_ns == 0 && !source.seen.is_stale(now_ns, self.rules.stale_timeout_ns)
    }

    /// The current output, or the first one as far as it is known.
    pub(super) fn proposed_n(&self) -> Option<u64> {
        match self.numbers.counting.n {
            None if self.is_all_observed() => self.first_output(|input| self.first_seq(input)),
            n => n,
        }
    }

    /// The smallest output that the first frame of every required input allows; None if one of them has none yet.
    pub(super) fn first_output(&self, first: impl Fn(usize) -> Option<u64>) -> Option<u64> {
        let mut n = Wide::from(self.rules.start);
        for input in (0..self.inputs.len()).filter(|input| self.is_required(*input)) {
            n = n.max(Wide::from(first(input)?) - self.inputs[input].shift);
        }
        u64::try_from(n).ok()
    }

    /// The sequence of the oldest frame that waits, or of the next one to come.
    pub(super) fn first_seq(&self, input: usize) -> Option<u64> {
        let each = &self.inputs[input];
        let next_seq = || self.streams.sources[each.source].next_seq().unwrap_or(0);
        Some(each.front().map_or_else(next_seq, |frame| frame.seq))
    }

    /// Moves the current output to the map's first one, or to the anchor's next frame, if that is later.
    #[inline]
    fn follow(&mut self, now_ns: u64) -> u64 {
        let n = self.numbers.counting.n.unwrap_or(0);
        let mut later = n.max(self.rules.start);
        if let Some(anchor) = self.numbers.anchor {
            later = self.possible(anchor, later.into()) as u64;
        }
        if later > n {
            self.advance(later, None, false, now_ns);
        }
        later
    }

    /// Whether an ended input makes every output from n on impossible.
    fn is_over(&self, input: usize, n: u64) -> bool {
        let each = &self.inputs[input];
        let may_be_absent = each.config.optional || each.config.deadline_ns > 0;
        self.streams.sources[each.source].is_ended
            && self.takes_part(input)
            && !may_be_absent
            && self.lacks(input, n).is_some()
    }

    /// Whether an output takes one certain frame of this input: by an offset, or because it is the anchor.
    #[inline]
    fn is_exact(&self, input: usize) -> bool {
        self.inputs[input].window.is_none() || self.inputs[input].is_anchor
    }

    /// The oldest sequence that n or a later output can take of an input.
    #[inline]
    pub(super) fn floor(&self, input: usize, n: Wide) -> Wide {
        let each = &self.inputs[input];
        match each.window {
            Some(window) if !each.is_anchor => n - Wide::from(window) + 1,
            _ => n + each.shift,
        }
    }

    #[inline]
    fn candidate_at(&self, input: usize, n: Wide) -> Choice {
        let each = &self.inputs[input];
        let (low, high) = (self.floor(input, n), n + each.shift);
        let is_within = |frame: &Frame| (low..=high).contains(&Wide::from(frame.seq));
        if self.is_exact(input) {
            // Older frames do not wait any more, and the front is never lost.
            let front = each.front().filter(|frame| Wide::from(frame.seq) >= low);
            let at = if front.is_some() { each.head } else { each.position_from(low) };
            let is_it = at < each.tail && is_within(each.at(at)) && each.at(at).is_readable();
            return if is_it { Choice::At(at) } else { Choice::Nothing };
        }
        let end = each.position_from(high + 1);
        let newest = (each.head..end).rev().take_while(|at| is_within(each.at(*at)));
        match newest.into_iter().find(|at| each.at(*at).is_readable()) {
            Some(at) => Choice::At(at),
            None if each.reusable().is_some_and(is_within) => Choice::Kept,
            None => Choice::Nothing,
        }
    }

    /// The first output from n on for which the input may have a frame.
    fn possible(&self, input: usize, n: Wide) -> Wide {
        if self.candidate_at(input, n) != Choice::Nothing {
            return n;
        }
        let each = &self.inputs[input];
        let waiting = each.readable_from(each.position_from(n + each.shift)).map(|at| each.at(at).seq);
        // It may have been joined under a map that was further ahead.
        let again = each.reusable().filter(|again| !self.is_exact(input) && Wide::from(again.seq) >= n + each.shift);
        let known = again.map(|again| again.seq).into_iter().chain(waiting).min();
        let nearest = known.or_else(|| self.streams.sources[each.source].next_seq());
        nearest.map_or(n, |seq| n.max(Wide::from(seq) - each.shift))
    }

    fn skip_to(&self, n: u64, is_missing: bool, now_ns: u64) -> Option<Later> {
        let n = Wide::from(n);
        let present = || (0..self.inputs.len()).filter(|input| self.current.absent[*input].is_none());
        if is_missing {
            let required = present().filter(|input| !self.inputs[*input].config.optional);
            let later = required.map(|input| self.possible(input, n + 1)).max()?;
            return Some(Later { n: later, cause: None, is_skewed: false });
        }
        if self.is_aged(now_ns) {
            let last = |input: usize| {
                let each = &self.inputs[input];
                Wide::from(self.streams.sources[each.source].last_seq().unwrap_or(0)) - each.shift
            };
            let newest = present().map(last).min()?;
            if newest > n {
                return Some(Later { n: newest, cause: Some(Cause::Aged), is_skewed: false });
            }
        }
        self.is_skewed().then_some(Later { n: n + 1, cause: None, is_skewed: true })
    }

    /// Goes on to output n: decides the frames that neither n nor a later output can take.
    #[inline]
    fn advance(&mut self, n: u64, cause: Option<Cause>, is_skewed: bool, now_ns: u64) {
        self.numbers.counting.n = Some(n);
        self.next_output();
        for input in 0..self.inputs.len() {
            let floor = self.floor(input, n.into());
            while let Some(frame) = self.inputs[input].front().filter(|frame| Wide::from(frame.seq) < floor) {
                let is_skewed = is_skewed && self.chosen(input).is_some_and(|chosen| chosen.seq == frame.seq);
                let why = if is_skewed { Cause::Skew } else { cause.unwrap_or(self.unjoined_cause(input)) };
                self.drop_front(input, why);
            }
            self.settle(input);
        }
        for stream in 0..self.streams.sources.len() {
            self.start_wait(stream, now_ns);
        }
    }

    fn unjoined_cause(&self, input: usize) -> Cause {
        if self.is_exact(input) { Cause::NoPartner } else { Cause::NoMatch }
    }

    /// Starts the wait of the current output, once one input has what it needs.
    #[inline]
    pub(super) fn start_wait(&mut self, stream: usize, now_ns: u64) {
        let Some(n) = self.numbers.counting.n.filter(|_| self.rules.is_valid && self.current.asked_ns.is_none()) else {
            return;
        };
        let has_one = |stream: usize| self.streams.on[stream].iter().any(|input| self.lacks(*input, n).is_none());
        if has_one(stream) || (self.rules.is_untried && (0..self.streams.on.len()).any(has_one)) {
            self.current.asked_ns = Some(now_ns);
        }
        self.rules.is_untried = false;
    }

    /// Why a new frame can never be joined; None if it may be.
    #[inline]
    fn arrival_by_sequence(&self, input: usize, frame: &Frame) -> Option<Cause> {
        let (n, seq) = (self.numbers.counting.n?, Wide::from(frame.seq));
        if seq >= self.floor(input, n.into()) {
            return None;
        }
        if self.numbers.counting.first.is_some_and(|first| seq < self.floor(input, first.into())) {
            return Some(Cause::BeforeFirst);
        }
        let own = seq - self.inputs[input].shift;
        let is_late = self.numbers.counting.last_row.is_some_and(|row| own <= Wide::from(row));
        Some(if is_late { Cause::Late } else { self.unjoined_cause(input) })
    }
}
