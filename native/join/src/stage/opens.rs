// SPDX-License-Identifier: Apache-2.0
//! Whether an output may be tried, and which inputs it goes without.

use super::Stage;
use super::attempt::Absence;
use crate::barrier::{Reason, Verdict};

impl Stage {
    /// Whether an output may be tried. Sets `absent` to the inputs that it goes without.
    ///
    /// Starts at the demand that blocked most recently; while that one blocks, no other is looked at.
    #[inline]
    pub(super) fn opens(&mut self, out: u64, now_ns: u64) -> bool {
        self.current.absent.fill(None);
        if self.rules.has_idle {
            self.mark_idle_absent();
        }
        let count = self.rules.demands.len();
        let mut at = self.rules.blocker;
        for _ in 0..count {
            let demand = &self.rules.demands[at];
            let seen = &self.streams.sources[usize::from(demand.input)].seen;
            let is_passed = match demand.verdict(seen, out, now_ns, self.rules.stale_timeout_ns) {
                Verdict::Met => true,
                Verdict::Waiting(Reason::BeforeStart) => false,
                Verdict::Stale => self.all_of(at, |stage, input| stage.goes_stale(input, out)),
                Verdict::Waiting(_) => self.all_of(at, |stage, input| stage.excuse(input, now_ns)),
            };
            if !is_passed {
                self.rules.blocker = at;
                return false;
            }
            at = if at + 1 == count { 0 } else { at + 1 };
        }
        !self.numbers.has_patient || self.is_all_near(out, now_ns)
    }

    /// Marks inputs without a rule as absent.
    #[cold]
    fn mark_idle_absent(&mut self) {
        for (absent, each) in self.current.absent.iter_mut().zip(&self.inputs) {
            *absent = each.demand.is_none().then_some(Absence::NotJoined);
        }
    }

    /// Whether every input bound by a demand passes. A demand that binds no input excuses nobody.
    fn all_of(&mut self, demand: usize, mut passes: impl FnMut(&mut Self, usize) -> bool) -> bool {
        let stream = usize::from(self.rules.demands[demand].input);
        let mut is_passed = false;
        for at in 0..self.streams.on[stream].len() {
            let input = self.streams.on[stream][at];
            if self.inputs[input].demand == Some(demand) {
                is_passed = passes(self, input);
                if !is_passed {
                    return false;
                }
            }
        }
        is_passed
    }

    /// Whether an output goes on although this input is stale. Without its anchor's frame there is no output, and the
    /// newest frame of an input that has ended may be joined again.
    fn goes_stale(&mut self, input: usize, out: u64) -> bool {
        let each = &self.inputs[input];
        if each.is_anchor {
            return self.lacks(input, out).is_none();
        }
        if !self.outlives_end(each.source) {
            self.current.absent[input] = Some(Absence::Stale);
        }
        true
    }

    /// Whether a stream has ended and its newest frame may be joined again for ever.
    fn outlives_end(&self, stream: usize) -> bool {
        self.config.policy.is_by_time() && self.streams.sources[stream].is_ended && !self.is_rejected(stream)
    }

    /// Whether an output goes on although this input lacks a frame for it. Without its anchor's frame there is no
    /// output.
    pub(super) fn excuse(&mut self, input: usize, now_ns: u64) -> bool {
        let each = &self.inputs[input];
        if each.is_anchor {
            return self.config.policy.is_by_time() && self.streams.sources[each.source].is_ended;
        }
        if self.outlives_end(each.source) {
            return true;
        }
        if each.config.optional {
            self.current.absent[input] = Some(Absence::NotJoined);
        } else if self.is_overdue(each.config.deadline_ns, now_ns) {
            self.current.absent[input] = Some(Absence::Late);
        }
        self.current.absent[input].is_some()
    }

    pub(super) fn is_overdue(&self, deadline_ns: u64, now_ns: u64) -> bool {
        deadline_ns > 0 && self.current.asked_ns.is_some_and(|asked_ns| now_ns.saturating_sub(asked_ns) > deadline_ns)
    }

    /// What the input's own rule has to wait for.
    #[inline]
    pub(super) fn lacks(&self, input: usize, out: u64) -> Option<Reason> {
        let each = &self.inputs[input];
        let Some(demand) = each.demand.and_then(|demand| self.rules.demands.get(demand)) else {
            return Some(Reason::NoMap);
        };
        demand.unseen(&self.streams.sources[each.source].seen, out)
    }

    /// Whether a stream was rejected because its times decreased, so that nothing of it is joined by them.
    #[inline]
    pub(super) fn is_rejected(&self, stream: usize) -> bool {
        self.streams.sources[stream].seen.rejected & self.streams.ordered[stream] != 0
    }
}
