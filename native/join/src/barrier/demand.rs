// SPDX-License-Identifier: Apache-2.0
//! Rules as they are evaluated: both kinds, offsets and windows, become a first output and what lies ahead or back.

use super::seen::{Cursor, Seen};
use super::{Kind, Reason};
use crate::map::{MergeMap, Need, Rule, Source, Times};

/// What a demand looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// Sequences.
    Seq,
    /// Times of this place: 0 slot header, 1 frame descriptor.
    Time(u8),
    /// The newest frame, wherever it stands.
    Newest,
}

/// Output `out` needs `out + ahead - back` of its input, not less than 0, from output `start` on.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Index of the input.
    pub input: u16,
    field: Field,
    /// Every timestamp field that any rule of this input reads, as bits.
    sources: u8,
    /// Whether what was consumed downstream counts too.
    needs_processed: bool,
    /// The first output that the rule can be fulfilled for.
    start: u64,
    /// By how much the input must be ahead of the output. At most one of the two is not 0.
    ahead: u64,
    /// By how much it may be back: an offset or the map's lateness.
    back: u64,
    /// Whether any frame of the input fulfils it, whatever its time.
    pub is_first_only: bool,
}

/// What a demand means for an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is met.
    Met,
    /// It is not, and its input is silent for too long to be waited for.
    Stale,
    /// It is not.
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

    /// The same, wherever those are who consume the input.
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
        // Beyond the last number there is none to wait for: the rule stays behind.
        (!self.is_first_only && self.required(out).is_none_or(|least| known < least)).then_some(Reason::Behind)
    }

    /// What becomes of an output: a stale input is absent. There is no rule that an old value of the latest policy could
    /// fulfil, so there it is absent whatever it last showed.
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

    /// The timestamp field that it reads.
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

    /// What an output needs of the input; None: more than there can be.
    #[inline]
    fn required(&self, out: u64) -> Option<u64> {
        Some(out.checked_add(self.ahead)?.saturating_sub(self.back))
    }
}

/// One demand for each rule or, where parameters are ignored, for each input. `index_of` names a stream's input.
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

/// The first output that a rule can be fulfilled for.
#[must_use]
pub fn start(need: Need, is_by_time: bool) -> u64 {
    match need {
        Need::Offset(offset) => offset.min(0).unsigned_abs(),
        // [t - w, t] starts at t = w; [n - N + 1, n] one earlier.
        Need::Window(window) => window - u64::from(!is_by_time),
    }
}

fn demand(rule: &Rule, kind: Kind, input: u16, times: Option<&Times>) -> Demand {
    let shift = if let Need::Offset(offset) = rule.need { offset.into() } else { 0 };
    let shift = shift - times.map_or(0, |times| i128::from(times.lateness_ns));
    // More back than any output is as much as the last output.
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

/// The place of a timestamp field in pairs of times.
fn place(source: Source) -> u8 {
    match source {
        Source::SlotHeader => 0,
        Source::FrameDescriptor => 1,
    }
}
