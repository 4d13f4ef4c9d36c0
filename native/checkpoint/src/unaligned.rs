// SPDX-License-Identifier: Apache-2.0
//! Checkpoints that may overtake: they are aligned as long as that is quick, and become unaligned when back-pressure
//! would stall them.

use framegate_counters::counters;

use crate::aligner::{AbortCause, Aborted, Action, BarrierAligner, Ignored, Limits};
use crate::late::LateInputs;
use crate::message::{CheckpointBarrier, StreamMessage, Watermark};

pub use crate::late::Captured;

/// The options of a checkpointer, beside the aligner's limits.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether a checkpoint may become unaligned at all.
    pub is_enabled: bool,
    /// Whether every checkpoint becomes unaligned at its first barrier.
    pub is_forced: bool,
    /// Most bytes that may be captured of one input.
    pub inflight_bytes: u64,
    /// Most events that may be captured of all inputs together.
    pub inflight_events: usize,
    /// How long to wait for a late barrier; None: for ever.
    pub late_timeout_ns: Option<u64>,
}

/// Why a checkpoint is taken unaligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Its barrier asks for it, or the options.
    Requested,
    /// The alignment took longer than the threshold.
    Threshold,
    /// A queue of waiting events was full.
    Limit,
}

/// One thing for the operator to do. A call may give several, to be carried out in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Process an event now.
    PassThrough(usize, T),
    /// The input's time has reached this watermark.
    Watermark(usize, Watermark),
    /// Nothing: the event waits behind its input's barrier.
    Buffered(usize),
    /// Nothing: the input is blocked now, for this barrier.
    Blocked(usize, CheckpointBarrier),
    /// Take a snapshot now. If it overtakes: why, and a bit for each late input.
    TriggerSnapshot(CheckpointBarrier, Option<(Switch, u128)>),
    /// Send the barrier on.
    ForwardBarrier(CheckpointBarrier),
    /// Process an event that waited behind a barrier.
    Drain(usize, T),
    /// Nothing: the barrier does not count any more.
    Ignored(usize, Ignored, CheckpointBarrier),
    /// The checkpoint was aborted; [`Step::Released`] events follow.
    Aborted(Aborted),
    /// Process an event that waited for the aborted checkpoint.
    Released(usize, T),
    /// Nothing: the input delivered its late barrier.
    LateBarrier(usize, CheckpointBarrier),
    /// The snapshot and all in-flight events are there.
    Complete(CheckpointBarrier),
}

counters! {
    /// What a checkpointer did since the start, beside what its aligner counts.
    pub struct UnalignedCounters {
        /// Snapshots that were taken unaligned.
        unaligned_count,
        /// Unaligned snapshots because of the threshold.
        threshold_switches,
        /// Unaligned snapshots because of a full queue.
        limit_switches,
        /// Bytes of captured events.
        total_inflight_bytes,
        /// How many unaligned snapshots came one after another, up to the newest.
        unaligned_in_a_row,
        /// Checkpoints that became complete here.
        checkpoints_completed,
        /// Checkpoints that were aborted while late barriers were waited for.
        late_aborts,
    }
}

/// A checkpointer. It is idle, aligning, or waiting for the late barriers of an unaligned snapshot.
#[derive(Debug)]
pub struct UnalignedCheckpointer<T> {
    aligner: BarrierAligner<T>,
    late: LateInputs<T>,
    options: Options,
    begins_aligned: bool,
    counters: UnalignedCounters,
}

impl<T> UnalignedCheckpointer<T> {
    /// Makes a checkpointer, and reserves the memory for all events that the limits allow.
    #[must_use]
    pub fn new(limits: Limits, options: Options) -> Self {
        Self {
            aligner: BarrierAligner::new(limits),
            late: LateInputs::new(options.inflight_bytes, options.inflight_events),
            options,
            begins_aligned: false,
            counters: UnalignedCounters::default(),
        }
    }

    /// Sets what the coordinator announced; it also applies to the checkpoint under way.
    pub const fn set_times(
        &mut self,
        is_enabled: bool,
        is_forced: bool,
        timeout_ns: u64,
        late_timeout_ns: Option<u64>,
    ) {
        (self.options.is_enabled, self.options.is_forced) = (is_enabled, is_forced);
        self.options.late_timeout_ns = late_timeout_ns;
        self.aligner.set_timeout(timeout_ns);
    }

    /// Marks ids up to this one as over.
    pub fn raise_floor(&mut self, checkpoint_id: u64) {
        self.aligner.history.finish(checkpoint_id);
    }

    /// The barrier of the checkpoint under way.
    #[must_use]
    pub fn current(&self) -> Option<CheckpointBarrier> {
        if self.is_waiting() { Some(self.late.barrier) } else { self.aligner.current() }
    }

    /// Takes the memory for events from the system now.
    pub fn prefault(&mut self) {
        self.aligner.prefault();
        self.late.prefault();
    }

    /// Says what to do with an event that takes `bytes`. `copy` makes a copy to keep, if the event is in flight.
    #[inline]
    pub fn event(
        &mut self,
        input: usize,
        event: T,
        bytes: u64,
        now_ns: u64,
        copy: impl FnOnce(&T) -> T,
        act: &mut impl FnMut(Step<T>),
    ) {
        if self.late.owes(input) {
            if self.late.capture(input, bytes, || copy(&event)) {
                // The sum saturates, whatever sizes callers give.
                self.counters.total_inflight_bytes = self.counters.total_inflight_bytes.saturating_add(bytes);
            } else {
                act(Step::Aborted(self.abort_late(AbortCause::InflightLimit, Some(input))));
            }
            return act(Step::PassThrough(input, event));
        }
        if !self.aligner.is_blocked(input) {
            return act(Step::PassThrough(input, event));
        }
        if let Some(refusal) = self.aligner.refusal(input, bytes) {
            return self.full(refusal, input, event, now_ns, act);
        }
        let no_release = &mut |_, _| ();
        if let Ok(Action::Buffered) =
            self.aligner.process(input, StreamMessage::Event(event), bytes, now_ns, no_release)
        {
            act(Step::Buffered(input));
        }
    }

    fn full(&mut self, refusal: AbortCause, input: usize, event: T, now_ns: u64, act: &mut impl FnMut(Step<T>)) {
        if self.options.is_enabled {
            // The input has delivered its barrier, so it goes on as soon as the events that waited before this one are
            // drained.
            self.switch(Switch::Limit, now_ns, act);
            return act(Step::PassThrough(input, event));
        }
        let aborted = self.aligner.abort_current(refusal, None);
        self.aborted(aborted, act);
        act(Step::Released(input, event));
    }

    /// Says what to do with a watermark.
    #[inline]
    pub fn watermark(&mut self, input: usize, watermark: Watermark, now_ns: u64, act: &mut impl FnMut(Step<T>)) {
        if self.late.owes(input) && !self.late.capture_watermark(input, watermark) {
            act(Step::Aborted(self.abort_late(AbortCause::InflightLimit, Some(input))));
        }
        let _ = self.aligner.process(input, StreamMessage::Watermark(watermark), 0, now_ns, &mut |_, _| ());
        act(Step::Watermark(input, watermark));
    }

    /// Says what to do with a barrier.
    pub fn barrier(&mut self, input: usize, barrier: CheckpointBarrier, now_ns: u64, act: &mut impl FnMut(Step<T>)) {
        if self.is_waiting() && barrier.checkpoint_id == self.late.barrier.checkpoint_id {
            return self.late_barrier(input, barrier, act);
        }
        self.cancel(barrier, act);
        let is_new = self.aligner.current().is_none_or(|current| current.checkpoint_id != barrier.checkpoint_id);
        let no_release = &mut |_, _| ();
        // This is never an error: a triggered alignment is completed before the call that triggered it returns.
        let Ok(action) = self.aligner.process(input, StreamMessage::Barrier(barrier), 0, now_ns, no_release) else {
            return;
        };
        let (current, is_complete) = match action {
            Action::Ignored(verdict, barrier) => return act(Step::Ignored(input, verdict, barrier)),
            Action::Blocked(current) => (current, false),
            Action::TriggerSnapshot(current) => (current, true),
            // These answer events and watermarks only.
            Action::PassThrough(_)
            | Action::Watermark(_)
            | Action::Buffered
            | Action::InputFull(_)
            | Action::Aborted(_) => return,
        };
        if is_new {
            self.late.forget();
        }
        let wants = (barrier.is_unaligned() || self.options.is_forced) && !self.begins_aligned;
        if self.options.is_enabled && wants {
            self.switch(Switch::Requested, now_ns, act);
        } else if is_complete {
            self.complete_aligned(current, act);
        } else if self.options.is_enabled && self.aligner.is_overdue(now_ns) {
            self.switch(Switch::Threshold, now_ns, act);
        } else {
            act(Step::Blocked(input, current));
        }
    }

    /// Aborts the checkpoint under way if a higher barrier makes it pointless.
    fn cancel(&mut self, barrier: CheckpointBarrier, act: &mut impl FnMut(Step<T>)) {
        let Some(current) = self.current() else { return };
        if barrier.checkpoint_id <= current.checkpoint_id.max(self.aligner.history.highest) {
            return;
        }
        if self.is_waiting() {
            act(Step::Aborted(self.abort_late(AbortCause::HigherBarrier, None)));
        } else {
            let aborted = self.aligner.abort_current(AbortCause::HigherBarrier, None);
            self.aborted(aborted, act);
        }
    }

    fn aborted(&mut self, aborted: Aborted, act: &mut impl FnMut(Step<T>)) {
        act(Step::Aborted(aborted));
        self.aligner.release(&mut |input, event| act(Step::Released(input, event)));
    }

    fn complete_aligned(&mut self, barrier: CheckpointBarrier, act: &mut impl FnMut(Step<T>)) {
        act(Step::TriggerSnapshot(barrier, None));
        // The barrier goes before anything that is drained; otherwise output of later events would precede it.
        act(Step::ForwardBarrier(barrier));
        let _ = self.aligner.complete_alignment(&mut |input, event| act(Step::Drain(input, event)));
        self.begins_aligned = false;
        self.counters.unaligned_in_a_row = 0;
        self.complete(barrier, act);
    }

    fn complete(&mut self, barrier: CheckpointBarrier, act: &mut impl FnMut(Step<T>)) {
        self.counters.checkpoints_completed += 1;
        act(Step::Complete(barrier));
    }

    /// Takes an unaligned snapshot now. Inputs that delivered their barrier go on; what the others still bring is
    /// captured.
    fn switch(&mut self, why: Switch, now_ns: u64, act: &mut impl FnMut(Step<T>)) {
        let (barrier, delivered) = self.aligner.take_over();
        let (barrier, owing) = (barrier.flagged(), self.aligner.every() & !delivered);
        self.begins_aligned = false;
        self.counters.unaligned_count += 1;
        self.counters.unaligned_in_a_row += 1;
        self.counters.threshold_switches += u64::from(why == Switch::Threshold);
        self.counters.limit_switches += u64::from(why == Switch::Limit);
        self.late.begin(barrier, owing, now_ns);
        act(Step::TriggerSnapshot(barrier, Some((why, owing))));
        act(Step::ForwardBarrier(barrier));
        self.aligner.release(&mut |input, event| act(Step::Drain(input, event)));
        if owing == 0 {
            self.complete(barrier, act);
        }
    }

    fn late_barrier(&mut self, input: usize, barrier: CheckpointBarrier, act: &mut impl FnMut(Step<T>)) {
        if !self.late.owes(input) {
            self.aligner.count_ignored(Ignored::Duplicate);
            return act(Step::Ignored(input, Ignored::Duplicate, barrier));
        }
        act(Step::LateBarrier(input, self.late.barrier));
        self.no_longer_owes(input, act);
    }

    fn no_longer_owes(&mut self, input: usize, act: &mut impl FnMut(Step<T>)) {
        self.late.owing &= !(1 << input);
        if self.late.owing == 0 {
            self.complete(self.late.barrier, act);
        }
    }

    fn abort_late(&mut self, cause: AbortCause, input: Option<usize>) -> Aborted {
        let pending = self.late.owing;
        self.late.forget();
        self.counters.late_aborts += 1;
        self.aligner.history.abort(self.late.barrier.checkpoint_id);
        Aborted { barrier: self.late.barrier, cause, input, pending }
    }

    /// Lets timeouts take effect. Call it often, so that a silent input cannot stall a checkpoint.
    #[inline]
    pub fn on_tick(&mut self, now_ns: u64, act: &mut impl FnMut(Step<T>)) {
        if self.is_waiting() {
            let waited_ns = now_ns.saturating_sub(self.late.snapshot_ns);
            if self.options.late_timeout_ns.is_some_and(|limit_ns| waited_ns > limit_ns) {
                let first = self.late.owing.trailing_zeros() as usize;
                act(Step::Aborted(self.abort_late(AbortCause::LateBarrierTimeout, Some(first))));
            }
        } else if self.options.is_enabled && self.aligner.is_overdue(now_ns) {
            self.switch(Switch::Threshold, now_ns, act);
        }
    }

    /// Aborts an overdue alignment that may not become unaligned. Call it as often as `on_tick`, which never aborts
    /// one.
    #[inline]
    pub fn give_up_overdue(&mut self, now_ns: u64, act: &mut impl FnMut(Step<T>)) {
        if !self.options.is_enabled && self.aligner.is_overdue(now_ns) {
            let aborted = self.aligner.abort_current(AbortCause::Timeout, None);
            self.aborted(aborted, act);
        }
    }

    /// Aborts the current checkpoint and drops what it captured, or remembers that another one is aborted.
    pub fn abort(&mut self, checkpoint_id: Option<u64>, act: &mut impl FnMut(Step<T>)) {
        let is_the_captured = checkpoint_id.is_none_or(|asked| asked == self.late.barrier.checkpoint_id);
        if self.is_waiting() && is_the_captured {
            return act(Step::Aborted(self.abort_late(AbortCause::Coordinator, None)));
        }
        if !self.is_waiting() && is_the_captured {
            self.late.forget();
        }
        let current = self.aligner.current().map(|barrier| barrier.checkpoint_id);
        if current.is_some() && (checkpoint_id.is_none() || checkpoint_id == current) {
            let aborted = self.aligner.abort_current(AbortCause::Coordinator, None);
            self.aborted(aborted, act);
        } else {
            let _ = self.aligner.abort(checkpoint_id, &mut |_, _| ());
        }
    }

    /// Aborts a checkpoint whose captured events could not be written or read; the next one begins aligned.
    pub fn fail(&mut self, checkpoint_id: Option<u64>, act: &mut impl FnMut(Step<T>)) {
        self.begins_aligned = true;
        self.abort(checkpoint_id, act);
    }

    /// Notes that an input has ended: it owes no barrier any more.
    pub fn end_input(&mut self, input: usize, now_ns: u64, act: &mut impl FnMut(Step<T>)) {
        if let Some(barrier) = self.aligner.end_input(input, now_ns) {
            self.complete_aligned(barrier, act);
        } else if self.late.owes(input) {
            self.no_longer_owes(input, act);
        }
    }

    /// Notes that an input was lost: a checkpoint to which it owes its barrier is aborted.
    pub fn lose_input(&mut self, input: usize, act: &mut impl FnMut(Step<T>)) {
        let owes = self.aligner.pending() >> input & 1 == 1;
        if owes {
            let aborted = self.aligner.abort_current(AbortCause::InputLost, Some(input));
            self.aborted(aborted, act);
        } else if self.late.owes(input) {
            act(Step::Aborted(self.abort_late(AbortCause::InputLost, Some(input))));
        }
        let _ = self.aligner.lose_input(input, &mut |_, _| ());
    }

    /// Notes that an input is back: it takes part from the next checkpoint on.
    pub const fn resume_input(&mut self, input: usize) {
        self.aligner.resume_input(input);
    }

    /// Whether the late barrier of this input is awaited, so that what it delivers is captured.
    #[inline]
    #[must_use]
    pub const fn owes(&self, input: usize) -> bool {
        self.late.owes(input)
    }

    /// Whether a checkpoint is under way, so that messages may do more than pass through.
    #[inline]
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.is_waiting() || self.aligner.is_aligning()
    }

    /// Whether late barriers are awaited.
    #[inline]
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.late.owing != 0
    }

    /// What an input has delivered between the snapshot and its late barrier, so far.
    pub fn captured(&self, input: usize) -> impl Iterator<Item = &Captured<T>> {
        self.late.of(input)
    }

    /// The aligner of this checkpointer, to be read.
    #[must_use]
    pub const fn aligner(&self) -> &BarrierAligner<T> {
        &self.aligner
    }

    /// What the checkpointer did since the start.
    #[must_use]
    pub const fn counters(&self) -> UnalignedCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn checkpointer(is_enabled: bool) -> UnalignedCheckpointer<u32> {
        let limits = Limits { inputs: 2, events_per_input: 8, bytes: 64, timeout_ns: 10 * MS, floor: 4 };
        let options = Options {
            is_enabled,
            is_forced: false,
            inflight_bytes: 64,
            inflight_events: 8,
            late_timeout_ns: Some(20 * MS),
        };
        UnalignedCheckpointer::new(limits, options)
    }

    fn steps(ask: impl FnOnce(&mut dyn FnMut(Step<u32>))) -> Vec<Step<u32>> {
        let mut found = Vec::new();
        ask(&mut |step| found.push(step));
        found
    }

    /// Input 0 has delivered barrier 5 at time 0, and one event behind it.
    fn aligning(is_enabled: bool) -> UnalignedCheckpointer<u32> {
        let mut checkpointer = checkpointer(is_enabled);
        checkpointer.barrier(0, CheckpointBarrier::new(5, 1), 0, &mut |_| ());
        checkpointer.event(0, 77, 4, MS, |event| *event, &mut |_| ());
        checkpointer
    }

    #[test]
    fn an_overdue_alignment_that_may_not_switch_is_given_up_and_what_waited_is_released() {
        let mut checkpointer = aligning(false);
        assert!(steps(|mut act| checkpointer.give_up_overdue(10 * MS, &mut act)).is_empty());
        let found = steps(|mut act| checkpointer.give_up_overdue(10 * MS + 1, &mut act));
        let barrier = CheckpointBarrier::new(5, 1);
        let aborted = Aborted { barrier, cause: AbortCause::Timeout, input: None, pending: 0b10 };
        assert_eq!(found, [Step::Aborted(aborted), Step::Released(0, 77)]);
        assert!(!checkpointer.is_under_way());
    }

    #[test]
    fn one_that_may_switch_is_not_given_up() {
        let mut checkpointer = aligning(true);
        assert!(steps(|mut act| checkpointer.give_up_overdue(99 * MS, &mut act)).is_empty());
        assert!(checkpointer.is_under_way() && !checkpointer.owes(1));
        checkpointer.on_tick(10 * MS + 1, &mut |_| ());
        assert!(checkpointer.owes(1) && !checkpointer.owes(0));
        assert_eq!(checkpointer.current().map(|barrier| barrier.checkpoint_id), Some(5));
    }

    #[test]
    fn what_the_coordinator_says_holds_for_what_is_under_way() {
        let mut checkpointer = aligning(false);
        checkpointer.set_times(true, false, 2 * MS, None);
        checkpointer.on_tick(2 * MS + 1, &mut |_| ());
        assert!(checkpointer.is_waiting());
        // Without a timeout, a late barrier may be awaited for ever.
        assert!(steps(|mut act| checkpointer.on_tick(u64::MAX, &mut act)).is_empty());
    }

    #[test]
    fn ids_up_to_a_floor_that_was_raised_are_over() {
        let mut checkpointer = checkpointer(true);
        checkpointer.raise_floor(9);
        let ignored = |id| [Step::Ignored(0, Ignored::Stale, CheckpointBarrier::new(id, 1))];
        for id in [5, 9] {
            let found = steps(|mut act| checkpointer.barrier(0, CheckpointBarrier::new(id, 1), 0, &mut act));
            assert_eq!(found, ignored(id));
        }
        checkpointer.raise_floor(3);
        checkpointer.barrier(0, CheckpointBarrier::new(10, 1), 0, &mut |_| ());
        assert!(checkpointer.is_under_way());
    }
}
