// SPDX-License-Identifier: Apache-2.0
//! Whether an output may be tried, and which inputs it then goes without.

use super::Stage;
use super::attempt::Absence;
use super::config::PolicyKind;
use super::history::Wide;
use super::source::Source;
use crate::barrier::Ready;

impl Stage {
    /// Whether an output may be tried; `absent` says which inputs it then goes without.
    #[inline]
    pub(super) fn opens(&mut self, out: u64, now_ns: u64) -> bool {
        self.absent.fill(None);
        let is_open = match self.gate.attempt(out, now_ns) {
            Ok(absent) if absent.is_empty() => true,
            Err(blocked) if blocked.input.is_none() || !self.can_excuse() => false,
            _ => self.opens_without(out, now_ns),
        };
        is_open && (!self.has_nearest || self.is_all_near(out, now_ns))
    }

    /// Whether anything but silence can make an input absent.
    fn can_excuse(&self) -> bool {
        self.has_excuses || (self.has_ended && self.config.policy == PolicyKind::Timestamp)
    }

    /// The whole answer: not every input is as far.
    fn opens_without(&mut self, out: u64, now_ns: u64) -> bool {
        let Some(ready) = self.gate.ready(out, now_ns) else { return true };
        if ready.reason().is_some() && ready.waiting().is_empty() {
            return false;
        }
        (0..self.sources.len()).all(|stream| self.goes_without(stream, &ready, out, now_ns))
    }

    fn goes_without(&mut self, stream: usize, ready: &Ready, out: u64, now_ns: u64) -> bool {
        let is_waiting = self.gate.is_in(stream, ready.waiting());
        if !is_waiting && !self.gate.is_in(stream, ready.absent()) {
            return true;
        }
        let is_any_failing = self.on[stream].iter().any(|input| !self.holds(*input, out));
        for at in 0..self.on[stream].len() {
            let input = self.on[stream][at];
            let is_holding = self.holds(input, out);
            if is_any_failing && is_holding {
                continue;
            }
            if is_waiting {
                if !self.excuse(input, now_ns) {
                    return false;
                }
            } else if self.inputs[input].is_anchor {
                if !is_holding {
                    return false;
                }
            } else if !(self.outlives_end() && self.sources[stream].is_ended) {
                self.absent[input] = Some(Absence::Stale);
            }
        }
        true
    }

    /// Whether an output goes on though this input is not as far. Without its anchor's frame it is none.
    fn excuse(&mut self, input: usize, now_ns: u64) -> bool {
        let each = &self.inputs[input];
        if self.config.policy == PolicyKind::Timestamp && self.sources[each.source].is_ended {
            return true;
        }
        if each.is_anchor {
            return false;
        }
        if each.config.optional {
            self.absent[input] = Some(Absence::NotJoined);
        } else if self.is_overdue(each.config.deadline_ns, now_ns) {
            self.absent[input] = Some(Absence::Late);
        }
        self.absent[input].is_some()
    }

    fn is_overdue(&self, deadline_ns: u64, now_ns: u64) -> bool {
        deadline_ns > 0 && self.asked_ns.is_some_and(|asked_ns| now_ns.saturating_sub(asked_ns) > deadline_ns)
    }

    fn is_all_near(&mut self, out: u64, now_ns: u64) -> bool {
        (0..self.inputs.len())
            .all(|input| self.absent[input].is_some() || self.is_near(input, out, now_ns) || self.excuse(input, now_ns))
    }

    /// Whether a nearest frame can be told: the input, or the furthest of all, has passed the time.
    fn is_near(&self, input: usize, out: u64, now_ns: u64) -> bool {
        let each = &self.inputs[input];
        if !each.is_nearest() {
            return true;
        }
        let (source, asked) = (&self.sources[each.source], Wide::from(out) + each.shift);
        // A frame that was joined and may not be again tells nothing about the nearest of the others.
        let newest =
            if each.config.reuse { self.time_of(input) } else { each.newest_readable().map(|frame| frame.time) };
        let is_there = newest.is_some_and(|time| Wide::from(time) >= asked);
        let is_overtaken = || {
            let furthest = (0..self.inputs.len()).filter_map(|other| self.time_of(other)).max();
            furthest.map_or(-1, Wide::from) >= asked + Wide::from(self.lateness_ns)
        };
        is_there || is_overtaken() || source.is_ended || self.is_stale(source, now_ns)
    }

    fn time_of(&self, input: usize) -> Option<u64> {
        let each = &self.inputs[input];
        self.sources[each.source].last_times[each.place]
    }

    fn is_stale(&self, source: &Source, now_ns: u64) -> bool {
        let silent_ns = now_ns.saturating_sub(source.last_arrival_ns);
        source.is_observed && self.stale_timeout_ns.is_some_and(|timeout_ns| silent_ns > timeout_ns)
    }

    /// Whether the input's own rule has what it needs.
    #[inline]
    pub(super) fn holds(&self, input: usize, out: u64) -> bool {
        let each = &self.inputs[input];
        let source = &self.sources[each.source];
        let asked = Wide::from(out) + each.shift;
        match self.config.policy {
            PolicyKind::Sequence => source.last_seq.is_some_and(|seq| Wide::from(seq) >= asked),
            PolicyKind::Timestamp => {
                let least = (asked - Wide::from(self.lateness_ns)).max(0);
                !source.is_rejected && source.last_times[each.place].is_some_and(|time| Wide::from(time) >= least)
            }
            // A stale or unread input is absent, whatever it last showed: the barrier alone says so.
            PolicyKind::Latest | PolicyKind::Union => true,
        }
    }

    /// Whether the last frame of an ended input goes on being joined.
    fn outlives_end(&self) -> bool {
        matches!(self.config.policy, PolicyKind::Timestamp | PolicyKind::Latest)
    }
}
