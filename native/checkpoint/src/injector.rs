// SPDX-License-Identifier: Apache-2.0
//! Decides when a source sends a barrier: at its own interval, or when the coordinator asks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use framegate_counters::counters;

use crate::mapping::SharedWord;
use crate::message::{CheckpointBarrier, EPOCH_MAX};
use crate::word::{self, Unfit};

/// How many polls pass between two looks at the clock, which costs more than the rest of an idle poll.
pub const POLLS_PER_CLOCK: u32 = 64;

counters! {
    /// What an injector did since the start.
    pub struct InjectorCounters {
        /// Barriers that `poll` returned.
        barriers_injected,
        /// Commands whose id is over.
        duplicates_ignored,
        /// Commands whose epoch was below the current one.
        epochs_raised,
    }
}

/// Asks an injector for barriers, from any thread. Other processes use [`SharedWord::open`].
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Arc<SharedWord>,
}

impl Handle {
    /// Makes a handle for a mapped command word.
    #[must_use]
    pub const fn new(shared: Arc<SharedWord>) -> Self {
        Self { shared }
    }

    /// Asks for a barrier. A command that was not taken yet is replaced.
    #[inline]
    pub fn inject(&self, barrier: CheckpointBarrier) -> Result<(), Unfit> {
        word::inject(self.shared.word(), barrier)
    }
}

/// Says which barrier a source sends now; polled between two events. Ids strictly increase, whether the interval or a
/// command asks; an epoch never goes back.
#[derive(Debug)]
pub struct Injector {
    shared: Arc<SharedWord>,
    interval_ns: Option<u64>,
    waiting_since_ns: Option<u64>,
    last_id: u64,
    epoch: u64,
    polls: u32,
    counters: InjectorCounters,
}

impl Injector {
    /// Makes an injector that continues after the newest barrier emitted through this word.
    #[must_use]
    pub fn new(shared: Arc<SharedWord>, interval_ns: Option<u64>) -> Self {
        let last = word::unpack(shared.last().load(Ordering::Acquire));
        let (last_id, epoch) = last.map_or((0, 0), |last| (last.checkpoint_id, last.epoch));
        let counters = InjectorCounters::default();
        Self { shared, interval_ns, waiting_since_ns: None, last_id, epoch, polls: 0, counters }
    }

    /// Makes a handle for a coordinator.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.shared))
    }

    /// The barrier to send now, if there is one.
    #[inline]
    pub fn poll(&mut self, now_ns: u64) -> Option<CheckpointBarrier> {
        if let Some(asked) = self.asked(|| now_ns) {
            return Some(asked);
        }
        match self.interval_ns {
            None => None,
            Some(interval_ns) => self.periodic(interval_ns, now_ns),
        }
    }

    /// Like `poll`, for callers to whom the clock is dear: it is read at every 64th poll, or when a command came.
    #[inline]
    pub fn poll_by_count(&mut self, clock: impl Fn() -> u64) -> Option<CheckpointBarrier> {
        if let Some(asked) = self.asked(&clock) {
            return Some(asked);
        }
        let interval_ns = self.interval_ns?;
        self.polls = self.polls.wrapping_add(1);
        if self.polls % POLLS_PER_CLOCK != 1 {
            return None;
        }
        self.periodic(interval_ns, clock())
    }

    #[inline]
    fn asked(&mut self, now: impl Fn() -> u64) -> Option<CheckpointBarrier> {
        let found = word::take(self.shared.word());
        if found == word::EMPTY {
            return None;
        }
        // A word without an id was written by something else than a handle.
        let asked = word::unpack(found)?;
        if asked.checkpoint_id <= self.last_id {
            self.counters.duplicates_ignored += 1;
            return None;
        }
        self.counters.epochs_raised += u64::from(asked.epoch < self.epoch);
        if self.interval_ns.is_some() {
            self.waiting_since_ns = Some(now());
        }
        let epoch = asked.epoch.max(self.epoch);
        Some(self.emitted(CheckpointBarrier::with(asked.checkpoint_id, epoch, asked.is_unaligned())))
    }

    fn periodic(&mut self, interval_ns: u64, now_ns: u64) -> Option<CheckpointBarrier> {
        let Some(since_ns) = self.waiting_since_ns else {
            self.waiting_since_ns = Some(now_ns);
            return None;
        };
        // A clock that was set back has waited no time at all, whatever the interval.
        let is_due = now_ns.checked_sub(since_ns).is_some_and(|waited_ns| waited_ns >= interval_ns);
        if !is_due || self.last_id == u64::MAX {
            return None;
        }
        self.waiting_since_ns = Some(now_ns);
        Some(self.emitted(CheckpointBarrier::new(self.last_id + 1, (self.epoch + 1).min(EPOCH_MAX))))
    }

    fn emitted(&mut self, barrier: CheckpointBarrier) -> CheckpointBarrier {
        self.keep_last(CheckpointBarrier::new(barrier.checkpoint_id, barrier.epoch));
        self.counters.barriers_injected += 1;
        barrier
    }

    fn keep_last(&mut self, plain: CheckpointBarrier) {
        (self.last_id, self.epoch) = (plain.checkpoint_id, plain.epoch);
        if let Ok(packed) = word::pack(plain) {
            // Release: an injector that takes over sees every emitted barrier, and continues after it.
            self.shared.last().store(packed, Ordering::Release);
        }
    }

    /// Continues after this barrier, which was sent without being asked for here.
    pub fn note(&mut self, barrier: CheckpointBarrier) {
        let (id, epoch) = (self.last_id.max(barrier.checkpoint_id), self.epoch.max(barrier.epoch).min(EPOCH_MAX));
        self.keep_last(CheckpointBarrier::new(id, epoch));
    }

    /// Takes over from another injector: continues after its newest barrier, and takes the command that it did not
    /// take.
    pub fn follow(&mut self, former: &Self) {
        if former.last_id != 0 {
            self.note(CheckpointBarrier::new(former.last_id, former.epoch));
        }
        let command = word::take(former.shared.word());
        // A command that came through the new word is newer.
        let _ = self.shared.word().compare_exchange(word::EMPTY, command, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Sets the interval of periodic barriers; None: no periodic barriers.
    pub const fn set_interval(&mut self, interval_ns: Option<u64>) {
        self.interval_ns = interval_ns;
    }

    /// What the injector did since the start.
    #[must_use]
    pub const fn counters(&self) -> InjectorCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn injector(interval_ns: Option<u64>) -> Injector {
        Injector::new(Arc::new(SharedWord::anonymous().expect("a page")), interval_ns)
    }

    #[test]
    fn an_idle_poll_leaves_the_clock_alone_but_every_64th() {
        let (mut injector, reads) = (injector(Some(100)), Cell::new(0));
        let clock = || {
            reads.set(reads.get() + 1);
            reads.get() * 60
        };
        let found = (0..=3 * POLLS_PER_CLOCK).filter_map(|_| injector.poll_by_count(clock)).count();
        // Read at polls 1, 65, 129 and 193, as 60, 120, 180 and 240 ns: due at the third.
        assert_eq!((reads.get(), found), (4, 1));
    }

    #[test]
    fn without_an_interval_there_is_no_clock_at_all() {
        let mut injector = injector(None);
        assert_eq!(injector.poll_by_count(|| unreachable!("nobody asks")), None);
        injector.handle().inject(CheckpointBarrier::new(1, 1)).expect("it fits");
        assert!(injector.poll_by_count(|| unreachable!("nobody asks")).is_some());
    }
}
