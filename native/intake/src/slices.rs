// SPDX-License-Identifier: Apache-2.0
//! Runs one thread's turns for a slice of time; then the caller can look at signals and at the rest of the world.

use framegate_core::bell::{Look, Sleeper, idle_or_sleep};
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

/// What runs in slices.
pub trait Working {
    /// One turn, at this time.
    fn turn(&mut self, now_ns: u64) -> Turn;

    /// Whether the slice should end.
    fn is_stopping(&self) -> bool;

    /// Lends what it sleeps with after a turn that found nothing, and says for how long it may sleep at most.
    fn lend_sleeper(&mut self, now_ns: u64) -> (Sleeper, u64);

    /// Takes it back.
    fn return_sleeper(&mut self, sleeper: Sleeper);
}

/// Most time that an engine sleeps: its deadlines, and what it writes by a clock, are this late at most.
pub const SLEEP_MOST_NS: u64 = 1_000_000;

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
    /// Runs turns until the time is up, `work` is to stop, or a turn ends the slice; returns the time then. Each turn
    /// gets the current time.
    pub fn run(&mut self, slice_ns: u64, idle: IdleStrategy, work: &mut impl Working) -> u64 {
        tighten_timer_slack();
        let began_ns = monotonic_ns();
        let absence_ns = began_ns - self.left_at_ns.unwrap_or(began_ns);
        self.longest_absence_ns = self.longest_absence_ns.max(absence_ns);
        let mut idler = Idler::new(idle);
        let mut now_ns = began_ns;
        while !work.is_stopping() {
            let mut turned = work.turn(now_ns);
            if turned == Turn::Idle {
                turned = pause(&mut idler, work, now_ns);
            }
            match turned {
                Turn::Over => break,
                Turn::Idle => {}
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

/// Idles once, and gives the outcome of the turn that looked once more before a sleep.
fn pause(idler: &mut Idler, work: &mut impl Working, now_ns: u64) -> Turn {
    let mut looked = Turn::Idle;
    // Lent, because the turn that looks once more needs the whole of `work`.
    let (sleeper, most_ns) = work.lend_sleeper(now_ns);
    idle_or_sleep(idler, &sleeper, most_ns, Look::Nothing, || {
        looked = if work.is_stopping() { Turn::Over } else { work.turn(now_ns) };
        if looked == Turn::Idle { Look::Nothing } else { Look::Found }
    });
    work.return_sleeper(sleeper);
    looked
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_NS: u64 = 3_600_000_000_000;

    #[derive(Default)]
    struct Work {
        turns: Vec<Turn>,
        times: Vec<u64>,
        is_stopping: bool,
    }

    impl Working for Work {
        fn turn(&mut self, now_ns: u64) -> Turn {
            self.times.push(now_ns);
            self.turns.pop().expect("none follows the one that is over")
        }

        fn is_stopping(&self) -> bool {
            self.is_stopping
        }

        fn lend_sleeper(&mut self, _now_ns: u64) -> (Sleeper, u64) {
            (Sleeper::default(), LONG_NS)
        }

        fn return_sleeper(&mut self, _sleeper: Sleeper) {}
    }

    #[test]
    fn turns_follow_each_other_until_one_is_over() {
        for idle in [IdleStrategy::Backoff, IdleStrategy::Bell] {
            let mut work = Work { turns: vec![Turn::Over, Turn::Worked, Turn::Idle, Turn::Worked], ..Work::default() };
            Slices::default().run(LONG_NS, idle, &mut work);
            assert_eq!((work.turns.len(), work.times.len()), (0, 4));
            assert!(work.times.is_sorted());
        }
    }

    #[test]
    fn a_slice_ends_when_its_time_is_up_or_somebody_wants_it() {
        let mut slices = Slices::default();
        let mut work = Work { turns: vec![Turn::Worked; 2], ..Work::default() };
        slices.run(0, IdleStrategy::Backoff, &mut work);
        assert_eq!(work.times.len(), 1);
        work.is_stopping = true;
        slices.run(LONG_NS, IdleStrategy::Backoff, &mut work);
        assert_eq!(work.times.len(), 1, "it is told to stop");
        assert!(slices.longest_turn_ns > 0);
    }
}
