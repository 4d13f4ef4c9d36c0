// SPDX-License-Identifier: Apache-2.0
//! The join engine as Python holds it. `joinbarrier/agent/join_agent.py` runs it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use framegate_checkpoint::ingress::Place;
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::clock::monotonic_ns;
use framegate_core::idle::IdleStrategy;
use framegate_core::pool::tensor::Tensor;
use framegate_core::unpoisoned;
use framegate_engine::{CHECKPOINT_STATE_BYTES, Fed, FedAt, Habits, InputPlan, Outcome, split_state};
use framegate_join::map::{Announced, RawRule};
use framegate_join::stage::{PolicyKind, Stage, StageConfig};
use framegate_journal::{Config, Recovered, Writer};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::join_cut;
use super::report::{self, Rejected, rejections};
use super::restore::{self, Given};
use super::wires::Engine;
use crate::aeron::unpoisoned_detached;
use crate::checkpoint::cut_name;
use crate::errors::raise;
use crate::intake::{JoinMailbox, Mailbox};
use crate::journal::errors::raised;
use crate::plan;
use crate::pool::PoolProducer;

/// A place in a stream: epoch and sequence.
type At = (Option<u64>, Option<u64>);
/// A rule: (stream, rule type, source, offset, window), None for a null.
type Rule = (u32, u32, u32, Option<i64>, Option<u64>);
/// Why a map was not applied: (rule, stream, reason).
type Refused = (Option<usize>, Option<u32>, &'static str);

/// One join. Call `run` for one slice after another, always on the same thread.
#[pyclass(frozen, module = "framegate._native")]
pub struct JoinEngine {
    engine: Mutex<Option<Engine>>,
    mailbox: Arc<Mailbox>,
    recovered: Recovered,
    /// Whether the journal's last run ended because every input had ended.
    is_spent: bool,
    idle: IdleStrategy,
    /// The names of the inputs, in order.
    names: Vec<String>,
    out_stream: u32,
}

#[pymethods]
impl JoinEngine {
    #[new]
    #[pyo3(signature = (mailbox, plan, path, journal, *, idle = "bell"))]
    fn new(
        py: Python<'_>,
        mailbox: &JoinMailbox,
        plan: &Bound<'_, PyDict>,
        path: PathBuf,
        journal: &Bound<'_, PyDict>,
        idle: &str,
    ) -> PyResult<Self> {
        let idle =
            IdleStrategy::from_name(idle).ok_or_else(|| raise(py, "InvalidValue", "no such idle strategy", &[]))?;
        let mailbox = Arc::clone(&mailbox.shared);
        let config: StageConfig = plan::read(plan)?;
        let out_stream = config.out_stream;
        let inputs = inputs_of(&mailbox, &config)
            .ok_or_else(|| raise(py, "InvalidValue", "an input's stream has no port", &[]))?;
        let mut journal = Config { dir: path, ..plan::read(journal)? };
        let (config_for_new, names) = (config.clone(), journal.inputs.clone());
        let mut stage = Stage::new(config_for_new);
        journal.state_capacity = stage.state_capacity() + CHECKPOINT_STATE_BYTES;
        let (writer, recovered) = py.detach(|| Writer::open(journal)).map_err(|failure| raised(py, &failure))?;
        let mut checkpoint_id = 0;
        if let Some(state) = &recovered.state {
            let (state, last) = split_state(state);
            checkpoint_id = last;
            stage = Stage::resume(config.clone(), &state)
                .ok_or_else(|| raise(py, "JournalFailed", "the state in the journal belongs to other inputs", &[]))?;
        }
        // Inputs whose ends have finished the join may start again. After a crash, or an end of the join before theirs,
        // the ends stay in force.
        let is_spent = recovered.was_clean && recovered.state.is_some() && stage.has_all_ended();
        let spent: Vec<_> = (0..mailbox.facts.len())
            .map(|stream| stage.known_epoch(stream).filter(|_| is_spent && stage.has_ended(stream)))
            .collect();
        (0..spent.len()).filter(|stream| spent[*stream].is_some()).for_each(|stream| stage.reopen(stream));
        let resumed = (0..mailbox.facts.len()).map(|stream| stage.decided(stream)).collect();
        let mut habits =
            Habits { is_one_by_one: config.policy == PolicyKind::Latest, checkpoint_id, ..plan::read(plan)? };
        // Checkpoints that an earlier run of this agent has taken a snapshot for are over.
        habits.checkpoints.floor = habits.checkpoints.floor.max(checkpoint_id);
        let made = || Engine::new(stage, writer, inputs, Arc::clone(&mailbox), resumed, &habits);
        let mut engine = py.detach(made).map_err(|failure| no_memory(py, &failure))?;
        engine.spend_ends(&spent);
        Ok(Self { engine: Mutex::new(Some(engine)), mailbox, recovered, is_spent, idle, names, out_stream })
    }

    /// What the journal held when it was opened.
    fn recovered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        found.set_item("next_row", self.recovered.next_row)?;
        found.set_item("seals", self.recovered.seals)?;
        found.set_item("cut_batches", self.recovered.cut_batches)?;
        found.set_item("cut_rows", self.recovered.cut_rows)?;
        found.set_item("was_clean", self.recovered.was_clean)?;
        let state = self.recovered.state.as_deref().map(split_state);
        found.set_item("checkpoint_id", state.as_ref().map_or(0, |(_, checkpoint_id)| *checkpoint_id))?;
        found.set_item("is_spent", self.is_spent)?;
        found.set_item("state", state.map(|(own, _)| String::from_utf8_lossy(&own).into_owned()))?;
        Ok(found)
    }

    /// Takes back what a checkpoint holds, before the first slice. `joinbarrier/agent/restoring.py` describes the plan.
    /// Raises CheckpointDamaged, and has changed nothing then.
    fn restore<'py>(&self, py: Python<'py>, plan: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let given = Given::of(plan)?;
        let recalled = {
            let mut guard = self.locked(py);
            let engine = guard.as_mut().ok_or_else(|| closed(py))?;
            let restoring = restore::restoring_of(plan, &given, &engine.stage)?;
            engine.restore(restoring, monotonic_ns()).map_err(|failure| no_memory(py, &failure))?
        };
        restore::told(py, recalled)
    }

    /// Closes the journal without writing to it, because another journal is opened in its place.
    fn discard(&self, py: Python<'_>) {
        let engine = py.detach(|| unpoisoned(&self.engine).take());
        py.detach(|| drop(engine));
    }

    /// The frames that were published after an earlier run of this agent and before the first frame of this run:
    /// stream, epoch, first and last sequence.
    fn gaps(&self, py: Python<'_>) -> PyResult<Vec<(u32, u64, u64, u64)>> {
        self.with(py, |engine| {
            let gaps = engine.gaps.iter().zip(&self.mailbox.facts);
            gaps.filter_map(|(gap, facts)| gap.map(|(epoch, first, last)| (facts.stream_id, epoch, first, last)))
                .collect()
        })
    }

    /// Joins for one slice, or until something must be decided outside. Returns what happened.
    fn run<'py>(&self, py: Python<'py>, slice_ns: u64, outputs: u64) -> PyResult<Bound<'py, PyDict>> {
        self.answer(py, |engine| engine.run(slice_ns, outputs, self.idle))
    }

    /// Joins what was sent until now, for a time at most; returns the same as `run`.
    fn join_what_was_sent<'py>(&self, py: Python<'py>, most_ns: u64, outputs: u64) -> PyResult<Bound<'py, PyDict>> {
        self.answer(py, |engine| engine.join_what_was_sent(most_ns, outputs))
    }

    /// Takes a frame that is in no ring, and joins what it makes possible; returns the same as `run`.
    ///
    /// The join's clocks show `times`, as `(monotonic_ns, realtime_ns)`. `tensor` is the numbers of dtype and order,
    /// the shape, and the strides (empty if contiguous).
    #[pyo3(signature = (stream_id, epoch, seq, payload, tensor, times, trace_id, at, outputs))]
    #[allow(clippy::too_many_arguments)]
    fn feed<'py>(
        &self,
        py: Python<'py>,
        stream_id: u32,
        epoch: u64,
        seq: u64,
        payload: &[u8],
        tensor: (i16, i16, Vec<i32>, Vec<i32>),
        times: (Option<u64>, Option<u64>),
        trace_id: u64,
        at: (u64, u64),
        outputs: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let port = self.place(py, stream_id)?;
        let (dtype, major_order, shape, strides) = tensor;
        let mut tensor = Tensor::contiguous(dtype, major_order, &shape);
        for (stride, given) in tensor.strides.iter_mut().zip(strides) {
            *stride = given;
        }
        let bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        if let Err(fault) = tensor.check(bytes) {
            return Err(raise(py, "WrongArray", &format!("its tensor does not fit its payload: {fault:?}"), &[]));
        }
        let (timestamp_ns, descriptor_timestamp_ns) = times;
        let frame = Fed { port, epoch, seq, timestamp_ns, descriptor_timestamp_ns, trace_id, tensor, payload };
        self.answer(py, |engine| {
            engine.feed(&frame, fed_at(at));
            engine.settle(outputs)
        })
    }

    /// Takes a watermark or an end that stands between the frames; returns the same as `run`.
    fn feed_control<'py>(
        &self,
        py: Python<'py>,
        message: &[u8],
        at: (u64, u64),
        outputs: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.answer(py, |engine| {
            engine.feed_control(message, fed_at(at));
            engine.settle(outputs)
        })
    }

    /// Joins what was fed before and could not be joined at that time; returns the same as `run`.
    fn settle<'py>(&self, py: Python<'py>, outputs: u64) -> PyResult<Bound<'py, PyDict>> {
        self.answer(py, |engine| engine.settle(outputs))
    }

    /// The epoch of the output. The join needs the map of this epoch.
    fn out_epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |engine| engine.stage.out_epoch())
    }

    /// Applies a map, by which the join works from now on. Returns (rule, stream, reason) if it is refused; then
    /// nothing is joined.
    fn apply_map(
        &self,
        py: Python<'_>,
        epoch: u64,
        stale_timeout_ns: Option<u64>,
        times: Option<(u32, Option<u64>)>,
        rules: Vec<Rule>,
        version: u64,
    ) -> PyResult<Option<Refused>> {
        let raw: Vec<_> = rules.iter().map(raw_rule).collect();
        let announced = Announced { out_stream: self.out_stream, epoch, stale_timeout_ns, times, rules: &raw };
        let applied = self.with(py, |engine| {
            let applied = engine.stage.apply(&announced, version);
            if applied == Ok(true) {
                engine.note_applied(times.map(|(domain, _)| domain));
            }
            applied
        })?;
        Ok(match applied {
            Ok(true) => None,
            Ok(false) => Some((None, None, "other_output")),
            Err(refusal) => {
                let (index, stream) = refusal.rule.unzip();
                Some((index, stream, refusal.cause.name()))
            }
        })
    }

    /// What has happened to checkpoints since the last call, oldest first: dicts with `kind` and the fields of that
    /// kind.
    fn take_news<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let news = self.with(py, join_cut::ready_news)?;
        join_cut::take_news(py, (news, self.mailbox.facts.iter().map(|facts| facts.stream_id).collect()))
    }

    /// The checkpoint that this join is taking now, or None.
    fn checkpoint_under_way(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |engine| engine.cut.current())
    }

    /// Sets the alignment settings that the coordinator gave, from now on.
    fn set_alignment(
        &self,
        py: Python<'_>,
        unaligned: bool,
        force_unaligned: bool,
        alignment_timeout_ns: u64,
        late_barrier_timeout_ns: Option<u64>,
    ) -> PyResult<()> {
        self.with(py, |engine| {
            engine.cut.gates.set_timeout(alignment_timeout_ns);
            if let Some(checkpointer) = engine.cut.checkpointer_mut() {
                checkpointer.set_times(unaligned, force_unaligned, alignment_timeout_ns, late_barrier_timeout_ns);
            }
        })
    }

    /// Says that all checkpoints up to this one are over.
    fn raise_checkpoint_floor(&self, py: Python<'_>, checkpoint_id: u64) -> PyResult<()> {
        self.with(py, |engine| {
            if let Some(checkpointer) = engine.cut.checkpointer_mut() {
                checkpointer.raise_floor(checkpoint_id);
            }
        })
    }

    /// Gives up a checkpoint, because the coordinator has.
    fn abort_checkpoint(&self, py: Python<'_>, checkpoint_id: u64) -> PyResult<()> {
        self.with(py, |engine| engine.abort_checkpoint(Some(checkpoint_id), monotonic_ns()))
    }

    /// Gives up a checkpoint whose captured frames could not be stored. The next checkpoint is aligned.
    fn fail_checkpoint(&self, py: Python<'_>, checkpoint_id: u64) -> PyResult<()> {
        self.with(py, |engine| engine.fail_checkpoint(checkpoint_id, monotonic_ns()))
    }

    /// Puts a barrier at the present place of a stream whose producer cannot inject one.
    fn inject(&self, py: Python<'_>, stream_id: u32, checkpoint_id: u64, epoch: u64, unaligned: bool) -> PyResult<()> {
        let index = self.place(py, stream_id)?;
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, unaligned);
        self.with(py, |engine| engine.on_barrier(index, barrier, monotonic_ns()))
    }

    /// Stops reading a stream that other agents cut too. Returns the epoch that is being read and the last sequence
    /// that was taken, either of which may be None. Returns None if the checkpoint is already over here.
    fn hold_ingress(&self, py: Python<'_>, stream_id: u32, checkpoint_id: u64, epoch: u64) -> PyResult<Option<At>> {
        let index = self.place(py, stream_id)?;
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, false);
        let place = self.with(py, |engine| engine.hold_ingress(index, barrier, monotonic_ns()))?;
        Ok(place.map(|place| (place.epoch, place.seq)))
    }

    /// Puts the barrier behind this place of the stream: `cut` if it is done, `due` if that place is still to come.
    /// Otherwise the reason: `past`, `other_epoch` or `over`.
    fn cut_ingress(&self, py: Python<'_>, stream_id: u32, barrier: (u64, u64, bool), at: At) -> PyResult<&'static str> {
        let index = self.place(py, stream_id)?;
        let (checkpoint_id, epoch, is_unaligned) = barrier;
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, is_unaligned);
        let at = Place { epoch: at.0, seq: at.1 };
        let cut = self.with(py, |engine| engine.cut_ingress(index, barrier, at, monotonic_ns()))?;
        Ok(cut_name(cut))
    }

    /// The streams that were rejected since the last call: stream, epoch and sequence of the frame, which of its times
    /// went back, the newest such time before it, and its own.
    fn take_rejections(&self, py: Python<'_>) -> PyResult<Vec<Rejected>> {
        self.with(py, |engine| rejections(&mut engine.stage))
    }

    /// Withdraws the map: nothing is joined until another one is applied.
    fn invalidate(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |engine| engine.stage.invalidate())
    }

    /// Asks for an output at this time, for an external drive. Returns False if too many wait already.
    fn push_time(&self, py: Python<'_>, out_time_ns: i64) -> PyResult<bool> {
        self.with(py, |engine| engine.stage.push_time(out_time_ns))
    }

    /// Says that a stream's epoch ends after that sequence, as the mark beside its regions says. The end takes effect
    /// once the descriptor log has been read.
    #[pyo3(signature = (stream_id, epoch, after_seq = None))]
    fn note_end(&self, py: Python<'_>, stream_id: u32, epoch: u64, after_seq: Option<u64>) -> PyResult<()> {
        let index = self.place(py, stream_id)?;
        self.with(py, |engine| engine.note_mark(index, epoch, after_seq))
    }

    /// Says that no named reader needs the rows below `row` any more. None if there is no named reader.
    fn set_floor(&self, py: Python<'_>, row: Option<u64>) -> PyResult<()> {
        self.with(py, |engine| engine.ledger.writer.set_floor(row))
    }

    /// Sets the semaphores that ring when a batch is sealed. Returns how many of them exist.
    fn set_bells(&self, py: Python<'_>, names: Vec<String>) -> PyResult<usize> {
        self.with(py, |engine| engine.ledger.bells.set(&names))
    }

    /// Publishes the frame of one input with each row that is written, numbered by the output's sequence. None stops
    /// it.
    fn publish_to(&self, py: Python<'_>, producer: Option<&PoolProducer>, index: usize) -> PyResult<()> {
        let target = producer.map(|producer| (index, producer.target()));
        self.with(py, |engine| engine.output.target = target)
    }

    /// What the join waits for, and how deep frames wait in their rings.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let guard = self.locked(py);
        report::status(py, guard.as_ref().ok_or_else(|| closed(py))?)
    }

    /// The counters: rows, bytes, and everything that was not joined.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let guard = self.locked(py);
        report::counters(py, guard.as_ref().ok_or_else(|| closed(py))?, &self.names)
    }

    /// Records what is pending, seals, and closes the journal. Returns the last counters; their `failure` is None, or
    /// the error that kept something out of the journal. With `is_to_go_on` pending frames stay undecided, because they
    /// are fed again.
    #[pyo3(signature = (*, is_to_go_on = false))]
    fn finish<'py>(&self, py: Python<'py>, is_to_go_on: bool) -> PyResult<Bound<'py, PyDict>> {
        let mut engine = py.detach(|| unpoisoned(&self.engine).take()).ok_or_else(|| closed(py))?;
        let finished = py.detach(|| engine.finish(is_to_go_on));
        let counters = report::counters(py, &engine, &self.names)?;
        let closed = finished.and_then(|()| py.detach(|| engine.close()));
        counters.set_item("failure", closed.err().map(|failure| raised(py, &failure).into_value(py)))?;
        Ok(counters)
    }
}

impl JoinEngine {
    /// Lets the engine work without the GIL, and returns what happened as a dict.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&mut Engine) -> Outcome + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (outcome, reason, failure) = py
            .detach(|| {
                let mut guard = unpoisoned(&self.engine);
                let engine = guard.as_mut()?;
                let outcome = work(engine);
                Some((outcome, engine.ledger.full_reason, engine.ledger.failure.take()))
            })
            .ok_or_else(|| closed(py))?;
        if let Some(failure) = failure {
            return Err(raised(py, &failure));
        }
        let found = PyDict::new(py);
        found.set_item("is_full", outcome.is_full)?;
        found.set_item("full_reason", reason)?;
        found.set_item("is_finished", outcome.is_finished)?;
        found.set_item("is_copying", outcome.is_copying)?;
        found.set_item("needs_time", outcome.needs_time)?;
        found.set_item("has_all_outputs", outcome.has_all_outputs)?;
        found.set_item("has_new_epoch", outcome.has_new_epoch)?;
        found.set_item("has_rejections", outcome.has_rejections)?;
        found.set_item("has_news", outcome.has_news)?;
        found.set_item("end", outcome.end)?;
        Ok(found)
    }

    /// The index of a stream among those that are joined.
    fn place(&self, py: Python<'_>, stream_id: u32) -> PyResult<usize> {
        let found = self.mailbox.place(stream_id);
        found.ok_or_else(|| raise(py, "InvalidValue", "the join has no such stream", &[]))
    }

    /// Locks the engine. The thread that runs slices holds the lock during a slice.
    fn locked<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, Option<Engine>> {
        unpoisoned_detached(py, &self.engine)
    }

    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Engine) -> T) -> PyResult<T> {
        self.locked(py).as_mut().map(work).ok_or_else(|| closed(py))
    }
}

const fn fed_at((monotonic_ns, realtime_ns): (u64, u64)) -> FedAt {
    FedAt { monotonic_ns, realtime_ns }
}

fn closed(py: Python<'_>) -> PyErr {
    raise(py, "JournalFailed", "the engine was closed before", &[])
}

fn no_memory(py: Python<'_>, failure: &std::io::Error) -> PyErr {
    let message =
        format!("the system gives no address space for copies of frames ({failure}); pending_bytes bounds it");
    raise(py, "JournalFailed", &message, &[])
}

fn raw_rule(&(stream, rule_type, source, offset, window): &Rule) -> RawRule {
    RawRule { stream, rule_type, source, offset, window }
}

fn inputs_of(mailbox: &Mailbox, stage: &StageConfig) -> Option<Vec<InputPlan>> {
    let planned = |stream_id| Some(InputPlan { stream: mailbox.place(stream_id)?, stream_id });
    stage.inputs.iter().map(|input| planned(input.stream)).collect()
}
