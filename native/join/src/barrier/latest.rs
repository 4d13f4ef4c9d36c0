// SPDX-License-Identifier: Apache-2.0
//! The latest-value barrier (PROTOCOL 11.6).

use super::{Barrier, Demand, Entry, NULL_TIMESTAMP, Observation, Policy, Processed, Reason};
use crate::input_set::INPUTS_MAX;
use crate::map::{Cause, MergeMap, Refusal, Source};

/// Any output is ready when every input has a newest frame; a stale input is absent, whatever it last showed.
pub type LatestBarrier = Barrier<Latest>;

/// By the newest frame, in the order of sequences or of times.
#[derive(Debug)]
pub struct Latest {
    is_by_time: bool,
    /// The timestamp field of each input.
    places: [u8; INPUTS_MAX],
}

/// The newest frame of an input: what it is ordered by, and its sequence.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newest {
    selected: Option<(u64, u64)>,
    is_invalid: bool,
}

impl LatestBarrier {
    /// Blocked until a map is applied. The order is fixed for the barrier's life.
    #[must_use]
    pub fn new(out_stream: u32, epoch: u64, is_by_time: bool) -> Self {
        Self::with_policy(Latest { is_by_time, places: [0; INPUTS_MAX] }, out_stream, epoch, &[])
    }

    /// The newest frame's sequence; None while there is none that can be read.
    #[inline]
    #[must_use]
    pub fn selected(&self, index: usize) -> Option<u64> {
        let newest = self.inputs.get(index)?.state;
        newest.selected.filter(|_| !newest.is_invalid).map(|(_, seq)| seq)
    }

    /// The selected frame could not be read: the input is absent until a newer one comes. False: another is selected.
    #[inline]
    pub fn invalid(&mut self, index: usize, seq: u64) -> bool {
        let is_selected = self.selected(index) == Some(seq);
        if let Some(entry) = self.inputs.get_mut(index).filter(|_| is_selected) {
            entry.state.is_invalid = true;
        }
        is_selected
    }
}

impl Policy for Latest {
    type State = Newest;
    const STALE_IS_ABSENT: bool = true;
    const ONE_DEMAND_AN_INPUT: bool = true;

    fn takes(&self, is_by_time: bool) -> bool {
        // Parameters are ignored, so by sequence either kind will do; by time, only one declares a clock domain.
        is_by_time || !self.is_by_time
    }

    fn check(&self, map: &MergeMap) -> Result<(), Refusal> {
        if !self.is_by_time {
            return Ok(());
        }
        let differing = map.rules.iter().position(|rule| source_of(map, rule.stream) != Some(rule.source));
        differing.map_or(Ok(()), |index| {
            Err(Refusal { cause: Cause::TwoSources, rule: Some((index, map.rules[index].stream)) })
        })
    }

    fn reads_times(&self) -> bool {
        self.is_by_time
    }

    fn keeps(&self, stream: u32, old: &MergeMap, fresh: &MergeMap) -> bool {
        // Values of two sources cannot be ordered.
        !self.is_by_time || source_of(old, stream) == source_of(fresh, stream)
    }

    fn applied(&mut self, _map: &MergeMap, demands: &[Demand]) {
        for demand in demands {
            self.places[usize::from(demand.input)] = demand.source;
        }
    }

    #[inline]
    fn see(&self, index: usize, state: &mut Newest, seen: &Observation) {
        let order = if self.is_by_time { seen.times[usize::from(self.places[index])] } else { seen.seq };
        if self.is_by_time && order == NULL_TIMESTAMP {
            return;
        }
        if Some((order, seen.seq)) > state.selected {
            *state = Newest { selected: Some((order, seen.seq)), is_invalid: false };
        }
    }

    fn consumed(&self, _state: &mut Newest, _processed: &Processed) {}

    #[inline]
    fn obstacle(&self, _demand: &Demand, entry: &Entry<Newest>, _out: u64) -> Option<Reason> {
        if entry.state.selected.is_none() {
            return Some(Reason::NotObserved);
        }
        entry.state.is_invalid.then_some(Reason::Invalid)
    }
}

fn source_of(map: &MergeMap, stream: u32) -> Option<Source> {
    map.times?;
    map.rules.iter().find(|rule| rule.stream == stream).map(|rule| rule.source)
}
