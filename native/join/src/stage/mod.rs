// SPDX-License-Identifier: Apache-2.0
//! The join stage: told what came and what time it is, it says which frames to try to read next. It never reads.
//!
//! Between `next` and `joined` or `failed` it is told nothing else. Allocates when it is made and when a map is applied.
//! The twin in plain Python is `spec/join/stage.py`.

mod attempt;
mod by_anchor;
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
mod policy;
mod progress;
mod recall;
mod rejected;
mod sequence;
mod source;
mod state;
mod status;
mod timestamp;
mod union;
mod unmatched;

pub use attempt::{Absence, Attempt, Pick};
pub use config::{Drive, InputConfig, PolicyKind, Preference, StageConfig};
pub use counters::{Counters, InputCounters};
pub use cut::{Lost, Pending};
pub use observe::Observed;
pub use out_times::OUT_TIMES_MAX;
pub use progress::Progress;
pub use recall::{Rest, StreamRest};
pub use rejected::Rejection;
pub use status::{Status, Waiting};
pub use unmatched::{CAUSE_NAMES, CAUSES, Cause, Unmatched};

use decide::Current;
use history::Input;
use map::Rules;
use policy::Numbers;
use source::Streams;
use unmatched::Queue;

const I64_MAX: u64 = i64::MAX as u64;
const QUEUE_MIN: usize = 1024;
/// Outputs that one call of `next` passes over; the rest waits for the next call.
pub const SKIPS_MAX: usize = 256;

/// Decisions of one join.
pub struct Stage {
    config: StageConfig,
    streams: Streams,
    inputs: Vec<Input>,
    rules: Rules,
    current: Current,
    numbers: Numbers,
    out_epoch: u64,
    out_seq: u64,
    queue: Queue,
    counters: Counters,
    by_input: Vec<InputCounters>,
    /// Frames that came, for the order among inputs.
    order: u64,
    /// The last `next` found something that is only not possible yet.
    is_waiting: bool,
    is_stuck: bool,
    is_finishing: bool,
}

impl Stage {
    /// Nothing is attempted until a map is applied; a union needs none.
    #[must_use]
    pub fn new(config: StageConfig) -> Self {
        let numbers = Numbers::new(&config);
        let streams = Streams::new(&config);
        let inputs: Vec<Input> = config
            .inputs
            .iter()
            .enumerate()
            .map(|(at, each)| {
                Input::new(
                    *each,
                    streams.place(each.stream).unwrap_or(0),
                    numbers.anchor == Some(at),
                    config.history as usize,
                )
            })
            .collect();
        let count = inputs.len();
        let waiting: usize = inputs.iter().map(Input::room).sum();
        let mut stage = Self {
            rules: Rules::of(config.kind()),
            current: Current::new(count),
            numbers,
            streams,
            out_epoch: config.out_epoch,
            out_seq: 0,
            queue: Queue::new((2 * waiting).max(QUEUE_MIN), count),
            counters: Counters::default(),
            by_input: vec![InputCounters::default(); count],
            order: 0,
            is_waiting: false,
            is_stuck: false,
            is_finishing: false,
            inputs,
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
        !self.streams.has_fence && self.has_all_ended() && (!self.is_stuck || self.inputs.iter().all(Input::is_empty))
    }

    /// A clean end: what waits is not joined any more.
    pub fn finish(&mut self, _now_ns: u64) {
        self.is_finishing = true;
        loop {
            for input in 0..self.inputs.len() {
                self.drop_all(input, Cause::PendingAtEnd);
            }
            if !self.streams.has_fence {
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

    /// The same of each input.
    #[must_use]
    pub fn input_counters(&self) -> &[InputCounters] {
        &self.by_input
    }

    /// Stream ids, by the index that the other functions take.
    #[must_use]
    pub fn streams(&self) -> &[u32] {
        &self.streams.ids
    }

    /// Whether a slot's header is to be read at arrival.
    #[must_use]
    pub fn needs_slot_time(&self, stream: usize) -> bool {
        // Any map may ask for it.
        self.config.reads_times()
            || self.config.max_skew_ns > 0 && self.streams.on[stream].iter().any(|input| self.inputs[*input].place == 0)
    }

    /// Whether outputs wait for an input.
    fn is_required(&self, input: usize) -> bool {
        !self.inputs[input].config.optional && self.takes_part(input)
    }

    fn is_all_observed(&self) -> bool {
        (0..self.inputs.len())
            .all(|input| !self.is_required(input) || self.streams.sources[self.inputs[input].source].is_observed)
    }

    /// Counts an output that was asked for in vain, once.
    fn not_ready(&mut self) {
        self.counters.ticks_not_ready += u64::from(!self.current.is_counted);
        self.current.is_counted = true;
    }

    /// Another output is the current one.
    #[inline]
    fn next_output(&mut self) {
        (self.current.asked_ns, self.current.is_counted) = (None, false);
    }
}
