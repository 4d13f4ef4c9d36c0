// SPDX-License-Identifier: Apache-2.0
//! The join stage: a state machine that is told what came and what time it is, and says which frames to read next. It
//! never reads them itself.
//!
//! Between `next` and `joined` or `failed`, nothing else may be called. A stage allocates only when it is made and when
//! a map is applied. `spec/join/stage.py` is the twin in plain Python.

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
pub use config::{Drive, InputConfig, Preference, StageConfig};
pub use counters::{Counters, InputCounters};
pub use cut::{Lost, Pending};
pub use observe::Observed;
pub use out_times::OUT_TIMES_MAX;
pub use policy::PolicyKind;
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
/// Most outputs that one call of `next` skips; the next call goes on.
pub const SKIPS_MAX: usize = 256;

/// The state machine of one join.
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
    /// How many frames came; orders frames of different inputs.
    order: u64,
    /// Whether the previous `next` found an output that is only not possible yet.
    is_waiting: bool,
    is_stuck: bool,
    is_finishing: bool,
}

impl Stage {
    /// Makes a stage. It attempts nothing until a map is applied, except that a union needs no map.
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
        let waiting: usize = inputs.iter().map(Input::capacity).sum();
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

    /// Hands out the unmatched, oldest first. The first that `take` refuses stays, with all behind it.
    pub fn drain_unmatched(&mut self, take: impl FnMut(&Unmatched) -> bool) -> usize {
        self.queue.drain(take)
    }

    /// Whether every input has ended that an output may still wait for.
    #[must_use]
    pub fn has_all_ended(&self) -> bool {
        self.has_all_ended_in(|stream| self.newest(stream))
    }

    /// Whether all inputs have ended and no more output is possible.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !self.streams.has_fence && self.has_all_ended() && (!self.is_stuck || self.inputs.iter().all(Input::is_empty))
    }

    /// Ends the join cleanly: waiting frames are recorded as pending at the end.
    pub fn finish(&mut self, _now_ns: u64) {
        self.is_finishing = true;
        loop {
            for input in 0..self.inputs.len() {
                self.drop_all(input, Cause::PendingAtEnd);
            }
            if !self.streams.has_fence {
                return;
            }
            // What waits behind the fences is recorded too.
            self.close_epoch();
        }
    }

    // --- What is told about it ---

    /// What was counted since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What was counted of each input.
    #[must_use]
    pub fn input_counters(&self) -> &[InputCounters] {
        &self.by_input
    }

    /// The stream ids, by the index that the other functions take.
    #[must_use]
    pub fn streams(&self) -> &[u32] {
        &self.streams.ids
    }

    /// Whether a slot's header has to be read when its frame comes.
    #[must_use]
    pub fn needs_slot_time(&self, stream: usize) -> bool {
        // Any map may ask for its time.
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

    /// Counts once that the current output was asked for before it was possible.
    fn not_ready(&mut self) {
        self.counters.ticks_not_ready += u64::from(!self.current.is_counted);
        self.current.is_counted = true;
    }

    /// Goes on to the next output.
    #[inline]
    fn next_output(&mut self) {
        (self.current.asked_ns, self.current.is_counted) = (None, false);
    }
}
