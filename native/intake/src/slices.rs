// SPDX-License-Identifier: Apache-2.0
//! Runs one thread's turns for a slice of time; then the caller can look at signals and at the rest of the world.

use framegate_core::clock::monotonic_ns;
use framegate_core::idle::{IdleStrategy, Idler, tighten_timer_slack};

/// The outcome of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The turn did something, so the next one follows at once.
    Worked,
    /// The turn found nothing to do.
    Idle,
    /// The slice ends: the caller has to decide something.
    Over,
}

impl Turn {
    /// The outcome of a turn that did this much work.
    #[inline]
    #[must_use]
    pub const fn of(is_over: bool, work: usize) -> Self {
        match (is_over, work) {
            (true, _) => Self::Over,
            (false, 0) => Self::Idle,
            (false, _) => Self::Worked,
        }
    }
}

/// How long turns and the pauses between slices took.
#[derive(Clone, Copy, Default, Debug)]
pub struct Slices {
    /// The longest turn with the pause behind it. A ring must hold what comes in that time.
    pub longest_turn_ns: u64,
    /// The longest pause between two slices.
    pub longest_absence_ns: u64,
    /// When the previous slice ended.
    left_at_ns: Option<u64>,
}

impl Slices {
    /// Runs turns until the time is up, `is_stopping` holds, or a turn ends the slice; returns the time then. Each turn
    /// gets the current time.
    pub fn run(
        &mut self,
        slice_ns: u64,
        idle: IdleStrategy,
        is_stopping: impl Fn() -> bool,
        mut turn: impl FnMut(u64) -> Turn,
    ) -> u64 {
        tighten_timer_slack();
        let began_ns = monotonic_ns();
        let absence_ns = began_ns - self.left_at_ns.unwrap_or(began_ns);
        self.longest_absence_ns = self.longest_absence_ns.max(absence_ns);
        let mut idler = Idler::new(idle);
        let mut now_ns = began_ns;
        while !is_stopping() {
            match turn(now_ns) {
                Turn::Over => break,
                Turn::Idle => idler.idle(),
                Turn::Worked => idler.reset(),
            }
            let turned_ns = monotonic_ns();
            self.longest_turn_ns = self.longest_turn_ns.max(turned_ns - now_ns);
            now_ns = turned_ns;
            if now_ns - began_ns >= slice_ns {
                break;
            }
        }
        self.left_at_ns = Some(now_ns);
        now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_NS: u64 = 3_600_000_000_000;

    #[test]
    fn turns_follow_each_other_until_one_is_over() {
        let mut slices = Slices::default();
        let mut turns = vec![Turn::Over, Turn::Worked, Turn::Idle, Turn::Worked];
        let mut times = Vec::new();
        slices.run(
            LONG_NS,
            IdleStrategy::Backoff,
            || false,
            |now_ns| {
                times.push(now_ns);
                turns.pop().expect("none follows the one that is over")
            },
        );
        assert_eq!((turns.len(), times.len()), (0, 4));
        assert!(times.is_sorted());
    }

    #[test]
    fn a_slice_ends_when_its_time_is_up_or_somebody_wants_it() {
        let mut slices = Slices::default();
        let mut turns = 0;
        slices.run(
            0,
            IdleStrategy::Backoff,
            || false,
            |_| {
                turns += 1;
                Turn::Worked
            },
        );
        assert_eq!(turns, 1);
        slices.run(LONG_NS, IdleStrategy::Backoff, || true, |_| unreachable!("it is told to stop"));
        assert!(slices.longest_turn_ns > 0);
    }
}
