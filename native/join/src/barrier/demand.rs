// SPDX-License-Identifier: Apache-2.0
//! Rules in the form in which they are evaluated. Offsets and windows both become a first output and a shift.

use super::seen::{Cursor, Seen};
use super::{Kind, Reason};
use crate::map::{MergeMap, Need, Rule, Source, Times};

/// What a demand compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// Sequences.
    Seq,
    /// Times of one field: 0 slot header, 1 frame descriptor.
    Time(u8),
    /// The newest frame, whatever its sequence or time.
    Newest,
}

/// What one rule demands: output `out` needs `out + ahead - back` of its input, but not less than 0, from output
/// `start` on.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// The index of the input.
    pub input: u16,
    field: Field,
    /// Every timestamp field that a rule of this input reads, as bits.
    sources: u8,
    /// Whether the processed cursor must have come as far too.
    needs_processed: bool,
    /// The first output that the rule allows.
    start: u64,
    /// How far the input must be ahead of the output. At most one of `ahead` and `back` is not 0.
    ahead: u64,
    /// How far the input may be behind the output: an offset or the map's lateness.
    back: u64,
    /// Whether any frame of the input fulfils it, whatever its time.
    pub is_first_only: bool,
}

/// Whether an output's demand is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The demand is met.
    Met,
    /// The demand is not met, and its input has been silent too long to wait for.
    Stale,
    /// The demand is not met yet.
    Waiting(Reason),
}

impl Demand {
    /// What an output has to wait for, if anything.
    #[inline]
    #[must_use]
    pub fn obstacle(&self, seen: &Seen, out: u64) -> Option<Reason> {
        let unseen = self.unseen(seen, out);
        if unseen.is_some() || !self.needs_processed {
            return unseen;
        }
        (self.known(&seen.processed) < self.required(out)).then_some(Reason::Behind)
    }

    /// What an output has to wait for, whatever was processed.
    #[inline]
    #[must_use]
    pub fn unseen(&self, seen: &Seen, out: u64) -> Option<Reason> {
        if self.field == Field::Newest {
            return if seen.newest.is_none() {
                Some(Reason::NotObserved)
            } else {
                seen.is_invalid.then_some(Reason::Invalid)
            };
        }
        if out < self.start {
            return Some(Reason::BeforeStart);
        }
        if seen.rejected & self.sources != 0 {
            return Some(Reason::Rejected);
        }
        let Some(known) = self.known(&seen.observed) else { return Some(Reason::NotObserved) };
        // Beyond the greatest number nothing can come: the demand stays unmet.
        (!self.is_first_only && self.required(out).is_none_or(|least| known < least)).then_some(Reason::Behind)
    }

    /// What becomes of the demand: a stale input may be absent. Under the latest policy a stale input is absent
    /// whatever it showed, because no rule could be fulfilled by an old value.
    #[inline]
    #[must_use]
    pub fn verdict(&self, seen: &Seen, out: u64, now_ns: u64, stale_timeout_ns: Option<u64>) -> Verdict {
        match self.obstacle(seen, out) {
            None if self.field != Field::Newest || !seen.is_stale(now_ns, stale_timeout_ns) => Verdict::Met,
            Some(Reason::BeforeStart) => Verdict::Waiting(Reason::BeforeStart),
            Some(reason) if !seen.is_stale(now_ns, stale_timeout_ns) => Verdict::Waiting(reason),
            _ => Verdict::Stale,
        }
    }

    /// The timestamp field that the demand reads: 0 slot header, 1 frame descriptor.
    #[must_use]
    pub fn place(&self) -> usize {
        if self.sources & 1 == 1 { 0 } else { 1 }
    }

    #[inline]
    fn known(&self, cursor: &Cursor) -> Option<u64> {
        match self.field {
            Field::Time(place) => cursor.times[usize::from(place)],
            Field::Seq | Field::Newest => cursor.seq,
        }
    }

    /// What an output needs of the input; None: more than any number.
    #[inline]
    fn required(&self, out: u64) -> Option<u64> {
        Some(out.checked_add(self.ahead)?.saturating_sub(self.back))
    }
}

/// Makes one demand for each rule, or one for each input where parameters are ignored. `index_of` gives the input of a
/// stream.
#[must_use]
pub fn demands(
    map: &MergeMap,
    kind: Kind,
    needs_processed: &[u32],
    index_of: impl Fn(u32) -> Option<usize>,
) -> Vec<Demand> {
    let mut sources = Vec::new();
    let mut made = Vec::with_capacity(map.rules.len());
    for rule in &map.rules {
        let Some(index) = index_of(rule.stream) else { continue };
        sources.resize(sources.len().max(index + 1), 0u8);
        if kind.is_latest() && sources[index] != 0 {
            continue;
        }
        sources[index] |= 1 << place(rule.source);
        let needs_processed = !kind.is_latest() && needs_processed.contains(&rule.stream);
        made.push(Demand { needs_processed, ..demand(rule, kind, index as u16, map.times.as_ref()) });
    }
    for demand in &mut made {
        demand.sources = sources[usize::from(demand.input)];
    }
    made
}

/// The first output that a rule allows.
#[must_use]
pub fn start(need: Need, is_by_time: bool) -> u64 {
    match need {
        Need::Offset(offset) => offset.min(0).unsigned_abs(),
        // [t - w, t] fits from t = w on; [n - N + 1, n] from one earlier.
        Need::Window(window) => window - u64::from(!is_by_time),
    }
}

fn demand(rule: &Rule, kind: Kind, input: u16, times: Option<&Times>) -> Demand {
    let shift = if let Need::Offset(offset) = rule.need { offset.into() } else { 0 };
    let shift = shift - times.map_or(0, |times| i128::from(times.lateness_ns));
    // A shift back further than any output counts as far as the greatest.
    let part = |shift: i128| u64::try_from(shift.max(0)).unwrap_or(u64::MAX);
    let field = match kind {
        Kind::Sequence => Field::Seq,
        Kind::Timestamp => Field::Time(place(rule.source)),
        Kind::LatestBySeq | Kind::LatestByTime => Field::Newest,
    };
    Demand {
        input,
        field,
        sources: 0,
        needs_processed: false,
        start: start(rule.need, times.is_some()),
        ahead: part(shift),
        back: part(-shift),
        is_first_only: false,
    }
}

/// The index of a timestamp field in pairs of times.
fn place(source: Source) -> u8 {
    match source {
        Source::SlotHeader => 0,
        Source::FrameDescriptor => 1,
    }
}
