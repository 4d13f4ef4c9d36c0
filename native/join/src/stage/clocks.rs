// SPDX-License-Identifier: Apache-2.0
//! Times that make outputs: ticks of a clock, watermarks, and times that are pushed.

use super::config::Drive;
use super::{I64_MAX, Stage};

pub(super) const NS_PER_MS: u64 = 1_000_000;

impl Stage {
    /// Takes a stream's watermark; one that decreases is ignored.
    pub fn watermark(&mut self, stream: usize, ms: i64, _now_ns: u64) {
        let Some(ms) = u64::try_from(ms).ok().filter(|ms| *ms <= I64_MAX / NS_PER_MS) else {
            self.counters.time_refused += 1;
            return;
        };
        let newest = self.newest_mut(stream);
        if Some(ms) > newest.watermark_ms {
            newest.watermark_ms = Some(ms);
            self.advance_watermark();
        }
    }

    pub(super) fn advance_watermark(&mut self) {
        if self.config.drive != Drive::Watermark {
            return;
        }
        let lowest = self.lowest_watermark_ms();
        if lowest > self.numbers.last_watermark_ms {
            self.numbers.last_watermark_ms = lowest;
            self.push(lowest.unwrap_or(0) * NS_PER_MS);
        }
    }

    /// The lowest watermark of all required streams that have not ended; None if one of them has none yet.
    #[must_use]
    pub fn lowest_watermark_ms(&self) -> Option<u64> {
        let mut lowest: Option<u64> = None;
        for input in (0..self.inputs.len()).filter(|input| self.is_required(*input)) {
            let source = &self.streams.sources[self.inputs[input].source];
            if source.is_ended {
                continue;
            }
            let ms = source.watermark_ms?;
            lowest = Some(lowest.map_or(ms, |known| known.min(ms)));
        }
        lowest
    }

    /// Takes an output time from the caller. False if it decreases, or if too many wait.
    pub fn push_time(&mut self, out_time_ns: i64) -> bool {
        if self.config.drive != Drive::External {
            return false;
        }
        match u64::try_from(out_time_ns) {
            Ok(out_time_ns) => self.push(out_time_ns),
            Err(_) => {
                self.counters.time_refused += 1;
                false
            }
        }
    }

    fn push(&mut self, out_time_ns: u64) -> bool {
        if self.is_before_last(out_time_ns) || self.numbers.times.is_decreasing(out_time_ns) {
            self.counters.time_refused += 1;
            return false;
        }
        let has_room = self.numbers.times.push(out_time_ns);
        self.counters.skipped_outputs += u64::from(!has_room);
        has_room
    }

    fn is_before_last(&self, out_time_ns: u64) -> bool {
        Some(out_time_ns) < self.numbers.timing.last_ns
    }

    /// Whether outputs are due by a clock, and not by what comes.
    #[must_use]
    pub const fn is_by_clock(&self) -> bool {
        matches!(self.config.drive, Drive::Clock { .. })
    }

    /// Takes the current time. A clock drive begins with the first tick at which all required inputs were observed.
    pub fn tick(&mut self, _now_ns: u64, clock_ns: u64) {
        if !self.is_by_clock() || clock_ns > I64_MAX {
            return;
        }
        let is_ready = self.rules.kind.is_some() && self.rules.is_valid && self.is_all_observed();
        if self.numbers.times.next_tick.is_none() && is_ready {
            if self.is_before_last(clock_ns) {
                self.counters.time_refused += 1;
                return;
            }
            self.numbers.times.next_tick = Some(clock_ns);
        }
        self.numbers.times.clock_ns = self.numbers.times.clock_ns.max(clock_ns);
    }
}
