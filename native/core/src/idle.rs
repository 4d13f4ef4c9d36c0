// SPDX-License-Identifier: Apache-2.0
//! Idling: what a loop does after a turn that found nothing to do.
//!
//! | strategy  | costs                | answers within                                        |
//! |-----------|----------------------|-------------------------------------------------------|
//! | `bell`    | nothing              | one wake-up by the writer; as `backoff` where it does not ring |
//! | `busy`    | a core               | nanoseconds, while every spinner has a core            |
//! | `yield`   | a core, when it is free | microseconds; milliseconds where processes outnumber cores |
//! | `backoff` | little               | its longest park, 64 us                                |
//! | `sleep`   | next to nothing      | its period, 1 ms                                       |

use std::time::Duration;

/// How often `backoff` spins before it starts to yield.
const SPINS: u32 = 10;
/// How often `backoff` yields before it starts to park.
const YIELDS: u32 = 20;
/// The first park of `backoff`. Each later one is twice as long.
pub const SHORTEST_PARK_NS: u64 = 1_000;
/// The longest park of `backoff`. A longer one shows in the latency: 1 ms costs 140-200 us at the median.
pub const LONGEST_PARK_NS: u64 = 64_000;
/// The period of `sleep`.
pub const SLEEP_NS: u64 = 1_000_000;

/// The idle strategies that a user can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleStrategy {
    /// Spins, then yields, then sleeps until a writer rings; see [`crate::bell`].
    Bell,
    /// Spins without a pause. A user may also call it `spin`.
    Busy,
    /// Offers the core to other threads, then looks again.
    Yield,
    /// Spins, then yields, then parks for longer and longer times up to [`LONGEST_PARK_NS`].
    Backoff,
    /// Sleeps [`SLEEP_NS`] each time.
    Sleep,
}

impl IdleStrategy {
    /// The strategy of that name, spelled as in configurations.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "bell" => Some(Self::Bell),
            "busy" | "spin" => Some(Self::Busy),
            "yield" => Some(Self::Yield),
            "backoff" => Some(Self::Backoff),
            "sleep" => Some(Self::Sleep),
            _ => None,
        }
    }
}

/// One pause of an idler, decided but not yet carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The CPU's hint for a spinning loop.
    Spin,
    /// `sched_yield`.
    Yield,
    /// A sleep of this many nanoseconds.
    Park(u64),
}

/// The idling of one loop: call `idle` after a turn without work, and `reset` after a turn with work.
#[derive(Clone, Debug)]
pub struct Idler {
    strategy: IdleStrategy,
    empty_turns: u32,
    park_ns: u64,
}

impl Idler {
    /// An idler that has not idled yet.
    #[must_use]
    pub const fn new(strategy: IdleStrategy) -> Self {
        Self { strategy, empty_turns: 0, park_ns: SHORTEST_PARK_NS }
    }

    /// Notes that there was work: the next pause is the shortest again.
    #[inline]
    pub fn reset(&mut self) {
        self.empty_turns = 0;
        self.park_ns = SHORTEST_PARK_NS;
    }

    /// Decides the next pause. The caller, or [`Idler::idle`], carries it out.
    pub fn next_pause(&mut self) -> Pause {
        match self.strategy {
            IdleStrategy::Busy => Pause::Spin,
            IdleStrategy::Yield => Pause::Yield,
            IdleStrategy::Sleep => Pause::Park(SLEEP_NS),
            IdleStrategy::Backoff | IdleStrategy::Bell => self.back_off(),
        }
    }

    fn back_off(&mut self) -> Pause {
        if self.empty_turns < SPINS + YIELDS {
            self.empty_turns += 1;
            return if self.empty_turns <= SPINS { Pause::Spin } else { Pause::Yield };
        }
        let park_ns = self.park_ns;
        self.park_ns = (park_ns * 2).min(LONGEST_PARK_NS);
        Pause::Park(park_ns)
    }

    /// Whether it has spun and yielded in vain, and would now sleep until a writer rings.
    #[must_use]
    pub fn would_sleep(&self) -> bool {
        self.strategy == IdleStrategy::Bell && self.empty_turns >= SPINS + YIELDS
    }

    /// Pauses once.
    pub fn idle(&mut self) {
        match self.next_pause() {
            Pause::Spin => std::hint::spin_loop(),
            Pause::Yield => std::thread::yield_now(),
            Pause::Park(nanoseconds) => std::thread::sleep(Duration::from_nanos(nanoseconds)),
        }
    }
}

/// Lets the parks of this thread end on time. By default Linux adds 50 us of timer slack to each, nearly as much as the
/// longest park itself.
#[cfg(target_os = "linux")]
pub fn tighten_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and changes this thread's timers alone; no memory is passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Only Linux has the setting.
#[cfg(not(target_os = "linux"))]
pub fn tighten_timer_slack() {}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(strategy: IdleStrategy, count: usize) -> Vec<Pause> {
        let mut idler = Idler::new(strategy);
        (0..count).map(|_| idler.next_pause()).collect()
    }

    #[test]
    fn backoff_spins_then_yields_then_parks_up_to_its_longest() {
        let all = pauses(IdleStrategy::Backoff, 40);
        assert!(all[..10].iter().all(|pause| *pause == Pause::Spin));
        assert!(all[10..30].iter().all(|pause| *pause == Pause::Yield));
        let parks: Vec<u64> =
            all[30..].iter().map(|pause| if let Pause::Park(park_ns) = pause { *park_ns } else { 0 }).collect();
        assert_eq!(parks, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 64_000, 64_000, 64_000]);
    }

    #[test]
    fn work_makes_the_next_pause_the_shortest_again() {
        let mut idler = Idler::new(IdleStrategy::Backoff);
        for _ in 0..40 {
            idler.next_pause();
        }
        idler.reset();
        assert_eq!(idler.next_pause(), Pause::Spin);
    }

    #[test]
    fn a_bell_spins_and_yields_before_it_would_sleep() {
        let mut idler = Idler::new(IdleStrategy::Bell);
        for _ in 0..30 {
            assert!(!idler.would_sleep());
            idler.next_pause();
        }
        assert!(idler.would_sleep());
        idler.reset();
        assert!(!idler.would_sleep());
    }

    #[test]
    fn every_name_of_a_strategy_is_known_and_no_other() {
        for (name, strategy) in [
            ("bell", IdleStrategy::Bell),
            ("spin", IdleStrategy::Busy),
            ("busy", IdleStrategy::Busy),
            ("yield", IdleStrategy::Yield),
            ("backoff", IdleStrategy::Backoff),
            ("sleep", IdleStrategy::Sleep),
        ] {
            assert_eq!(IdleStrategy::from_name(name), Some(strategy));
        }
        assert_eq!(IdleStrategy::from_name("noop"), None);
    }
}
