// SPDX-License-Identifier: Apache-2.0
//! Aligned checkpoints: an input waits behind its barrier until every input has delivered it.

use framegate_counters::counters;

use crate::INPUTS_MAX;
use crate::history::History;
use crate::message::{CheckpointBarrier, StreamMessage, Watermark};
use crate::queues::Queues;
use crate::watermarks::Watermarks;

/// Events that can wait at all inputs together, whatever the limit of one is.
pub const BUFFERED_EVENTS_MAX: usize = 1 << 24;

pub use crate::history::Ignored;

/// Limits and time-out.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// 1 to [`INPUTS_MAX`].
    pub inputs: usize,
    /// Events that may wait at one input.
    pub events_per_input: usize,
    /// Bytes that may wait at all inputs together.
    pub bytes: u64,
    /// How long an alignment may take.
    pub timeout_ns: u64,
    /// Ids up to this one are over.
    pub floor: u64,
}

/// Why a checkpoint is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortCause {
    /// The alignment took too long.
    Timeout,
    /// The bytes of all inputs together.
    MemoryLimit,
    /// The events of one input.
    InputLimit,
    /// What an input delivered late outgrew its limit.
    InflightLimit,
    /// A barrier with a higher id came first.
    HigherBarrier,
    /// An input that owes its barrier crashed.
    InputLost,
    /// A late barrier stayed out.
    LateBarrierTimeout,
    /// The coordinator said so.
    Coordinator,
}

/// A checkpoint that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// Its barrier.
    pub barrier: CheckpointBarrier,
    /// Why.
    pub cause: AbortCause,
    /// The input that is to blame, where there is one.
    pub input: Option<usize>,
    /// A bit for each input that had not delivered the barrier.
    pub pending: u128,
}

/// What to do about a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<T> {
    /// Process it now.
    PassThrough(T),
    /// Time has come that far at its input.
    Watermark(Watermark),
    /// It waits behind its input's barrier.
    Buffered,
    /// Its input is blocked now, for this barrier.
    Blocked(CheckpointBarrier),
    /// Snapshot now, then forward the barrier and call [`BarrierAligner::complete_alignment`].
    TriggerSnapshot(CheckpointBarrier),
    /// There is no room at its input: it is handed back.
    InputFull(T),
    /// The barrier means nothing any more.
    Ignored(Ignored, CheckpointBarrier),
    /// The checkpoint is given up.
    Aborted(Aborted),
}

/// A barrier came, or the alignment was completed, where that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateError {
    /// The checkpoint that is under way, if any.
    pub current: Option<CheckpointBarrier>,
}

counters! {
    /// What was done since the start.
    pub struct AlignerCounters {
        /// Alignments that ended in a snapshot.
        alignments_completed,
        /// Events that had to wait.
        total_events_buffered,
        /// The longest alignment.
        max_alignment_duration,
        /// Alignments that were given up.
        aborts,
        /// Events that were handed back.
        input_full,
        /// Barriers of checkpoints that are over.
        ignored_stale,
        /// Barriers that came twice.
        ignored_duplicate,
        /// Barriers of checkpoints that were given up.
        ignored_aborted,
        /// Barriers of one checkpoint with different epochs.
        epoch_mismatches,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Aligning,
    /// The operator was told to snapshot, and has not said that it did.
    Triggered,
}

/// Everything but limits, counters and what waits.
#[derive(Debug)]
struct State {
    phase: Phase,
    barrier: CheckpointBarrier,
    started_ns: u64,
    /// A bit for each input that has delivered its barrier, or will deliver nothing any more.
    delivered: u128,
    /// A bit for each input that has ended, or was lost and is not back.
    left_out: u128,
    every: u128,
    held_bytes: u64,
}

// Beside it, in memory of their own: events that wait, 64 aborted ids, each input's watermarks; and the counters.
const _: () = assert!(
    size_of::<State>() + size_of::<History>() + size_of::<Limits>() + size_of::<Watermarks>() < 200,
    "the state of an aligner is small"
);

/// At most one alignment at a time. Events it gives back through a callback are to be processed in that order.
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
    /// Reserves all the room that the limits allow.
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

    /// What to do about a message of an input, which holds `bytes`. `released` gets what a cancelled or aborted
    /// alignment had held back; it is older than the message's barrier.
    // Always: a barrier that its caller has in registers is not written to memory in parts and read from there as a whole,
    // which costs more than all that is done with it.
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
        debug_assert!(is_held, "it was asked whether there is room");
        self.state.held_bytes += bytes;
        self.counters.total_events_buffered += 1;
        Action::Buffered
    }

    /// Which limit an event would break, asked before it is taken.
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

    /// A higher barrier came.
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

    /// The snapshot is taken and the barrier forwarded: `drained` gets what waited behind the barriers.
    #[inline]
    pub fn complete_alignment(&mut self, drained: &mut impl FnMut(usize, T)) -> Result<(), StateError> {
        if self.state.phase != Phase::Triggered {
            return Err(StateError { current: self.current() });
        }
        self.history.finish(self.state.barrier.checkpoint_id);
        self.release(drained);
        Ok(())
    }

    /// Ends the alignment for an unaligned snapshot: its barrier, and who has delivered it. What waits stays until
    /// [`Self::release`].
    pub(crate) fn take_over(&mut self) -> (CheckpointBarrier, u128) {
        self.history.finish(self.state.barrier.checkpoint_id);
        self.state.phase = Phase::Idle;
        (self.state.barrier, self.state.delivered)
    }

    /// Gives out what waits, and blocks nobody any longer.
    #[inline]
    pub(crate) fn release(&mut self, out: &mut impl FnMut(usize, T)) {
        self.state.phase = Phase::Idle;
        self.watermarks.unblock();
        if !self.waiting.is_empty() {
            self.waiting.drain(out);
            self.state.held_bytes = 0;
        }
    }

    /// Aborts an alignment that has lasted longer than the time-out.
    pub fn check_timeout(&mut self, now_ns: u64, released: &mut impl FnMut(usize, T)) -> Option<Aborted> {
        if self.state.phase == Phase::Triggered || !self.is_overdue(now_ns) {
            return None;
        }
        let aborted = self.abort_current(AbortCause::Timeout, None);
        self.release(released);
        Some(aborted)
    }

    /// Gives up the current checkpoint, or remembers that another one is given up.
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

    /// Gives up what is under way. What waits stays until [`Self::release`].
    pub(crate) fn abort_current(&mut self, cause: AbortCause, input: Option<usize>) -> Aborted {
        let pending = self.pending();
        self.give_up();
        Aborted { barrier: self.state.barrier, cause, input, pending }
    }

    /// Gives up because an event found no room; it comes last, so that order is kept.
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

    /// An input has ended: it counts as delivering the current and every later barrier.
    pub fn end_input(&mut self, input: usize, now_ns: u64) -> Option<CheckpointBarrier> {
        self.state.left_out |= 1 << input;
        if self.state.phase != Phase::Aligning {
            return None;
        }
        self.state.delivered |= 1 << input;
        if self.state.delivered == self.state.every { Some(self.trigger(now_ns)) } else { None }
    }

    /// An input crashed. If it owes a barrier the checkpoint is aborted; later ones go on without it.
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

    /// An input is back, in a new epoch: it takes part from the next checkpoint on.
    pub const fn resume_input(&mut self, input: usize) {
        self.state.left_out &= !(1 << input);
    }

    /// Whether events of this input wait.
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

    /// Whether the alignment has lasted longer than the time-out.
    #[inline]
    #[must_use]
    pub fn is_overdue(&self, now_ns: u64) -> bool {
        self.is_aligning() && now_ns.saturating_sub(self.state.started_ns) > self.limits.timeout_ns
    }

    /// The barrier that is under way.
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

    /// How many inputs have delivered it.
    #[must_use]
    pub fn aligned_inputs(&self) -> u32 {
        if self.is_aligning() { self.state.delivered.count_ones() } else { 0 }
    }

    /// How many events wait.
    #[must_use]
    pub const fn buffered_events(&self) -> usize {
        self.waiting.len()
    }

    /// How many bytes they hold.
    #[must_use]
    pub const fn buffered_bytes(&self) -> u64 {
        self.state.held_bytes
    }

    /// What was done since the start.
    #[must_use]
    pub const fn counters(&self) -> AlignerCounters {
        self.counters
    }

    /// The watermark of an input that counts: while it is blocked, the one from before its barrier.
    #[must_use]
    pub fn input_watermark(&self, input: usize) -> Option<i64> {
        self.watermarks.counted(input)
    }

    /// The least over the inputs that can still bring events.
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
