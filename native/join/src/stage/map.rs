// SPDX-License-Identifier: Apache-2.0
//! Applies maps: which map is valid, which rule binds which input, and what that means for waiting frames.

use super::Stage;
use super::config::Drive;
use super::history::Frame;
use super::policy::{Policy, by_policy};
use super::unmatched::Cause;
use crate::barrier::{Demand, Kind, demands, start};
use crate::map::{Announced, MergeMap, Need, Refusal, RefusalCause, Rule};

/// The rules of the map that was applied most recently.
pub(super) struct Rules {
    pub kind: Option<Kind>,
    pub demands: Vec<Demand>,
    /// The index of the demand that blocked most recently. Any index is correct, but some are quicker.
    pub blocker: usize,
    /// Whether the rules are in force.
    pub is_valid: bool,
    /// Whether the rules were applied since the previous call of `next`.
    pub is_just_applied: bool,
    /// Whether the streams' observations were not compared with these rules yet.
    pub is_untried: bool,
    /// Whether an input has no rule.
    pub has_idle: bool,
    pub version: u64,
    pub lateness_ns: u64,
    pub stale_timeout_ns: Option<u64>,
    /// The first output that every rule allows.
    pub start: u64,
}

impl Rules {
    /// Makes empty rules. A join without a barrier needs no map.
    pub fn of(kind: Option<Kind>) -> Self {
        Self {
            kind,
            demands: Vec::new(),
            blocker: 0,
            is_valid: kind.is_none(),
            is_just_applied: false,
            is_untried: false,
            has_idle: false,
            version: 0,
            lateness_ns: 0,
            stale_timeout_ns: None,
            start: 0,
        }
    }
}

impl Stage {
    /// Applies a map. False if it is for another output or of another kind. Its rules hold from the next output on:
    /// decided frames stay decided, and the output never goes back.
    ///
    /// # Errors
    /// Why the map is invalid, or does not fit the inputs; then nothing is attempted.
    pub fn apply(&mut self, announced: &Announced<'_>, version: u64) -> Result<bool, Refusal> {
        let Some(kind) = self.rules.kind.filter(|kind| self.takes(*kind, announced)) else { return Ok(false) };
        self.rules.is_valid = false;
        let mut fresh = MergeMap::checked(announced)?;
        kind.check(&fresh)?;
        self.check_fits(&fresh).inspect_err(|_| self.counters.maps_refused += 1)?;
        if let Some(times) = fresh.times.as_mut().filter(|_| self.config.is_late_stalled) {
            times.lateness_ns = 0;
        }
        (self.rules.is_valid, self.rules.is_just_applied, self.rules.version) = (true, true, version);
        self.rules.lateness_ns = fresh.times.map_or(0, |times| times.lateness_ns);
        self.rules.stale_timeout_ns = fresh.stale_timeout_ns;
        self.rules.start = fresh.rules.iter().map(|rule| start(rule.need, fresh.times.is_some())).max().unwrap_or(0);
        self.bind(kind, &fresh);
        if let (Some(first), None) = (self.numbers.counting.first, self.numbers.counting.last_row) {
            self.numbers.counting.first = Some(first.max(self.rules.start));
            self.numbers.counting.n = self.numbers.counting.n.max(self.numbers.counting.first);
        }
        self.rules.is_untried = true;
        self.reconsider();
        self.forget_pairs();
        Ok(true)
    }

    /// Checks that every rule's stream has an input, and that what makes the outputs has a rule.
    fn check_fits(&self, map: &MergeMap) -> Result<(), Refusal> {
        let unknown = map.rules.iter().position(|rule| self.streams.place(rule.stream).is_none());
        if let Some(index) = unknown {
            return Err(Refusal { cause: RefusalCause::UnknownStream, rule: Some((index, map.rules[index].stream)) });
        }
        let is_bound = |input: usize| self.rule_of(map, input).is_some();
        let is_driven = match self.config.drive {
            Drive::Input(input) => is_bound(input),
            _ if self.config.policy.is_by_sequence() => {
                (0..self.inputs.len()).any(|input| !self.inputs[input].config.optional && is_bound(input))
            }
            _ => true,
        };
        if is_driven { Ok(()) } else { Err(RefusalCause::DriveWithoutRule.into()) }
    }

    /// The rule that binds an input: the k-th rule of a stream binds its k-th input. Where parameters are ignored, one
    /// rule binds all inputs of its stream.
    fn rule_of<'a>(&self, map: &'a MergeMap, input: usize) -> Option<(usize, &'a Rule)> {
        let on = &self.streams.on[self.inputs[input].source];
        let stream = self.streams.ids[self.inputs[input].source];
        let is_one_for_all = self.config.policy.keeps_newest_only();
        let place = on.iter().position(|known| *known == input).filter(|_| !is_one_for_all).unwrap_or(0);
        map.rules.iter().enumerate().filter(|(_, rule)| rule.stream == stream).nth(place)
    }

    fn bind(&mut self, kind: Kind, map: &MergeMap) {
        let needs: Vec<u32> = self.config.inputs.iter().filter(|each| each.processed).map(|each| each.stream).collect();
        let index_of = |stream| self.streams.place(stream);
        (self.rules.demands, self.rules.blocker) = (demands(map, kind, &needs, index_of), 0);
        for input in 0..self.inputs.len() {
            let stream = self.inputs[input].source;
            let (rule, own_source) = (self.rule_of(map, input), self.inputs[input].config.source);
            let demand = if kind.is_latest() {
                rule.and_then(|_| self.rules.demands.iter().position(|demand| usize::from(demand.input) == stream))
            } else {
                rule.map(|(index, _)| index)
            };
            if let Some(demand) = demand.filter(|_| !kind.is_latest()) {
                self.rules.demands[demand].is_first_only = self.inputs[input].config.needs_first_only();
            }
            let need = rule.filter(|_| !kind.is_latest()).map_or(Need::Offset(0), |(_, rule)| rule.need);
            let source = rule.filter(|_| kind.reads_times()).map_or(own_source, |(_, rule)| rule.source);
            let is_other_time = self.inputs[input].bind(demand, need, source);
            if is_other_time && kind == Kind::LatestByTime {
                self.select_anew(input);
            }
        }
        self.rules.has_idle = self.inputs.iter().any(|each| each.demand.is_none());
        self.order_times();
    }

    /// Searches the newest frame anew among the waiting ones, because times of two sources cannot be compared.
    fn select_anew(&mut self, input: usize) {
        let each = &mut self.inputs[input];
        let seen = &mut self.streams.sources[each.source].seen;
        (seen.newest, seen.is_invalid) = (None, false);
        each.kept = each.kept.filter(|kept| kept.has_time());
        for frame in each.kept.iter().chain((each.head..each.tail).map(|at| each.at(at))) {
            if frame.is_readable() && frame.has_time() {
                seen.select(frame.time, frame.seq);
            }
        }
        let newest = seen.newest;
        for at in each.head..each.tail {
            let frame = each.at_mut(at);
            if frame.is_readable() && frame.has_time() && Some((frame.time, frame.seq)) != newest {
                frame.lost = Some(Cause::Superseded);
            }
        }
    }

    /// Computes which timestamp fields must not decrease.
    pub(super) fn order_times(&mut self) {
        let is_timed = self.config.policy.is_by_time();
        for (stream, on) in self.streams.on.iter().enumerate() {
            let field = |input: &usize| u8::from(is_timed && self.takes_part(*input)) << self.inputs[*input].place;
            self.streams.ordered[stream] = on.iter().map(field).fold(0, |bits, bit| bits | bit);
        }
    }

    /// Judges the waiting frames by the new map: those that no output can take are lost.
    fn reconsider(&mut self) {
        for input in 0..self.inputs.len() {
            let (mut newest, mut goes_back) = (0, false);
            let drops = self.drops_regressed(self.inputs[input].source);
            for at in self.inputs[input].head..self.inputs[input].tail {
                let frame = *self.inputs[input].at(at);
                let is_less = frame.has_time() && frame.time < newest;
                goes_back = is_less || (goes_back && !drops);
                if frame.has_time() {
                    newest = newest.max(frame.time);
                }
                if frame.is_readable() {
                    self.inputs[input].at_mut(at).lost = self.never_cause(input, &frame, goes_back);
                }
            }
            let is_usable = |kept: &Frame| self.takes_part(input) && (!self.config.reads_times() || kept.has_time());
            self.inputs[input].kept = self.inputs[input].kept.filter(is_usable);
            self.settle(input);
        }
    }

    /// Why a waiting frame can never be joined under the applied map. `goes_back`: times decreased up to it.
    fn never_cause(&self, input: usize, frame: &Frame, goes_back: bool) -> Option<Cause> {
        if !self.takes_part(input) {
            return Some(Cause::NoMatch);
        }
        by_policy!(self, policy => policy.waiting_cause(self, input, frame, goes_back))
    }

    pub(super) fn is_given_up(&self, input: usize) -> bool {
        let stream = self.inputs[input].source;
        self.drops_regressed(stream) || self.is_rejected(stream)
    }

    fn takes(&self, kind: Kind, announced: &Announced<'_>) -> bool {
        (announced.out_stream, announced.epoch) == (self.config.out_stream, self.out_epoch)
            && kind.takes(announced.times.is_some())
    }

    /// Invalidates the map, because another one was announced, or an invalid one. Nothing is attempted until a map is
    /// applied.
    pub fn invalidate(&mut self) {
        self.rules.is_valid = self.rules.kind.is_none();
    }

    /// The output epoch for which a map is needed; None if a map is in force.
    #[must_use]
    pub fn wants_map(&self) -> Option<u64> {
        (!self.rules.is_valid).then_some(self.out_epoch)
    }

    /// The version of the map that was applied most recently.
    #[must_use]
    pub fn map_version(&self) -> u64 {
        self.rules.version
    }

    /// Whether outputs use an input: the valid map has a rule for it, or there is no valid map yet.
    #[inline]
    pub(super) fn takes_part(&self, input: usize) -> bool {
        self.rules.kind.is_none() || !self.rules.is_valid || self.inputs[input].demand.is_some()
    }
}
