// SPDX-License-Identifier: Apache-2.0
//! Output times that no input's frame gives: ticks of a clock, advances of the watermark, and pushed times.

/// Most times that wait to be outputs.
pub const OUT_TIMES_MAX: usize = 1024;

/// The times of the next outputs. Ticks of a clock are computed, not stored.
#[derive(Debug)]
pub(super) struct OutTimes {
    period_ns: u64,
    queue: Box<[u64]>,
    head: usize,
    tail: usize,
    last_pushed: Option<u64>,
    pub next_tick: Option<u64>,
    pub clock_ns: u64,
}

impl OutTimes {
    pub fn new(period_ns: u64) -> Self {
        let queue = vec![0; OUT_TIMES_MAX].into_boxed_slice();
        Self { period_ns, queue, head: 0, tail: 0, last_pushed: None, next_tick: None, clock_ns: 0 }
    }

    fn waiting(&self, ahead: usize) -> Option<u64> {
        (self.tail - self.head > ahead).then(|| self.queue[(self.head + ahead) % OUT_TIMES_MAX])
    }

    /// The time of the next output, if it is due.
    pub fn current(&self) -> Option<u64> {
        self.waiting(0).or_else(|| self.next_tick.filter(|tick| *tick <= self.clock_ns))
    }

    /// The time after the next output's, if that is due too.
    pub fn following(&self) -> Option<u64> {
        if self.head < self.tail {
            return self.waiting(1);
        }
        self.next_tick.map(|tick| tick.saturating_add(self.period_ns)).filter(|tick| *tick <= self.clock_ns)
    }

    /// All times that are due, oldest first.
    pub fn due(&self) -> impl Iterator<Item = u64> + '_ {
        let next_tick = self.next_tick.filter(|_| self.head == self.tail);
        let ticks = std::iter::successors(next_tick, |tick| tick.checked_add(self.period_ns.max(1)));
        self.all().chain(ticks.take_while(|tick| *tick <= self.clock_ns))
    }

    /// The smallest time that may still come, if that is known.
    pub fn horizon(&self) -> Option<u64> {
        let following = |tick: u64| {
            let due = (self.clock_ns + 1).saturating_sub(tick).div_ceil(self.period_ns.max(1));
            tick.saturating_add(due.saturating_mul(self.period_ns))
        };
        self.next_tick.map(following).max(self.last_pushed)
    }

    /// How many times were pushed.
    pub fn pushed(&self) -> u64 {
        self.tail as u64
    }

    /// All pushed times that are not done, oldest first.
    pub fn all(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.tail - self.head).filter_map(|ahead| self.waiting(ahead))
    }

    /// Resumes ticks in step with this one, after a time that was decided.
    pub fn resume_ticks(&mut self, tick_ns: u64, decided_ns: Option<u64>) {
        let behind_ns = decided_ns.map_or(0, |decided_ns| decided_ns.saturating_add(1).saturating_sub(tick_ns));
        let periods = behind_ns.div_ceil(self.period_ns.max(1));
        self.next_tick = Some(tick_ns.saturating_add(periods.saturating_mul(self.period_ns)));
    }

    /// Removes the current time, which is done.
    pub fn pop(&mut self) {
        if self.head < self.tail {
            self.head += 1;
        } else if let Some(tick) = &mut self.next_tick {
            *tick = tick.saturating_add(self.period_ns);
        }
    }

    /// Whether a later time was pushed before.
    pub fn is_decreasing(&self, time_ns: u64) -> bool {
        Some(time_ns) < self.last_pushed
    }

    /// Adds a time; false if too many wait.
    pub fn push(&mut self, time_ns: u64) -> bool {
        if self.tail - self.head == OUT_TIMES_MAX {
            return false;
        }
        self.queue[self.tail % OUT_TIMES_MAX] = time_ns;
        self.tail += 1;
        self.last_pushed = Some(time_ns);
        true
    }

    /// Allows times to start again, behind those that already wait.
    pub fn new_epoch(&mut self) {
        self.last_pushed = (self.head < self.tail).then(|| self.queue[(self.tail - 1) % OUT_TIMES_MAX]);
    }
}
