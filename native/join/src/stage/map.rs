// SPDX-License-Identifier: Apache-2.0
//! Which map is in force, and what is the first output then.

use super::Stage;
use super::config::PolicyKind;
use crate::barrier::{Kind, demands, start};
use crate::map::{Announced, MergeMap, Refusal};

impl Stage {
    /// So that the demands are those of the inputs before the authority has announced a map.
    pub(super) fn follow_own_map(&mut self) {
        let rules = self.config.own_rules();
        self.has_map = self.kind.is_none();
        if let Some(kind) = self.kind {
            let own = MergeMap::checked(&self.config.own_map(&rules));
            debug_assert!(own.is_ok(), "the configuration describes a valid map: {own:?}");
            if let Ok(own) = own {
                self.obey(kind, &own);
            }
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
        let Some(kind) = self.kind.filter(|kind| self.takes(*kind, announced)) else { return Ok(false) };
        self.has_map = false;
        let is_known = announced.rules.iter().all(|rule| self.streams.contains(&rule.stream));
        let is_whole = self.streams.iter().all(|stream| announced.rules.iter().any(|rule| rule.stream == *stream));
        if !is_known || !is_whole {
            self.counters.maps_refused += 1;
            return Ok(false);
        }
        let mut fresh = MergeMap::checked(announced)?;
        kind.check(&fresh)?;
        if let Some(times) = fresh.times.as_mut().filter(|_| self.config.is_late_stalled) {
            times.lateness_ns = 0;
        }
        self.obey(kind, &fresh);
        self.lateness_ns = fresh.times.map_or(0, |times| times.lateness_ns);
        self.stale_timeout_ns = fresh.stale_timeout_ns;
        let starts = fresh.rules.iter().map(|rule| start(rule.need, fresh.times.is_some()));
        self.start = starts.fold(self.own_start, u64::max);
        (self.has_map, self.map_version) = (true, version);
        Ok(true)
    }

    /// The demands of a map. The k-th rule of a stream is that of its k-th input; inputs beyond them share the last one.
    fn obey(&mut self, kind: Kind, map: &MergeMap) {
        let needs: Vec<u32> = self.config.inputs.iter().filter(|each| each.processed).map(|each| each.stream).collect();
        let index_of = |stream| self.streams.iter().position(|known| *known == stream);
        (self.demands, self.blocker) = (demands(map, kind, &needs, index_of), 0);
        for (stream, on) in self.on.iter().enumerate() {
            let of_stream = |at: &usize| usize::from(self.demands[*at].input) == stream;
            let rules: Vec<usize> = (0..self.demands.len()).filter(of_stream).collect();
            for (place, input) in on.iter().enumerate() {
                self.inputs[*input].demand = rules[place.min(rules.len() - 1)];
            }
        }
    }

    fn takes(&self, kind: Kind, announced: &Announced<'_>) -> bool {
        (announced.out_stream, announced.epoch) == (self.config.out_stream, self.out_epoch)
            && kind.takes(announced.times.is_some())
    }

    /// Another map was announced, or an invalid one: nothing is attempted until one is applied.
    pub fn invalidate(&mut self) {
        self.has_map = self.kind.is_none();
    }

    /// The output epoch that a map is wanted for.
    #[must_use]
    pub fn wants_map(&self) -> Option<u64> {
        (!self.has_map).then_some(self.out_epoch)
    }

    /// Version of the map that was applied last.
    #[must_use]
    pub fn map_version(&self) -> u64 {
        self.map_version
    }
}
