// SPDX-License-Identifier: Apache-2.0
//! Nearest picks: whether the nearest frame is certain yet and, if each frame is joined only once, which output gets
//! it.

use super::Stage;
use super::decide::Choice;
use super::history::Wide;
use super::{I64_MAX, StageConfig};
use crate::pairing::{FAR, OUTPUTS_MAX, Pairing, Question};

/// What is known of one-to-one inputs and the current output.
#[derive(Debug)]
pub(super) struct OneToOne {
    pairing: Pairing,
    outputs_max: usize,
    answers: Box<[PairAnswer]>,
}

/// The answer for one input.
#[derive(Clone, Copy, Debug)]
struct PairAnswer {
    choice: Choice,
    /// Whether a later frame or output might have changed the answer.
    is_early: bool,
    /// The question without an answer; while nothing in it changes, it is not asked again.
    open: Option<PairQuestion>,
}

/// What is known of an input and an output.
#[derive(Clone, Copy, Debug)]
enum Pair {
    /// The output has to wait.
    Open,
    /// The output has its frame, or goes without one.
    Answered,
    /// No frame came in time.
    Late,
}

const NO_ANSWER: PairAnswer = PairAnswer { choice: Choice::Nothing, is_early: false, open: None };

/// A question, and how much had come when it was asked. `sure` uses only what is certain, `hasty` also what the join
/// does not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PairQuestion {
    out: u64,
    order: u64,
    times: u64,
    sure: Question,
    hasty: Question,
}

impl OneToOne {
    /// Makes the answers. At most half of the frames that may wait compete, so that there is space for the frames that
    /// decide.
    pub fn new(config: &StageConfig) -> Self {
        let outputs_max = (config.history as usize / 2).clamp(1, OUTPUTS_MAX);
        let answers = vec![NO_ANSWER; config.inputs.len()].into_boxed_slice();
        Self { pairing: Pairing::default(), outputs_max, answers }
    }
}

impl Stage {
    pub(super) fn is_all_near(&mut self, out: u64, now_ns: u64) -> bool {
        (0..self.inputs.len()).all(|input| {
            if self.current.absent[input].is_some() {
                true
            } else if self.inputs[input].is_one_to_one() {
                self.is_paired(input, out, now_ns)
            } else if self.inputs[input].is_by_sequence() {
                self.has_come(input, now_ns) || self.excuse(input, now_ns)
            } else {
                self.is_near(input, out, now_ns) || self.excuse(input, now_ns)
            }
        })
    }

    /// Whether the nearest frame is certain: the input, or the furthest input of all, has passed the time asked for.
    fn is_near(&self, input: usize, out: u64, now_ns: u64) -> bool {
        let each = &self.inputs[input];
        if !each.is_nearest() {
            return true;
        }
        let (source, asked) = (&self.streams.sources[each.source], Wide::from(out) + each.shift);
        let is_there = self.time_of(input).is_some_and(|time| Wide::from(time) >= asked);
        let is_overtaken = || self.furthest().map_or(-1, Wide::from) >= asked + Wide::from(self.rules.lateness_ns);
        is_there || is_overtaken() || source.is_ended || source.seen.is_stale(now_ns, self.rules.stale_timeout_ns)
    }

    /// The answer of a one-to-one input for the current output.
    pub(super) fn paired(&self, input: usize) -> Choice {
        self.numbers.one_to_one.as_ref().map_or(Choice::Nothing, |known| known.answers[input].choice)
    }

    /// Clears the answers, because the current output is decided.
    pub(super) fn close_pairs(&mut self) {
        let Some(known) = &mut self.numbers.one_to_one else { return };
        for ((told, absent), counters) in known.answers.iter_mut().zip(&self.current.absent).zip(&mut self.by_input) {
            counters.closed_early += u64::from(told.is_early && absent.is_none());
            *told = NO_ANSWER;
        }
    }

    /// Forgets all answers, because other rules apply now.
    pub(super) fn forget_pairs(&mut self) {
        if let Some(known) = &mut self.numbers.one_to_one {
            known.answers.fill(NO_ANSWER);
        }
    }

    /// Whether the frame that the output gets of a one-to-one input is certain, or nothing more is waited for.
    fn is_paired(&mut self, input: usize, out: u64, now_ns: u64) -> bool {
        let Some(mut known) = self.numbers.one_to_one.take() else { return true };
        let pair = self.pair(&mut known, input, out, now_ns);
        self.numbers.one_to_one = Some(known);
        match pair {
            Pair::Open => false,
            Pair::Answered => true,
            // The input is absent, like any other that is too late.
            Pair::Late => self.excuse(input, now_ns),
        }
    }

    fn pair(&self, known: &mut OneToOne, input: usize, out: u64, now_ns: u64) -> Pair {
        let sure = self.question(input, out, known.outputs_max);
        let hasty = self.hasty(sure, input, now_ns);
        let asked = PairQuestion { out, order: self.order, times: self.numbers.times.pushed(), sure, hasty };
        if known.answers[input].open == Some(asked) {
            return Pair::Open;
        }
        // Looking ahead, the current output already has its frame and does not compete.
        let behind = match self.current.choices[input] {
            Choice::At(position) if self.current.is_looking_ahead => position + 1,
            _ => self.inputs[input].head,
        };
        let mut ask = |question: &Question| {
            let outputs = self.outputs(input).skip(self.current.is_looking_ahead.into());
            known.pairing.first_choice(question, outputs, self.inputs[input].readable(behind))
        };
        let (mut choice, mut is_hasty) = (ask(&sure), false);
        if choice.is_none() && hasty != sure {
            (choice, is_hasty) = (ask(&hasty), true);
        }
        if self.current.is_looking_ahead {
            return choice.map_or(Pair::Open, |_| Pair::Answered);
        }
        let told = &mut known.answers[input];
        *told = match choice {
            None => PairAnswer { open: Some(asked), ..NO_ANSWER },
            Some(choice) => PairAnswer {
                choice: choice.partner.map_or(Choice::Nothing, Choice::At),
                is_early: choice.is_early || is_hasty,
                open: None,
            },
        };
        match choice {
            None => Pair::Open,
            Some(choice) if is_hasty && hasty.is_forced && choice.partner.is_none() => Pair::Late,
            Some(_) => Pair::Answered,
        }
    }

    /// The times that the current output and those after it ask of an input.
    fn outputs(&self, input: usize) -> impl Iterator<Item = Wide> + '_ {
        let shift = self.inputs[input].shift;
        let anchor = self.numbers.anchor.map(|anchor| &self.inputs[anchor]);
        let of_anchor = move |anchor: &'_ super::Input| anchor.shift;
        let times = self.numbers.times.due().filter(move |_| anchor.is_none()).map(Wide::from);
        let frames = anchor.into_iter().flat_map(|anchor| anchor.readable(anchor.head));
        frames
            .map(move |(_, time)| time - anchor.map_or(0, of_anchor))
            .chain(times)
            .take_while(|out| *out <= Wide::from(I64_MAX))
            .map(move |out| out + shift)
    }

    /// The question with what is certain: times do not decrease.
    fn question(&self, input: usize, out: u64, outputs_max: usize) -> Question {
        let each = &self.inputs[input];
        let (low, high) = self.bounds(input, out);
        let asked = Wide::from(out) + each.shift;
        let newest = match self.numbers.anchor {
            Some(anchor) if self.streams.sources[self.inputs[anchor].source].is_ended => None,
            Some(anchor) => Some(self.time_of(anchor).map_or(-FAR, Wide::from) - self.inputs[anchor].shift),
            None if self.has_all_ended_in(|stream| &self.streams.sources[stream]) => None,
            None => Some(Wide::from(self.numbers.times.horizon().max(self.numbers.timing.last_ns).unwrap_or(0))),
        };
        let is_ended = self.streams.sources[each.source].is_ended;
        Question {
            behind: if low == Wide::MIN { FAR } else { asked - low },
            ahead: if high == Wide::MAX { FAR } else { high - asked },
            x_horizon: newest.map_or(FAR, |newest| newest + each.shift),
            y_horizon: if is_ended { FAR } else { self.time_of(input).map_or(-FAR, Wide::from) },
            outputs_max,
            is_forced: false,
        }
    }

    /// The question with what the join does not wait for: frames later than the map's lateness, stale inputs, and
    /// anything more of an input that is optional or overdue.
    fn hasty(&self, sure: Question, input: usize, now_ns: u64) -> Question {
        let each = &self.inputs[input];
        let is_stale = |input: &super::Input| {
            self.streams.sources[input.source].seen.is_stale(now_ns, self.rules.stale_timeout_ns)
        };
        let anchor = self.numbers.anchor.map(|anchor| &self.inputs[anchor]);
        let mut hasty = sure;
        if let Some(furthest) = self.furthest().filter(|_| self.rules.lateness_ns > 0) {
            let least = Wide::from(furthest) - Wide::from(self.rules.lateness_ns);
            hasty.y_horizon = sure.y_horizon.max(least);
            hasty.x_horizon = sure.x_horizon.max(least - anchor.map_or(0, |anchor| anchor.shift) + each.shift);
        }
        if is_stale(each) {
            hasty.y_horizon = FAR;
        }
        if anchor.is_some_and(is_stale) {
            hasty.x_horizon = FAR;
        }
        hasty.is_forced = each.config.optional || self.is_overdue(each.config.deadline_ns, now_ns);
        hasty
    }

    fn time_of(&self, input: usize) -> Option<u64> {
        let each = &self.inputs[input];
        self.streams.sources[each.source].seen.observed.times[each.place]
    }

    fn furthest(&self) -> Option<u64> {
        let bound = (0..self.inputs.len()).filter(|input| self.takes_part(*input));
        bound.filter_map(|input| self.time_of(input)).max()
    }
}
