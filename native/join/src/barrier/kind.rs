// SPDX-License-Identifier: Apache-2.0
//! The differences between the kinds of barrier (PROTOCOL 11.4 to 11.6).

use super::NULL_TIMESTAMP;
use super::seen::{Observation, Seen};
use crate::input_set::INPUTS_MAX;
use crate::map::{MergeMap, Refusal, RefusalCause, Source};

/// What readiness depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Output n is ready when every input was observed up to the sequence that its rules ask for.
    Sequence,
    /// Output t is ready when every input's time has come as far as its rules ask, less the map's lateness.
    Timestamp,
    /// Any output is ready when every input has a newest frame, by sequence. A barrier keeps its order for good.
    LatestBySeq,
    /// Any output is ready when every input has a newest frame, by the time of its source.
    LatestByTime,
}

impl Kind {
    /// Whether only the newest frames count, so that rules do nothing but name streams.
    #[must_use]
    pub fn is_latest(self) -> bool {
        matches!(self, Self::LatestBySeq | Self::LatestByTime)
    }

    /// Whether times are read, so that their clock domain matters.
    #[must_use]
    pub fn reads_times(self) -> bool {
        matches!(self, Self::Timestamp | Self::LatestByTime)
    }

    /// Whether a map with or without times is for this barrier; other maps are ignored.
    #[must_use]
    pub fn takes(self, is_by_time: bool) -> bool {
        // Parameters are ignored, so both kinds of map suit the newest by sequence; only a timestamp map declares the
        // clock domain that the newest by time needs.
        self == Self::LatestBySeq || is_by_time == self.reads_times()
    }

    /// The timestamp fields that must not decrease, as bits. Both fields are followed, so that a map may change a
    /// rule's source; each rule reads only its own.
    #[must_use]
    pub fn ordered(self) -> u8 {
        if self == Self::Timestamp { 0b11 } else { 0 }
    }

    /// Checks what else a map of this kind must fulfil.
    ///
    /// # Errors
    /// Why the map does not fulfil it.
    pub fn check(self, map: &MergeMap) -> Result<(), Refusal> {
        let mut streams: Vec<u32> = map.rules.iter().map(|rule| rule.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        if streams.len() > INPUTS_MAX {
            return Err(RefusalCause::TooManyInputs.into());
        }
        let differs = |stream, source| self == Self::LatestByTime && self.source_of(map, stream) != Some(source);
        let differing = map.rules.iter().position(|rule| differs(rule.stream, rule.source));
        differing.map_or(Ok(()), |index| {
            Err(Refusal { cause: RefusalCause::TwoSources, rule: Some((index, map.rules[index].stream)) })
        })
    }

    /// Whether what is known of a stream stays valid under another map. Values of two sources cannot be compared.
    pub(super) fn keeps(self, stream: u32, old: &MergeMap, fresh: &MergeMap) -> bool {
        self.source_of(old, stream) == self.source_of(fresh, stream)
    }

    /// The source by whose times frames are ordered.
    fn source_of(self, map: &MergeMap, stream: u32) -> Option<Source> {
        let first = map.rules.iter().find(|rule| rule.stream == stream);
        first.filter(|_| self == Self::LatestByTime).map(|rule| rule.source)
    }

    /// Takes a frame of the input's current epoch; `place` is its timestamp field.
    #[inline]
    pub fn see(self, seen: &mut Seen, frame: &Observation, place: usize, now_ns: u64) {
        match self {
            Self::Sequence | Self::Timestamp => {}
            Self::LatestBySeq => seen.select(frame.seq, frame.seq),
            Self::LatestByTime if frame.times[place] == NULL_TIMESTAMP => {}
            Self::LatestByTime => seen.select(frame.times[place], frame.seq),
        }
        seen.observe(frame.seq, frame.times, self.ordered(), now_ns);
    }
}
