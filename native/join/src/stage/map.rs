// SPDX-License-Identifier: Apache-2.0
//! Which map is in force, and what is the first output then.

use super::Stage;
use super::config::PolicyKind;
use crate::map::{Announced, Need, Refusal};

impl Stage {
    /// So that the barrier follows the inputs before the authority has announced a map.
    pub(super) fn follow_own_map(&mut self) {
        let rules = self.config.own_rules();
        let outcome = self.gate.apply(&self.config.own_map(&rules), &self.streams);
        debug_assert!(outcome.is_ok(), "the configuration describes a valid map: {outcome:?}");
        if !self.gate.is_open() {
            self.gate.invalidate();
        }
        if self.config.policy == PolicyKind::Sequence {
            self.counting.n = self.config.first.map(|first| first.max(self.start));
            self.counting.first = self.counting.n;
        }
    }

    /// Whether the map is in force now: it is for this output, of the policy's kind, and names just the inputs' streams.
    ///
    /// # Errors
    /// Why it is invalid; nothing is attempted then.
    pub fn apply(&mut self, announced: &Announced<'_>, version: u64) -> Result<bool, Refusal> {
        if self.gate.is_open() || !self.takes(announced) {
            return Ok(false);
        }
        let is_known = announced.rules.iter().all(|rule| self.streams.contains(&rule.stream));
        let is_whole = self.streams.iter().all(|stream| announced.rules.iter().any(|rule| rule.stream == *stream));
        if !is_known || !is_whole {
            self.gate.invalidate();
            self.counters.maps_refused += 1;
            return Ok(false);
        }
        let mut announced = *announced;
        if self.config.is_late_stalled {
            announced.times = announced.times.map(|(domain, _)| (domain, Some(0)));
        }
        if !self.gate.apply(&announced, &self.streams)? {
            return Ok(false);
        }
        self.map_version = version;
        self.lateness_ns = announced.times.and_then(|(_, lateness_ns)| lateness_ns).unwrap_or(0);
        self.stale_timeout_ns = announced.stale_timeout_ns;
        let needs = announced.rules.iter().map(|rule| {
            let need = rule.offset.map_or(Need::Window(rule.window.unwrap_or(1)), Need::Offset);
            start(need, announced.times.is_some())
        });
        self.start = needs.fold(self.own_start, u64::max);
        Ok(true)
    }

    fn takes(&self, announced: &Announced<'_>) -> bool {
        let is_any_kind = self.config.policy == PolicyKind::Latest && !self.config.is_ordered_by_time;
        (announced.out_stream, announced.epoch) == (self.config.out_stream, self.out_epoch)
            && (is_any_kind || announced.times.is_some() == self.config.has_timestamp_map())
    }

    /// Another map was announced, or an invalid one: nothing is attempted until one is applied.
    pub fn invalidate(&mut self) {
        self.gate.invalidate();
    }

    /// The output epoch that a map is wanted for.
    #[must_use]
    pub fn wants_map(&self) -> Option<u64> {
        (!self.gate.is_valid()).then_some(self.out_epoch)
    }

    /// Version of the map that was applied last.
    #[must_use]
    pub fn map_version(&self) -> u64 {
        self.map_version
    }
}

/// The first output that a rule can be fulfilled for.
pub(super) fn start(need: Need, is_by_time: bool) -> u64 {
    match need {
        Need::Offset(offset) => {
            if offset < 0 {
                offset.unsigned_abs()
            } else {
                0
            }
        }
        Need::Window(window) => {
            if is_by_time {
                window
            } else {
                window - 1
            }
        }
    }
}
