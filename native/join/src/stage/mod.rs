// SPDX-License-Identifier: Apache-2.0
//! The join stage: told what came and what time it is, it says which frames to try to read next. It never reads.
//!
//! Between `next` and `joined` or `failed` it is told nothing else. Allocates when it is made and when a map is applied.
//! The twin in plain Python is `joinbarrier/reference/stage.py`.

mod asked;
mod attempt;
mod clocks;
mod config;
mod decide;
mod gate;
mod history;
mod latest;
mod observe;
mod opens;
mod out_times;
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
pub use out_times::OUT_TIMES_MAX;
pub use status::{Status, Waiting};
pub use unmatched::{CAUSE_NAMES, CAUSES, Cause, Unmatched};

use crate::map::{Announced, Need, Refusal};
use decide::Choice;
use gate::Gate;
use history::Input;
use out_times::OutTimes;
use source::Source;
use unmatched::Queue;

const I64_MAX: u64 = i64::MAX as u64;
const HISTORY_MIN: u32 = 64;
const QUEUE_MIN: usize = 1024;
/// Outputs that one call of `next` passes over; the rest waits for the next call.
pub const SKIPS_MAX: usize = 256;

/// A descriptor, with its slot's timestamp where that was read. All ones is null.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// The producer's epoch.
    pub epoch: u64,
    /// The frame's sequence.
    pub seq: u64,
    /// When the descriptor was published.
    pub descriptor_timestamp_ns: u64,
    /// When the frame was captured.
    pub slot_timestamp_ns: u64,
    /// Handed through.
    pub trace_id: u64,
}

/// Of one input, since the start.
#[derive(Clone, Debug, Default)]
pub struct InputCounters {
    /// Rows without it.
    pub absent: u64,
    /// Frames that were lapped or could not be read.
    pub overwritten: u64,
    /// Frames that were not joined, by cause.
    pub unmatched: [u64; CAUSES],
}

/// Since the start.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Rows.
    pub rows: u64,
    /// Outputs that were asked for before they were possible.
    pub ticks_not_ready: u64,
    /// Outputs that gave no row.
    pub skipped_outputs: u64,
    /// Output times that decreased or are out of range.
    pub time_refused: u64,
    /// Streams that were rejected because their times decreased.
    pub regressions: u64,
    /// Frames with numbers above the range of an i64.
    pub out_of_range: u64,
    /// Frames whose sequence did not grow.
    pub repeated: u64,
    /// Frames of before a resume, seen again.
    pub already_decided: u64,
    /// Frames whose entries found no room: nobody drained.
    pub unmatched_dropped: u64,
    /// Maps that name other streams than the inputs'.
    pub maps_refused: u64,
    /// By input.
    pub inputs: Vec<InputCounters>,
}

/// Decisions of one join.
pub struct Stage {
    config: StageConfig,
    streams: Vec<u32>,
    sources: Vec<Source>,
    inputs: Vec<Input>,
    /// The inputs on each stream.
    on: Vec<Box<[usize]>>,
    /// Timestamp fields of each stream that must not decrease, as bits.
    ordered: Vec<u8>,
    gate: Gate,
    queue: Queue,
    counters: Counters,
    out_epoch: u64,
    out_seq: u64,
    map_version: u64,
    lateness_ns: u64,
    stale_timeout_ns: Option<u64>,
    own_start: u64,
    /// The first output that every rule can be fulfilled for.
    start: u64,
    /// The input whose frames make the outputs of sequence and timestamp policies.
    anchor: Option<usize>,
    has_nearest: bool,
    has_excuses: bool,
    has_ended: bool,
    /// Since when the current output waits.
    asked_ns: Option<u64>,
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
            .map(|(at, each)| {
                let capacity = each.ring_slots.max(HISTORY_MIN).next_power_of_two() as usize;
                Input::new(*each, place(each.stream), anchor == Some(at), capacity)
            })
            .collect();
        let mut on = vec![Vec::new(); streams.len()];
        for (at, each) in inputs.iter().enumerate() {
            on[each.source].push(at);
        }
        let on: Vec<Box<[usize]>> = on.into_iter().map(Vec::into_boxed_slice).collect();
        let is_timed = config.policy == PolicyKind::Timestamp;
        let field = |at: &usize| u8::from(is_timed) << inputs[*at].place;
        let ordered = on.iter().map(|inputs| inputs.iter().map(field).fold(0, |bits, bit| bits | bit)).collect();
        let period_ns = if let Drive::Clock { period_ns } = config.drive { period_ns } else { 0 };
        let own_start =
            config.inputs.iter().map(|each| start(each.need, config.has_timestamp_map())).max().unwrap_or(0);
        let count = inputs.len();
        let waiting: usize = inputs.iter().map(Input::capacity).sum();
        let mut stage = Self {
            sources: vec![Source::default(); streams.len()],
            on,
            ordered,
            gate: Gate::new(&config),
            queue: Queue::new((4 * waiting).max(QUEUE_MIN), count),
            counters: Counters { inputs: vec![InputCounters::default(); count], ..Counters::default() },
            out_epoch: config.out_epoch,
            out_seq: 0,
            map_version: 0,
            lateness_ns: 0,
            stale_timeout_ns: None,
            own_start,
            start: own_start,
            anchor,
            has_nearest: is_timed && inputs.iter().any(Input::is_nearest),
            has_excuses: config.inputs.iter().any(|each| each.optional || each.deadline_ns > 0),
            has_ended: false,
            asked_ns: None,
            is_counted: false,
            absent: vec![None; count].into_boxed_slice(),
            spare: vec![None; count].into_boxed_slice(),
            choices: vec![Choice::Nothing; count].into_boxed_slice(),
            picks: vec![Pick::Absent(Absence::NotJoined); count].into_boxed_slice(),
            order: 0,
            times: OutTimes::new(period_ns),
            last_watermark_ms: None,
            counting: sequence::Counting::default(),
            timing: timestamp::Timing::default(),
            ticking: latest::Ticking::default(),
            is_waiting: false,
            is_stuck: false,
            is_finishing: false,
            inputs,
            streams,
            config,
        };
        stage.follow_own_map();
        stage
    }

    /// So that the barrier follows the inputs before the authority has announced a map.
    fn follow_own_map(&mut self) {
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

    // --- The map ---

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

    // --- What goes out ---

    /// An output whose frames to read, if one is possible.
    pub fn next(&mut self, now_ns: u64) -> Option<Attempt<'_>> {
        if self.is_finishing || self.queue.is_backed_up() || !self.gate.is_valid() {
            self.is_stuck = !self.is_finishing;
            return None;
        }
        self.is_waiting = false;
        let is_possible = match self.config.policy {
            PolicyKind::Sequence => self.next_by_sequence(now_ns),
            PolicyKind::Timestamp => self.next_by_timestamp(now_ns),
            PolicyKind::Latest => self.next_by_latest(now_ns),
            PolicyKind::Union => self.next_by_union(),
        };
        self.is_stuck = is_possible || self.is_waiting;
        is_possible.then(|| self.attempt())
    }

    fn attempt(&mut self) -> Attempt<'_> {
        for input in 0..self.inputs.len() {
            self.picks[input] = self.pick(input);
        }
        let (out_seq, out_time) = match self.config.policy {
            PolicyKind::Sequence => (self.counting.n.unwrap_or(0), None),
            PolicyKind::Timestamp => (self.out_seq, self.timing.t),
            PolicyKind::Latest => (self.out_seq, self.ticking.t),
            PolicyKind::Union => (self.out_seq, None),
        };
        let out_time_ns = out_time.and_then(|time| i64::try_from(time).ok());
        Attempt { out_epoch: self.out_epoch, out_seq, out_time_ns, picks: &self.picks }
    }

    #[inline]
    fn pick(&self, input: usize) -> Pick {
        let source = self.inputs[input].source;
        match self.chosen(input) {
            None => Pick::Absent(self.absent[input].unwrap_or(Absence::NotJoined)),
            Some(frame) => Pick::Frame {
                stream: source as u16,
                epoch: self.sources[source].epoch.unwrap_or(0),
                seq: frame.seq,
                timestamp_ns: frame.slot_ns,
                descriptor_timestamp_ns: frame.descriptor_ns,
                trace_id: frame.trace_id,
            },
        }
    }

    /// The attempt's frame of an input cannot be read: it never is tried again. Ask for the next attempt.
    pub fn failed(&mut self, input: usize, cause: Cause, _now_ns: u64) {
        let Some(seq) = self.chosen(input).map(|frame| frame.seq) else { return };
        self.counters.inputs[input].overwritten += u64::from(cause == Cause::Overwritten);
        match self.choices[input] {
            Choice::At(position) => self.inputs[input].at_mut(position).lost = Some(cause),
            Choice::Kept | Choice::Nothing => self.inputs[input].kept = None,
        }
        self.choices[input] = Choice::Nothing;
        self.settle(input);
        if self.config.policy == PolicyKind::Latest {
            self.failed_by_latest(input, seq);
        }
    }

    /// The attempt's row is written.
    pub fn joined(&mut self, now_ns: u64) {
        self.counters.rows += 1;
        for input in 0..self.inputs.len() {
            match self.choices[input] {
                Choice::Nothing => self.counters.inputs[input].absent += 1,
                choice => self.take(input, choice),
            }
        }
        match self.config.policy {
            PolicyKind::Sequence => self.joined_by_sequence(now_ns),
            PolicyKind::Timestamp => self.joined_by_timestamp(),
            PolicyKind::Latest => self.joined_by_latest(),
            PolicyKind::Union => {}
        }
        self.out_seq += 1;
    }

    /// Hands over what was not joined, oldest first. The first that is not taken stays, with all behind it.
    pub fn drain_unmatched(&mut self, take: impl FnMut(&Unmatched) -> bool) -> usize {
        self.queue.drain(take)
    }

    /// Whether all inputs have ended and no output is possible any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let has_all_ended = self.sources.iter().zip(&self.on).all(|(source, on)| {
            let is_awaited = on.iter().any(|input| !self.inputs[*input].config.optional);
            source.is_ended || !(is_awaited || source.is_observed)
        });
        has_all_ended && (!self.is_stuck || self.inputs.iter().all(Input::is_empty))
    }

    /// A clean end: what waits is not joined any more.
    pub fn finish(&mut self, _now_ns: u64) {
        self.is_finishing = true;
        for input in 0..self.inputs.len() {
            self.drop_all(input, Cause::PendingAtEnd);
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
        (self.config.has_timestamp_map() || self.config.max_skew_ns > 0)
            && self.on[stream].iter().any(|input| self.inputs[*input].place == 0)
    }

    fn is_all_observed(&self) -> bool {
        self.inputs.iter().all(|each| each.config.optional || self.sources[each.source].is_observed)
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

fn start(need: Need, is_by_time: bool) -> u64 {
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
