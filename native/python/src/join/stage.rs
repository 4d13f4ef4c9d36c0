// SPDX-License-Identifier: Apache-2.0
//! The join stage as a Python class for tests: it takes plain numbers and returns tuples.

use framegate_join::barrier::NULL_TIMESTAMP;
use framegate_join::map::{Announced, RawRule};
use framegate_join::stage::{Attempt, Cause, Observed, Pick, Stage};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::recall::{self, Waiting};
use super::report::{Rejected, by_cause, rejections};
use crate::errors::raise;
use crate::plan;

/// A rule: (stream, rule type, source, offset, window), None for a null.
type Rule = (u32, u32, u32, Option<i64>, Option<u64>);
/// Why a map was refused: (rule, its stream, reason).
type Refused = (Option<usize>, Option<u32>, &'static str);
/// An output to read the frames of: (out epoch, out sequence, out time, picks).
type Tried<'py> = (u64, u64, Option<i64>, Bound<'py, PyTuple>);
/// An unmatched frame: (input, cause, epoch, seq, seq_last, timestamp, out sequence).
type Entry = (u16, &'static str, u64, u64, u64, Option<u64>, Option<u64>);

/// The native twin of `framegate.spec.join.stage.Stage`.
#[pyclass(module = "framegate._native")]
pub struct JoinStage {
    stage: Stage,
}

#[pymethods]
impl JoinStage {
    #[new]
    #[pyo3(signature = (plan, state=None))]
    fn new(py: Python<'_>, plan: &Bound<'_, PyDict>, state: Option<&str>) -> PyResult<Self> {
        let config = plan::read(plan)?;
        let stage = match state {
            None => Some(Stage::new(config)),
            Some(state) => Stage::resume(config, state.as_bytes()),
        };
        Ok(Self { stage: stage.ok_or_else(|| refuse(py, "a state of other inputs"))? })
    }

    #[pyo3(signature = (out_stream, epoch, stale_timeout_ns, times, rules, version))]
    #[allow(clippy::too_many_arguments, reason = "the fields of an announce")]
    fn apply(
        &mut self,
        out_stream: u32,
        epoch: u64,
        stale_timeout_ns: Option<u64>,
        times: Option<(u32, Option<u64>)>,
        rules: Vec<Rule>,
        version: u64,
    ) -> (bool, Option<Refused>) {
        let raw =
            |&(stream, rule_type, source, offset, window): &Rule| RawRule { stream, rule_type, source, offset, window };
        let rules: Vec<RawRule> = rules.iter().map(raw).collect();
        let announced = Announced { out_stream, epoch, stale_timeout_ns, times, rules: &rules };
        match self.stage.apply(&announced, version) {
            Ok(is_in_force) => (is_in_force, None),
            Err(refusal) => {
                let (index, stream) = refusal.rule.unzip();
                (false, Some((index, stream, refusal.cause.name())))
            }
        }
    }

    fn take_rejections(&mut self) -> Vec<Rejected> {
        rejections(&mut self.stage)
    }

    fn invalidate(&mut self) {
        self.stage.invalidate();
    }

    fn wants_map(&self) -> Option<u64> {
        self.stage.wants_map()
    }

    #[pyo3(signature = (stream, epoch, seq, descriptor_ns=None, slot_ns=None, trace_id=0, now_ns=0))]
    #[allow(clippy::too_many_arguments)]
    fn observe(
        &mut self,
        py: Python<'_>,
        stream: u32,
        epoch: u64,
        seq: u64,
        descriptor_ns: Option<u64>,
        slot_ns: Option<u64>,
        trace_id: u64,
        now_ns: u64,
    ) -> PyResult<bool> {
        let seen = Observed {
            epoch,
            seq,
            descriptor_timestamp_ns: descriptor_ns.unwrap_or(NULL_TIMESTAMP),
            slot_timestamp_ns: slot_ns.unwrap_or(NULL_TIMESTAMP),
            trace_id,
        };
        let stream = self.index(py, stream)?;
        Ok(self.stage.observe(stream, &seen, now_ns))
    }

    fn observe_lost(
        &mut self,
        py: Python<'_>,
        stream: u32,
        epoch: u64,
        seq: u64,
        cause: &str,
        now_ns: u64,
    ) -> PyResult<bool> {
        let (stream, cause) = (self.index(py, stream)?, named(py, cause)?);
        Ok(self.stage.observe_lost(stream, epoch, seq, cause, now_ns))
    }

    fn lost_below(&mut self, py: Python<'_>, stream: u32, epoch: u64, gone_below: u64, resume_at: u64) -> PyResult<()> {
        let stream = self.index(py, stream)?;
        self.stage.lost_below(stream, epoch, (gone_below, resume_at), |_| false);
        Ok(())
    }

    fn missed(
        &mut self,
        py: Python<'_>,
        stream: u32,
        epoch: u64,
        seq_first: u64,
        seq_last: u64,
        now_ns: u64,
    ) -> PyResult<()> {
        let stream = self.index(py, stream)?;
        self.stage.missed(stream, epoch, seq_first, seq_last, now_ns);
        Ok(())
    }

    /// Everything that waits, as (stream, epoch, seq, seq_last, descriptor, slot, trace id, cause). Losses come last.
    fn waiting(&self) -> Vec<Waiting> {
        recall::waiting(&self.stage)
    }

    fn rest(&self) -> String {
        let mut rest = Vec::new();
        self.stage.write_rest(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }

    #[pyo3(signature = (stream, epoch, seq, descriptor_ns=None, slot_ns=None, trace_id=0, now_ns=0))]
    #[allow(clippy::too_many_arguments)]
    fn recall_frame(
        &mut self,
        py: Python<'_>,
        stream: u32,
        epoch: u64,
        seq: u64,
        descriptor_ns: Option<u64>,
        slot_ns: Option<u64>,
        trace_id: u64,
        now_ns: u64,
    ) -> PyResult<bool> {
        let null = NULL_TIMESTAMP;
        let seen = Observed {
            epoch,
            seq,
            descriptor_timestamp_ns: descriptor_ns.unwrap_or(null),
            slot_timestamp_ns: slot_ns.unwrap_or(null),
            trace_id,
        };
        let stream = self.index(py, stream)?;
        Ok(self.stage.recall_frame(stream, &seen, now_ns))
    }

    #[allow(clippy::too_many_arguments)]
    fn recall_lost(
        &mut self,
        py: Python<'_>,
        stream: u32,
        epoch: u64,
        seq_first: u64,
        seq_last: u64,
        cause: &str,
        now_ns: u64,
    ) -> PyResult<()> {
        let (stream, cause) = (self.index(py, stream)?, named(py, cause)?);
        self.stage.recall_lost(stream, epoch, (seq_first, seq_last), cause, now_ns);
        Ok(())
    }

    fn reopen(&mut self, py: Python<'_>, stream: u32) -> PyResult<()> {
        let stream = self.index(py, stream)?;
        self.stage.reopen(stream);
        Ok(())
    }

    fn recall_rest(
        &mut self,
        rest: &Bound<'_, PyDict>,
        now_ns: u64,
        is_same_cut: bool,
        keeps_clock: bool,
    ) -> PyResult<()> {
        let rest = recall::rest_of(self.stage.streams(), rest)?;
        self.stage.recall_rest(&rest, now_ns, is_same_cut, keeps_clock);
        Ok(())
    }

    #[pyo3(signature = (stream, epoch, seq, slot_ns=None, descriptor_ns=None))]
    fn processed(
        &mut self,
        py: Python<'_>,
        stream: u32,
        epoch: u64,
        seq: u64,
        slot_ns: Option<u64>,
        descriptor_ns: Option<u64>,
    ) -> PyResult<()> {
        let stream = self.index(py, stream)?;
        let null = NULL_TIMESTAMP;
        self.stage.processed(stream, epoch, seq, slot_ns.unwrap_or(null), descriptor_ns.unwrap_or(null));
        Ok(())
    }

    fn watermark(&mut self, py: Python<'_>, stream: u32, ms: i64, now_ns: u64) -> PyResult<()> {
        let stream = self.index(py, stream)?;
        self.stage.watermark(stream, ms, now_ns);
        Ok(())
    }

    fn ended(&mut self, py: Python<'_>, stream: u32, epoch: u64, now_ns: u64) -> PyResult<()> {
        let stream = self.index(py, stream)?;
        self.stage.ended(stream, epoch, now_ns);
        Ok(())
    }

    fn push_time(&mut self, out_time_ns: i64) -> bool {
        self.stage.push_time(out_time_ns)
    }

    fn tick(&mut self, now_ns: u64, clock_ns: u64) {
        self.stage.tick(now_ns, clock_ns);
    }

    fn next<'py>(&mut self, py: Python<'py>, now_ns: u64) -> PyResult<Option<Tried<'py>>> {
        self.stage.next(now_ns).map(|attempt| tried(py, &attempt)).transpose()
    }

    fn failed(&mut self, py: Python<'_>, index: usize, cause: &str, now_ns: u64) -> PyResult<()> {
        self.stage.failed(index, named(py, cause)?, now_ns);
        Ok(())
    }

    fn joined(&mut self, now_ns: u64) {
        self.stage.joined(now_ns);
    }

    #[pyo3(signature = (count=None))]
    fn take_unmatched(&mut self, count: Option<usize>) -> Vec<Entry> {
        let mut taken = Vec::new();
        self.stage.drain_unmatched(|entry| {
            let has_room = count.is_none_or(|count| taken.len() < count);
            if has_room {
                let (cause, seqs) = (entry.cause.name(), (entry.seq, entry.seq_last));
                taken.push((entry.input, cause, entry.epoch, seqs.0, seqs.1, entry.timestamp_ns, entry.out_seq));
            }
            has_room
        });
        taken
    }

    fn is_finished(&self) -> bool {
        self.stage.is_finished()
    }

    fn finish(&mut self, now_ns: u64) {
        self.stage.finish(now_ns);
    }

    fn state(&self) -> String {
        let mut state = Vec::with_capacity(self.stage.state_capacity());
        self.stage.write_state(&mut state);
        String::from_utf8_lossy(&state).into_owned()
    }

    fn state_capacity(&self) -> usize {
        self.stage.state_capacity()
    }

    fn needs_slot_time(&self, py: Python<'_>, stream: u32) -> PyResult<bool> {
        Ok(self.stage.needs_slot_time(self.index(py, stream)?))
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (status, answer) = (self.stage.status(), PyDict::new(py));
        answer.set_item("out", status.out)?;
        answer.set_item("since_ns", status.since_ns)?;
        answer.set_item("has_map", status.has_map)?;
        answer.set_item("is_backed_up", status.is_backed_up)?;
        let mut waiting = Vec::new();
        for each in &status.waiting {
            let item = PyDict::new(py);
            item.set_item("input", each.input)?;
            item.set_item("reason", each.reason)?;
            item.set_item("last_seq", each.last_seq)?;
            item.set_item("last_time_ns", each.last_time_ns)?;
            item.set_item("missing", each.missing)?;
            waiting.push(item);
        }
        answer.set_item("waiting", waiting)?;
        answer.set_item("pending", status.pending)?;
        Ok(answer)
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (inputs, answer) = (self.stage.input_counters(), PyDict::new(py));
        for (name, value) in self.stage.counters().named() {
            answer.set_item(name, value)?;
        }
        answer.set_item("absent", inputs.iter().map(|input| input.absent).collect::<Vec<_>>())?;
        answer.set_item("overwritten", inputs.iter().map(|input| input.overwritten).collect::<Vec<_>>())?;
        answer.set_item("closed_early", inputs.iter().map(|input| input.closed_early).collect::<Vec<_>>())?;
        let unmatched = inputs.iter().map(|input| by_cause(py, input)).collect::<PyResult<Vec<_>>>()?;
        answer.set_item("unmatched", unmatched)?;
        Ok(answer)
    }
}

impl JoinStage {
    fn index(&self, py: Python<'_>, stream: u32) -> PyResult<usize> {
        let found = self.stage.streams().iter().position(|known| *known == stream);
        found.ok_or_else(|| refuse(py, "no input's stream"))
    }
}

fn refuse(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "InvalidValue", message, &[])
}

fn named(py: Python<'_>, cause: &str) -> PyResult<Cause> {
    Cause::named(cause).ok_or_else(|| refuse(py, "no such cause"))
}

fn tried<'py>(py: Python<'py>, attempt: &Attempt<'_>) -> PyResult<Tried<'py>> {
    let mut picks = Vec::with_capacity(attempt.picks().len());
    for pick in attempt.picks() {
        let known = |time: u64| (time != NULL_TIMESTAMP).then_some(time);
        picks.push(match *pick {
            Pick::Absent(absence) => PyString::new(py, absence.name()).into_any(),
            Pick::Frame { epoch, seq, timestamp_ns, descriptor_timestamp_ns, trace_id, .. } => {
                (epoch, seq, known(timestamp_ns), known(descriptor_timestamp_ns), trace_id)
                    .into_pyobject(py)?
                    .into_any()
            }
        });
    }
    Ok((attempt.out_epoch, attempt.out_seq, attempt.out_time_ns, PyTuple::new(py, picks)?))
}
