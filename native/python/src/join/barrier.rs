// SPDX-License-Identifier: Apache-2.0
//! The three barriers as one Python class. `joinbarrier/barriers/barriers.py`, which users hold, has checked its
//! arguments.

use framegate_join::barrier::{Barrier, Kind, NULL_TIMESTAMP, Observation, Processed, Ready, Reason};
use framegate_join::input_set::InputSet;
use framegate_join::map::{Announced, ClockDomain, RawRule};
use pyo3::prelude::*;

use crate::errors::raise;

/// A rule: (stream, rule type, source, offset, window), None for a null.
type Rule = (u32, u32, u32, Option<i64>, Option<u64>);
/// Why a map was refused: (rule, stream, reason).
type Refused = (Option<usize>, Option<u32>, &'static str);
/// Whether the barrier opens: (reason or None, waiting streams, absent streams).
type Answer = (Option<&'static str>, Vec<u32>, Vec<u32>);

/// The native barrier; users hold it as one of the classes of `framegate.joinbarrier`.
#[pyclass(module = "framegate._native")]
pub struct JoinBarrier {
    barrier: Barrier,
}

#[pymethods]
impl JoinBarrier {
    #[new]
    fn new(py: Python<'_>, kind: &str, out_stream: u32, epoch: u64, needs_processed: Vec<u32>) -> PyResult<Self> {
        let kind = match kind {
            "sequence" => Kind::Sequence,
            "timestamp" => Kind::Timestamp,
            "latest_by_seq" => Kind::LatestBySeq,
            "latest_by_timestamp" => Kind::LatestByTime,
            _ => return Err(raise(py, "InvalidValue", "no such kind of barrier", &[])),
        };
        Ok(Self { barrier: Barrier::new(kind, out_stream, epoch, &needs_processed) })
    }

    /// Applies a map. Returns whether it is in force, and if not, why it was refused.
    #[pyo3(signature = (out_stream, epoch, stale_timeout_ns, times, rules))]
    fn apply(
        &mut self,
        out_stream: u32,
        epoch: u64,
        stale_timeout_ns: Option<u64>,
        times: Option<(u32, Option<u64>)>,
        rules: Vec<Rule>,
    ) -> (bool, Option<Refused>) {
        let raw =
            |&(stream, rule_type, source, offset, window): &Rule| RawRule { stream, rule_type, source, offset, window };
        let rules: Vec<RawRule> = rules.iter().map(raw).collect();
        let announced = Announced { out_stream, epoch, stale_timeout_ns, times, rules: &rules };
        match self.barrier.apply(&announced) {
            Ok(is_in_force) => (is_in_force, None),
            Err(refusal) => {
                let (index, stream) = refusal.rule.unzip();
                (false, Some((index, stream, refusal.cause.name())))
            }
        }
    }

    fn invalidate(&mut self) {
        self.barrier.invalidate();
    }

    fn new_epoch(&mut self, epoch: u64) -> bool {
        self.barrier.new_epoch(epoch)
    }

    /// Checks whether times of this clock domain may come from this stream. If not, the join is rejected.
    fn admit_domain(&mut self, stream: u32, clock_domain: u8) -> bool {
        !self.barrier.streams().contains(&stream) || self.barrier.admit_domain(domain(clock_domain))
    }

    #[pyo3(signature = (stream, seq, timestamp_ns, descriptor_timestamp_ns, now_ns, epoch))]
    fn observe(
        &mut self,
        stream: u32,
        seq: u64,
        timestamp_ns: Option<u64>,
        descriptor_timestamp_ns: Option<u64>,
        now_ns: u64,
        epoch: Option<u64>,
    ) -> bool {
        let frame = Observation { seq, epoch, times: times(timestamp_ns, descriptor_timestamp_ns) };
        let index = self.barrier.index_of(stream);
        index.is_some_and(|index| self.barrier.observe(index, &frame, now_ns))
    }

    fn input_epoch(&mut self, stream: u32, epoch: u64) -> bool {
        let index = self.barrier.index_of(stream);
        index.is_some_and(|index| self.barrier.input_epoch(index, epoch))
    }

    #[pyo3(signature = (stream, seq, timestamp_ns, descriptor_timestamp_ns, epoch))]
    fn processed(
        &mut self,
        stream: u32,
        seq: Option<u64>,
        timestamp_ns: Option<u64>,
        descriptor_timestamp_ns: Option<u64>,
        epoch: Option<u64>,
    ) -> bool {
        let processed = Processed { seq, epoch, times: times(timestamp_ns, descriptor_timestamp_ns) };
        let index = self.barrier.index_of(stream);
        index.is_some_and(|index| self.barrier.processed(index, &processed))
    }

    #[pyo3(signature = (out, now_ns, clock_domain))]
    fn ready(&self, out: u64, now_ns: u64, clock_domain: Option<u8>) -> Answer {
        let barrier = &self.barrier;
        if barrier.is_valid() && clock_domain.is_some_and(|own| barrier.is_foreign(domain(own))) {
            return (Some(name(Reason::Domain)), Vec::new(), Vec::new());
        }
        answer(&barrier.ready(out, now_ns), barrier.streams())
    }

    /// The question of the join stage: the inputs to go without, or None if the output is blocked.
    fn attempt(&mut self, out: u64, now_ns: u64) -> Option<Vec<u32>> {
        let absent = self.barrier.attempt(out, now_ns).ok()?;
        Some(named(&absent, self.barrier.streams()))
    }

    /// Notes an emitted output. If a later one was emitted before, returns that later one, and this one is not taken.
    fn emitted(&mut self, out: u64) -> Option<u64> {
        self.barrier.emitted(out).err().map(|decreased| decreased.last_ns)
    }

    fn selected(&mut self, stream: u32) -> Option<u64> {
        self.barrier.selected(position(self.barrier.streams(), stream)?)
    }

    fn invalid(&mut self, stream: u32, seq: u64) -> bool {
        let index = position(self.barrier.streams(), stream);
        index.is_some_and(|index| self.barrier.invalid(index, seq))
    }

    #[getter]
    fn epoch(&self) -> u64 {
        self.barrier.epoch()
    }

    #[getter]
    fn is_valid(&self) -> bool {
        self.barrier.is_valid()
    }

    #[getter]
    fn declared_domain(&self) -> Option<u8> {
        self.barrier.declared_domain().map(|domain| domain as u8)
    }

    /// How many observations were ignored: those of unknown streams, and those of earlier epochs.
    #[getter]
    fn ignored(&self) -> (u64, u64) {
        self.barrier.ignored()
    }
}

fn domain(number: u8) -> ClockDomain {
    if number == ClockDomain::Monotonic as u8 { ClockDomain::Monotonic } else { ClockDomain::RealtimeSynced }
}

fn times(timestamp_ns: Option<u64>, descriptor_timestamp_ns: Option<u64>) -> [u64; 2] {
    [timestamp_ns.unwrap_or(NULL_TIMESTAMP), descriptor_timestamp_ns.unwrap_or(NULL_TIMESTAMP)]
}

fn position(streams: &[u32], stream: u32) -> Option<usize> {
    streams.iter().position(|known| *known == stream)
}

fn answer(ready: &Ready, streams: &[u32]) -> Answer {
    (ready.reason().map(name), named(ready.waiting(), streams), named(ready.absent(), streams))
}

fn named(inputs: &InputSet, streams: &[u32]) -> Vec<u32> {
    inputs.iter().filter_map(|index| streams.get(index).copied()).collect()
}

fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::NoMap => "no_map",
        Reason::Domain => "domain",
        Reason::OutOfOrder => "out_of_order",
        Reason::BeforeStart => "before_start",
        Reason::Rejected => "rejected",
        Reason::NotObserved => "not_observed",
        Reason::Invalid => "invalid",
        Reason::Behind => "behind",
    }
}
