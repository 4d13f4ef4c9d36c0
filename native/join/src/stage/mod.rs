// SPDX-License-Identifier: Apache-2.0
//! The join stage: told what came and what time it is, it says which frames to try to read next. It never reads.
//!
//! Between `next` and `joined` or `failed` it is told nothing else. Allocates when it is made and when a map is applied.
//! The twin in plain Python is `spec/join/stage.py`.

mod asked;
mod attempt;
mod clocks;
mod config;
mod counters;
mod cut;
mod decide;
mod fence;
mod history;
mod latest;
mod map;
mod nearest;
mod needs;
mod observe;
mod opens;
mod out_times;
mod recall;
mod rejected;
mod sequence;
mod source;
mod state;
mod status;
mod timestamp;
mod union;
mod unmatched;

pub use asked::Progress;
pub use attempt::{Absence, Attempt, Pick};
pub use config::{Drive, InputConfig, PolicyKind, Preference, StageConfig};
pub use counters::{Counters, InputCounters};
pub use cut::{Lost, Pending};
pub use observe::Observed;
pub use out_times::OUT_TIMES_MAX;
pub use recall::{Rest, StreamRest};
pub use rejected::Rejection;
pub use status::{Status, Waiting};
pub use unmatched::{CAUSE_NAMES, CAUSES, Cause, Unmatched};

use crate::barrier::{Demand, Kind};
use decide::Choice;
use history::Input;
use out_times::OutTimes;
use source::Source;
use unmatched::Queue;

const I64_MAX: u64 = i64::MAX as u64;
const QUEUE_MIN: usize = 1024;
/// Outputs that one call of `next` passes over; the rest waits for the next call.
pub const SKIPS_MAX: usize = 256;

/// Decisions of one join.
pub struct Stage {
    config: StageConfig,
    streams: Vec<u32>,
    sources: Vec<Source>,
    /// Of each stream the epoch behind its fence, if it has one.
    behind: Vec<Option<Source>>,
    has_fence: bool,
    inputs: Vec<Input>,
    /// The inputs on each stream.
    on: Vec<Box<[usize]>>,
    /// Timestamp fields of each stream that must not decrease, as bits.
    ordered: Vec<u8>,
    kind: Option<Kind>,
    /// The rules, of the map that was applied last.
    demands: Vec<Demand>,
    /// The demand that blocked last. Any value is right, some are quicker.
    blocker: usize,
    has_map: bool,
    /// It was applied since the last call of `next`.
    is_map_fresh: bool,
    /// An input has no rule.
    has_idle: bool,
    queue: Queue,
    counters: Counters,
    out_epoch: u64,
    out_seq: u64,
    map_version: u64,
    lateness_ns: u64,
    stale_timeout_ns: Option<u64>,
    /// The first output that every rule can be fulfilled for.
    start: u64,
    /// The input whose frames make the outputs of sequence and timestamp policies.
    anchor: Option<usize>,
    has_nearest: bool,
    one_to_one: Option<nearest::OneToOne>,
    /// Whether what is asked about is the output after the current one.
    is_looking_ahead: bool,
    has_ended: bool,
    /// Since when the current output waits.
    asked_ns: Option<u64>,
    /// What streams showed was not held against the rules in force yet.
    is_rule_fresh: bool,
    is_counted: bool,
    absent: Box<[Option<Absence>]>,
    spare: Box<[Option<Absence>]>,
    choices: Box<[Choice]>,
    picks: Box<[Pick]>,
    order: u64,
    times: OutTimes,
    last_watermark_ms: Option<u64>,
    counting: sequence::Counting,
    timing: timestamp::Timing,
    ticking: latest::Ticking,
    is_waiting: bool,
    is_stuck: bool,
    is_finishing: bool,
}

impl Stage {
    /// Nothing is attempted until a map is applied; a union needs none.
    #[must_use]
    pub fn new(config: StageConfig) -> Self {
        let streams = config.streams();
        let is_ordered = matches!(config.policy, PolicyKind::Sequence | PolicyKind::Timestamp);
        let anchor = match config.drive {
            Drive::Input(input) if is_ordered => Some(input),
            _ => None,
        };
        let place = |id: u32| streams.iter().position(|known| *known == id).unwrap_or(0);
        let inputs: Vec<Input> = config
            .inputs
            .iter()
            .enumerate()
            .map(|(at, each)| Input::new(*each, place(each.stream), anchor == Some(at), config.history as usize))
            .collect();
        let mut on = vec![Vec::new(); streams.len()];
        for (at, each) in inputs.iter().enumerate() {
            on[each.source].push(at);
        }
        let on: Vec<Box<[usize]>> = on.into_iter().map(Vec::into_boxed_slice).collect();
        let is_timed = config.policy == PolicyKind::Timestamp;
        let period_ns = if let Drive::Clock { period_ns } = config.drive { period_ns } else { 0 };
        let count = inputs.len();
        let waiting: usize = inputs.iter().map(Input::room).sum();
        let mut stage = Self {
            sources: vec![Source::default(); streams.len()],
            behind: vec![None; streams.len()],
            has_fence: false,
            ordered: vec![0; on.len()],
            on,
            kind: config.kind(),
            demands: Vec::new(),
            blocker: 0,
            has_map: config.kind().is_none(),
            is_map_fresh: false,
            has_idle: false,
            queue: Queue::new((2 * waiting).max(QUEUE_MIN), count),
            counters: Counters { inputs: vec![InputCounters::default(); count], ..Counters::default() },
            out_epoch: config.out_epoch,
            out_seq: 0,
            map_version: 0,
            lateness_ns: 0,
            stale_timeout_ns: None,
            start: 0,
            anchor,
            has_nearest: is_timed && inputs.iter().any(Input::is_nearest),
            one_to_one: (is_timed && inputs.iter().any(Input::is_one_to_one)).then(|| nearest::OneToOne::new(&config)),
            is_looking_ahead: false,
            has_ended: false,
            asked_ns: None,
            is_rule_fresh: false,
            is_counted: false,
            absent: vec![None; count].into_boxed_slice(),
            spare: vec![None; count].into_boxed_slice(),
            choices: vec![Choice::Nothing; count].into_boxed_slice(),
            picks: vec![Pick::Absent(Absence::NotJoined); count].into_boxed_slice(),
            order: 0,
            times: OutTimes::new(period_ns),
            last_watermark_ms: None,
            counting: sequence::Counting { n: config.first, first: config.first, last_row: None },
            timing: timestamp::Timing::default(),
            ticking: latest::Ticking::default(),
            is_waiting: false,
            is_stuck: false,
            is_finishing: false,
            inputs,
            streams,
            config,
        };
        stage.order_times();
        stage
    }

    // --- What was not joined, and the end ---

    /// Hands over what was not joined, oldest first. The first that is not taken stays, with all behind it.
    pub fn drain_unmatched(&mut self, take: impl FnMut(&Unmatched) -> bool) -> usize {
        self.queue.drain(take)
    }

    /// Whether every input has ended that an output may still wait for.
    #[must_use]
    pub fn has_all_ended(&self) -> bool {
        self.has_all_ended_in(|stream| self.newest(stream))
    }

    /// Whether all inputs have ended and no output is possible any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !self.has_fence && self.has_all_ended() && (!self.is_stuck || self.inputs.iter().all(Input::is_empty))
    }

    /// A clean end: what waits is not joined any more.
    pub fn finish(&mut self, _now_ns: u64) {
        self.is_finishing = true;
        loop {
            for input in 0..self.inputs.len() {
                self.drop_all(input, Cause::PendingAtEnd);
            }
            if !self.has_fence {
                return;
            }
            // What stands behind it waits too.
            self.close_epoch();
        }
    }

    // --- What is told about it ---

    /// Since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Stream ids, by the index that the other functions take.
    #[must_use]
    pub fn streams(&self) -> &[u32] {
        &self.streams
    }

    /// Whether a slot's header is to be read at arrival.
    #[must_use]
    pub fn needs_slot_time(&self, stream: usize) -> bool {
        // Any map may ask for it.
        self.config.reads_times()
            || self.config.max_skew_ns > 0 && self.on[stream].iter().any(|input| self.inputs[*input].place == 0)
    }

    /// Whether outputs wait for an input.
    fn is_required(&self, input: usize) -> bool {
        !self.inputs[input].config.optional && self.takes_part(input)
    }

    fn is_all_observed(&self) -> bool {
        (0..self.inputs.len())
            .all(|input| !self.is_required(input) || self.sources[self.inputs[input].source].is_observed)
    }

    /// Counts an output that was asked for in vain, once.
    fn not_ready(&mut self) {
        self.counters.ticks_not_ready += u64::from(!self.is_counted);
        self.is_counted = true;
    }

    /// Another output is the current one.
    #[inline]
    fn next_output(&mut self) {
        (self.asked_ns, self.is_counted) = (None, false);
    }
}
