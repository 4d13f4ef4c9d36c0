// SPDX-License-Identifier: Apache-2.0
//! The latest policy: joins the newest frame of every input, whatever its sequence or time.

use super::SKIPS_MAX;
use super::Stage;
use super::attempt::Absence;
use super::config::Drive;
use super::decide::Choice;
use super::history::Frame;
use super::policy::Policy;
use super::unmatched::Cause;
use crate::barrier::NULL_TIMESTAMP;

/// The tick that asks for an output: an observation or a time. All observations between two calls of `next` make one
/// tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticking {
    pub has_tick: bool,
    pub t: Option<u64>,
}

/// The latest policy: the newest frames belong together.
pub(super) struct Latest;

impl Policy for Latest {
    #[inline]
    fn arrival_cause(&self, stage: &Stage, _input: usize, frame: &Frame) -> Option<Cause> {
        (stage.config.is_ordered_by_time && frame.time == NULL_TIMESTAMP).then_some(Cause::NullTimestamp)
    }

    #[inline]
    fn arrived(&self, stage: &mut Stage, input: usize, frame: &Frame) {
        stage.replace_older(input, frame);
    }

    #[inline]
    fn observed(&self, stage: &mut Stage, stream: usize, is_new: bool, _now_ns: u64) {
        stage.tick_by_observation(stream, is_new);
    }

    #[inline]
    fn next(&self, stage: &mut Stage, now_ns: u64) -> bool {
        stage.next_by_latest(now_ns)
    }

    #[inline]
    fn out(&self, stage: &Stage) -> (u64, Option<u64>) {
        (stage.out_seq, stage.numbers.ticking.t)
    }

    #[inline]
    fn joined(&self, stage: &mut Stage, _now_ns: u64) {
        stage.consume_tick();
        stage.numbers.ticking.t = None;
        stage.next_output();
    }

    /// Drops the tick; the next one tries the newest frames at that time.
    fn failed(&self, stage: &mut Stage, input: usize, seq: u64) {
        stage.streams.sources[stage.inputs[input].source].seen.invalid(seq);
        if stage.numbers.ticking.t.is_some() || stage.numbers.ticking.has_tick {
            stage.tick_not_ready();
            stage.numbers.ticking.t = None;
        }
    }

    fn new_epoch(&self, stage: &mut Stage) {
        stage.numbers.ticking = Ticking::default();
        stage.begin_outputs_anew();
    }
}

impl Stage {
    fn has_times(&self) -> bool {
        matches!(self.config.drive, Drive::Clock { .. } | Drive::Watermark | Drive::External)
    }

    /// Keeps only the newest frame; the others are recorded as superseded.
    #[inline]
    fn replace_older(&mut self, input: usize, arrived: &Frame) {
        let is_by_time = self.config.is_ordered_by_time;
        if let Some(lost) = arrived.lost {
            if is_by_time || lost == Cause::AgentDown {
                return;
            }
            self.streams.sources[self.inputs[input].source].seen.invalid(arrived.seq);
        }
        let order = |frame: &Frame| (if is_by_time { frame.time } else { 0 }, frame.seq);
        let each = &mut self.inputs[input];
        let mut is_replaced =
            arrived.lost.is_none() && each.kept.as_ref().is_some_and(|kept| order(kept) > order(arrived));
        for at in each.head..each.tail {
            let frame = each.at(at);
            is_replaced |= arrived.lost.is_none() && frame.is_readable() && order(frame) > order(arrived);
        }
        for at in each.head..each.tail {
            let frame = each.at_mut(at);
            if frame.is_readable() && (frame.seq == arrived.seq) == is_replaced {
                frame.lost = Some(Cause::Superseded);
            }
        }
        self.settle(input);
    }

    #[inline]
    fn tick_by_observation(&mut self, stream: usize, is_new: bool) {
        let is_driven = match self.config.drive {
            Drive::Counter => true,
            Drive::Input(input) => self.inputs[input].source == stream,
            _ => false,
        };
        self.numbers.ticking.has_tick |= is_new && is_driven && self.is_all_observed();
    }

    #[inline]
    fn next_by_latest(&mut self, now_ns: u64) -> bool {
        for _ in 0..SKIPS_MAX {
            self.numbers.ticking.t = if self.has_times() { self.numbers.times.current() } else { None };
            if self.numbers.ticking.t.is_none() && !self.numbers.ticking.has_tick {
                return false;
            }
            if self.current.asked_ns.is_none() {
                self.current.asked_ns = Some(now_ns);
            }
            if !self.choose_newest(now_ns) {
                self.tick_not_ready();
            } else if self.is_skewed() {
                self.counters.skipped_outputs += 1;
                self.consume_tick();
            } else {
                return true;
            }
        }
        self.is_waiting = true;
        false
    }

    #[inline]
    fn choose_newest(&mut self, now_ns: u64) -> bool {
        if !self.opens(self.numbers.ticking.t.unwrap_or(0), now_ns) {
            return false;
        }
        for input in 0..self.inputs.len() {
            self.current.choices[input] = Choice::Nothing;
            if self.current.absent[input].is_some() {
                continue;
            }
            let each = &self.inputs[input];
            self.current.choices[input] = match each.readable_from(each.head) {
                Some(at) => Choice::At(at),
                None if each.reusable().is_some() => Choice::Kept,
                None if !each.config.optional => return false,
                None => {
                    self.current.absent[input] = Some(Absence::NotJoined);
                    Choice::Nothing
                }
            };
        }
        self.has_choice()
    }

    fn tick_not_ready(&mut self) {
        self.counters.ticks_not_ready += 1;
        self.consume_tick();
    }

    #[inline]
    fn consume_tick(&mut self) {
        if self.has_times() {
            self.numbers.times.pop();
        }
        self.numbers.ticking.has_tick = false;
    }
}
