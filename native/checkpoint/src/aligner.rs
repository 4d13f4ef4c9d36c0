// SPDX-License-Identifier: Apache-2.0
//! Aligned checkpoints: an input waits behind its barrier until every input has delivered it.

use framegate_counters::counters;

use crate::INPUTS_MAX;
use crate::history::History;
use crate::message::{CheckpointBarrier, StreamMessage, Watermark};
use crate::queues::Queues;
use crate::watermarks::Watermarks;

/// Most events that can wait at all inputs together, whatever the limit of one input is.
pub const BUFFERED_EVENTS_MAX: usize = 1 << 24;

pub use crate::history::Ignored;

/// The limits of an aligner.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many inputs there are, 1 to [`INPUTS_MAX`].
    pub inputs: usize,
    /// Most events that may wait at one input.
    pub events_per_input: usize,
    /// Most bytes that may wait at all inputs together.
    pub bytes: u64,
    /// How long an alignment may take.
    pub timeout_ns: u64,
    /// The id up to which checkpoints are over.
    pub floor: u64,
}

/// Why a checkpoint is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortCause {
    /// The alignment took too long.
    Timeout,
    /// The events of all inputs together took too many bytes.
    MemoryLimit,
    /// One input had too many waiting events.
    InputLimit,
    /// The events that a late input delivered took too many bytes.
    InflightLimit,
    /// A barrier with a higher id came first.
    HigherBarrier,
    /// An input that owes its barrier was lost.
    InputLost,
    /// A late barrier did not come in time.
    LateBarrierTimeout,
    /// The coordinator aborted it.
    Coordinator,
}

/// An aborted checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// Its barrier.
    pub barrier: CheckpointBarrier,
    /// Why it was aborted.
    pub cause: AbortCause,
    /// The input at fault, if there is one.
    pub input: Option<usize>,
    /// A bit for each input that had not delivered the barrier.
    pub pending: u128,
}

/// What to do with a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<T> {
    /// Process the event now.
    PassThrough(T),
    /// The input's time has reached this watermark.
    Watermark(Watermark),
    /// Nothing: the event waits behind its input's barrier.
    Buffered,
    /// Nothing: the input is blocked now, for this barrier.
    Blocked(CheckpointBarrier),
    /// Take a snapshot now, then forward the barrier and call [`BarrierAligner::complete_alignment`].
    TriggerSnapshot(CheckpointBarrier),
    /// The input's queue is full: the event is handed back.
    InputFull(T),
    /// Nothing: the barrier does not count any more.
    Ignored(Ignored, CheckpointBarrier),
    /// The checkpoint was aborted.
    Aborted(Aborted),
}

/// A barrier came, or an alignment was completed, at a time when it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateError {
    /// The checkpoint under way, if there is one.
    pub current: Option<CheckpointBarrier>,
}

counters! {
    /// What an aligner did since the start.
    pub struct AlignerCounters {
        /// Alignments that ended in a snapshot.
        alignments_completed,
        /// Events that had to wait.
        total_events_buffered,
        /// The longest alignment.
        max_alignment_duration,
        /// Alignments that were aborted.
        aborts,
        /// Events that were handed back because their input's queue was full.
        input_full,
        /// Barriers of checkpoints that are over.
        ignored_stale,
        /// Barriers that came twice.
        ignored_duplicate,
        /// Barriers of aborted checkpoints.
        ignored_aborted,
        /// Barriers of one checkpoint with different epochs.
        epoch_mismatches,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Aligning,
    /// The operator was told to take a snapshot, and has not confirmed it.
    Triggered,
}

/// The state of an aligner, without limits, counters and waiting events.
#[derive(Debug)]
struct State {
    phase: Phase,
    barrier: CheckpointBarrier,
    started_ns: u64,
    /// A bit for each input that has delivered its barrier, or delivers nothing any more.
    delivered: u128,
    /// A bit for each input that has ended, or was lost and did not come back.
    left_out: u128,
    every: u128,
    held_bytes: u64,
}

// The rest lies in memory of its own: waiting events, 64 aborted ids, each input's watermarks, and the counters.
const _: () = assert!(
    size_of::<State>() + size_of::<History>() + size_of::<Limits>() + size_of::<Watermarks>() < 200,
    "the state of an aligner is small"
);

/// Aligns at most one checkpoint at a time. Process the events that it hands to a callback in that order.
#[derive(Debug)]
pub struct BarrierAligner<T> {
    state: State,
    pub(crate) history: History,
    limits: Limits,
    pub(crate) counters: AlignerCounters,
    watermarks: Watermarks,
    waiting: Queues<T>,
}

impl<T> BarrierAligner<T> {
    /// Makes an aligner, and reserves the memory for all events that the limits allow.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        assert!((1..=INPUTS_MAX).contains(&limits.inputs), "1 to 128 inputs");
        let every = u128::MAX >> (INPUTS_MAX - limits.inputs);
        let barrier = CheckpointBarrier::new(0, 0);
        let phase = Phase::Idle;
        Self {
            state: State { phase, barrier, started_ns: 0, delivered: 0, left_out: 0, every, held_bytes: 0 },
            history: History::new(limits.floor),
            limits,
            counters: AlignerCounters::default(),
            watermarks: Watermarks::new(),
            waiting: Queues::new(limits.inputs.saturating_mul(limits.events_per_input).min(BUFFERED_EVENTS_MAX)),
        }
    }

    /// Takes the memory for events from the system now.
    pub fn prefault(&mut self) {
        self.waiting.prefault();
    }

    pub(crate) const fn set_timeout(&mut self, timeout_ns: u64) {
        self.limits.timeout_ns = timeout_ns;
    }

    /// Says what to do with a message of an input, which takes `bytes`. `released` gets the events that a cancelled or
    /// aborted alignment had held back; they are older than the message's barrier.
    // Always inlined. Otherwise a barrier that its caller has in registers is written to memory in parts and read back
    // as a whole, which costs more than everything else done with it.
    #[inline(always)]
    pub fn process(
        &mut self,
        input: usize,
        message: StreamMessage<T>,
        bytes: u64,
        now_ns: u64,
        released: &mut impl FnMut(usize, T),
    ) -> Result<Action<T>, StateError> {
        match message {
            StreamMessage::Event(event) => Ok(self.event(input, event, bytes, released)),
            StreamMessage::Watermark(watermark) => {
                self.watermarks.see(input, watermark, self.is_blocked(input));
                Ok(Action::Watermark(watermark))
            }
            StreamMessage::Barrier(barrier) => self.barrier(input, barrier, now_ns, released),
        }
    }

    #[inline]
    fn event(&mut self, input: usize, event: T, bytes: u64, released: &mut impl FnMut(usize, T)) -> Action<T> {
        if !self.is_blocked(input) {
            return Action::PassThrough(event);
        }
        match self.refusal(input, bytes) {
            None => self.hold(input, event, bytes),
            Some(AbortCause::InputLimit) => {
                self.counters.input_full += 1;
                Action::InputFull(event)
            }
            Some(cause) => Action::Aborted(self.overflow(cause, input, event, released)),
        }
    }

    #[inline]
    fn hold(&mut self, input: usize, event: T, bytes: u64) -> Action<T> {
        let is_held = self.waiting.push(input, event);
        debug_assert!(is_held, "`refusal` was asked first");
        self.state.held_bytes += bytes;
        self.counters.total_events_buffered += 1;
        Action::Buffered
    }

    /// The limit that an event would exceed, asked before it is taken.
    #[inline]
    #[must_use]
    pub fn refusal(&self, input: usize, bytes: u64) -> Option<AbortCause> {
        if self.waiting.count(input) >= self.limits.events_per_input {
            return Some(AbortCause::InputLimit);
        }
        let held = self.state.held_bytes.checked_add(bytes);
        let is_over = self.waiting.is_full() || held.is_none_or(|held| held > self.limits.bytes);
        if is_over { Some(AbortCause::MemoryLimit) } else { None }
    }

    #[inline(always)]
    fn barrier(
        &mut self,
        input: usize,
        barrier: CheckpointBarrier,
        now_ns: u64,
        released: &mut impl FnMut(usize, T),
    ) -> Result<Action<T>, StateError> {
        let current = self.state.barrier;
        let current_id = match self.state.phase {
            Phase::Triggered => return Err(StateError { current: Some(current) }),
            Phase::Aligning if barrier.checkpoint_id == current.checkpoint_id => {
                return Ok(self.deliver(input, barrier, now_ns));
            }
            Phase::Aligning => current.checkpoint_id,
            Phase::Idle => 0,
        };
        if let Some(verdict) = self.history.verdict(barrier.checkpoint_id, current_id) {
            return Ok(self.ignore(verdict, barrier));
        }
        if self.state.phase == Phase::Aligning {
            self.cancel(released);
        }
        self.state.phase = Phase::Aligning;
        self.state.barrier = barrier;
        self.state.started_ns = now_ns;
        self.state.delivered = self.state.left_out | 1 << input;
        Ok(self.progress(now_ns))
    }

    /// Aborts the current checkpoint because a higher barrier came.
    #[cold]
    fn cancel(&mut self, released: &mut impl FnMut(usize, T)) {
        self.give_up();
        self.release(released);
    }

    #[inline]
    fn deliver(&mut self, input: usize, barrier: CheckpointBarrier, now_ns: u64) -> Action<T> {
        if self.state.delivered >> input & 1 == 1 {
            return self.ignore(Ignored::Duplicate, barrier);
        }
        self.counters.epoch_mismatches += u64::from(barrier.epoch != self.state.barrier.epoch);
        self.state.delivered |= 1 << input;
        self.progress(now_ns)
    }

    #[inline]
    fn progress(&mut self, now_ns: u64) -> Action<T> {
        if self.state.delivered == self.state.every {
            Action::TriggerSnapshot(self.trigger(now_ns))
        } else {
            Action::Blocked(self.state.barrier)
        }
    }

    #[inline]
    fn trigger(&mut self, now_ns: u64) -> CheckpointBarrier {
        self.state.phase = Phase::Triggered;
        self.counters.alignments_completed += 1;
        let lasted_ns = now_ns.saturating_sub(self.state.started_ns);
        self.counters.max_alignment_duration = self.counters.max_alignment_duration.max(lasted_ns);
        self.state.barrier
    }

    #[cold]
    fn ignore(&mut self, verdict: Ignored, barrier: CheckpointBarrier) -> Action<T> {
        self.count_ignored(verdict);
        Action::Ignored(verdict, barrier)
    }

    pub(crate) const fn count_ignored(&mut self, verdict: Ignored) {
        match verdict {
            Ignored::Stale => self.counters.ignored_stale += 1,
            Ignored::Duplicate => self.counters.ignored_duplicate += 1,
            Ignored::Aborted => self.counters.ignored_aborted += 1,
        }
    }

    /// Completes the alignment after the snapshot was taken and the barrier forwarded. `drained` gets the events that
    /// waited behind the barriers.
    #[inline]
    pub fn complete_alignment(&mut self, drained: &mut impl FnMut(usize, T)) -> Result<(), StateError> {
        if self.state.phase != Phase::Triggered {
            return Err(StateError { current: self.current() });
        }
        self.history.finish(self.state.barrier.checkpoint_id);
        self.release(drained);
        Ok(())
    }

    /// Ends the alignment for an unaligned snapshot. Returns its barrier and the inputs that delivered it; waiting
    /// events stay until [`Self::release`].
    pub(crate) fn take_over(&mut self) -> (CheckpointBarrier, u128) {
        self.history.finish(self.state.barrier.checkpoint_id);
        self.state.phase = Phase::Idle;
        (self.state.barrier, self.state.delivered)
    }

    /// Hands out all waiting events, and unblocks every input.
    #[inline]
    pub(crate) fn release(&mut self, out: &mut impl FnMut(usize, T)) {
        self.state.phase = Phase::Idle;
        self.watermarks.unblock();
        if !self.waiting.is_empty() {
            self.waiting.drain(out);
            self.state.held_bytes = 0;
        }
    }

    /// Aborts an alignment that has taken longer than the timeout.
    pub fn check_timeout(&mut self, now_ns: u64, released: &mut impl FnMut(usize, T)) -> Option<Aborted> {
        if self.state.phase == Phase::Triggered || !self.is_overdue(now_ns) {
            return None;
        }
        let aborted = self.abort_current(AbortCause::Timeout, None);
        self.release(released);
        Some(aborted)
    }

    /// Aborts the current checkpoint if `checkpoint_id` names it or is None; otherwise remembers that id as aborted.
    pub fn abort(&mut self, checkpoint_id: Option<u64>, released: &mut impl FnMut(usize, T)) -> Option<Aborted> {
        let current = self.current().map(|barrier| barrier.checkpoint_id);
        if current.is_some() && (checkpoint_id.is_none() || checkpoint_id == current) {
            let aborted = self.abort_current(AbortCause::Coordinator, None);
            self.release(released);
            return Some(aborted);
        }
        if let Some(checkpoint_id) = checkpoint_id {
            self.history.abort(checkpoint_id);
        }
        None
    }

    /// Aborts the current checkpoint. Waiting events stay until [`Self::release`].
    pub(crate) fn abort_current(&mut self, cause: AbortCause, input: Option<usize>) -> Aborted {
        let pending = self.pending();
        self.give_up();
        Aborted { barrier: self.state.barrier, cause, input, pending }
    }

    /// Aborts because an event found no space. The event itself is released last, so that order is kept.
    pub(crate) fn overflow(
        &mut self,
        cause: AbortCause,
        input: usize,
        event: T,
        released: &mut impl FnMut(usize, T),
    ) -> Aborted {
        let aborted = self.abort_current(cause, None);
        self.release(released);
        released(input, event);
        aborted
    }

    fn give_up(&mut self) {
        self.counters.aborts += 1;
        self.history.abort(self.state.barrier.checkpoint_id);
        self.state.phase = Phase::Idle;
    }

    /// Notes that an input has ended: it counts as delivering the current and every later barrier.
    pub fn end_input(&mut self, input: usize, now_ns: u64) -> Option<CheckpointBarrier> {
        self.state.left_out |= 1 << input;
        if self.state.phase != Phase::Aligning {
            return None;
        }
        self.state.delivered |= 1 << input;
        if self.state.delivered == self.state.every { Some(self.trigger(now_ns)) } else { None }
    }

    /// Notes that an input was lost. If it owes a barrier, the checkpoint is aborted; later ones do without it.
    pub fn lose_input(&mut self, input: usize, released: &mut impl FnMut(usize, T)) -> Option<Aborted> {
        let owes = self.pending() >> input & 1 == 1;
        self.state.left_out |= 1 << input;
        if !owes {
            return None;
        }
        let aborted = self.abort_current(AbortCause::InputLost, Some(input));
        self.release(released);
        Some(aborted)
    }

    /// Notes that an input is back, in a new epoch: it takes part from the next checkpoint on.
    pub const fn resume_input(&mut self, input: usize) {
        self.state.left_out &= !(1 << input);
    }

    /// Whether events of this input have to wait.
    #[inline]
    #[must_use]
    pub fn is_blocked(&self, input: usize) -> bool {
        self.state.phase != Phase::Idle && self.state.delivered >> input & 1 == 1
    }

    /// Whether a checkpoint is under way.
    #[inline]
    #[must_use]
    pub fn is_aligning(&self) -> bool {
        self.state.phase != Phase::Idle
    }

    /// Whether the alignment has taken longer than the timeout.
    #[inline]
    #[must_use]
    pub fn is_overdue(&self, now_ns: u64) -> bool {
        self.is_aligning() && now_ns.saturating_sub(self.state.started_ns) > self.limits.timeout_ns
    }

    /// The barrier being aligned.
    #[inline]
    #[must_use]
    pub fn current(&self) -> Option<CheckpointBarrier> {
        self.is_aligning().then_some(self.state.barrier)
    }

    /// A bit for each input that has not delivered the current barrier.
    #[inline]
    #[must_use]
    pub fn pending(&self) -> u128 {
        if self.is_aligning() { self.state.every & !self.state.delivered } else { 0 }
    }

    /// A bit for every input.
    #[inline]
    #[must_use]
    pub const fn every(&self) -> u128 {
        self.state.every
    }

    /// How many inputs have delivered the current barrier.
    #[must_use]
    pub fn aligned_inputs(&self) -> u32 {
        if self.is_aligning() { self.state.delivered.count_ones() } else { 0 }
    }

    /// How many events wait.
    #[must_use]
    pub const fn buffered_events(&self) -> usize {
        self.waiting.len()
    }

    /// How many bytes the waiting events take.
    #[must_use]
    pub const fn buffered_bytes(&self) -> u64 {
        self.state.held_bytes
    }

    /// What the aligner did since the start.
    #[must_use]
    pub const fn counters(&self) -> AlignerCounters {
        self.counters
    }

    /// The watermark of an input that counts. While the input is blocked, that is the one from before its barrier.
    #[must_use]
    pub fn input_watermark(&self, input: usize) -> Option<i64> {
        self.watermarks.counted(input)
    }

    /// The lowest watermark of the inputs that can still bring events.
    #[must_use]
    pub fn operator_watermark(&self) -> Option<i64> {
        let can_bring = |input: &usize| self.state.left_out >> *input & 1 == 0 || self.waiting.has(*input);
        self.watermarks.operator((0..self.limits.inputs).filter(can_bring))
    }

    /// How many inputs there are.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.limits.inputs
    }
}
