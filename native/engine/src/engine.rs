// SPDX-License-Identifier: Apache-2.0
//! The hot loop of a join agent. Each turn polls descriptors, asks the stage which outputs are ready, and copies each
//! of their frames once, into its row.
//!
//! One thread runs the loop, a slice of time per call. Nothing here knows Python, and the loop allocates nothing once
//! it runs.

use std::sync::Arc;

use framegate_core::bell::Sleeper;
use framegate_core::idle::{IdleStrategy, LONGEST_PARK_NS};
use framegate_counters::counters;
use framegate_intake::facts::PortCounters;
use framegate_intake::mailbox::{Command, Mailbox};
use framegate_intake::slices::{SLEEP_MOST_NS, Slices, Turn, Working};
use framegate_intake::waiting::Waiting;
use framegate_join::map::ClockDomain;
use framegate_join::output_watermarks::OutputWatermarks;
use framegate_join::stage::Stage;
use framegate_journal::Writer;
use serde::Deserialize;

use super::fed::Time;
use super::port::Port;
use super::wires::Wires;
pub use copying::Copying;
use hearing::Hearing;
pub use passing::Output;
use row::{Draft, ROWS};
pub use sealing::Ledger;

mod aligning;
mod copying;
mod cut;
mod hearing;
mod ingress;
mod passing;
mod recovering;
mod restoring;
mod row;
mod sealing;
mod snapshot;
mod taking;

pub use cut::{CheckpointHabits, Cut, News, Passing, Snapshot};
pub use restoring::{Late, Recalled, Record, Restoring};
pub use sealing::{CHECKPOINT_STATE_BYTES, split_state};

/// Why a slice ended, and what its caller has to do.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcome {
    /// Whether the journal takes no row now.
    pub is_full: bool,
    /// Whether every input has ended and nothing more can be joined.
    pub is_finished: bool,
    /// Whether the stage needs output times that its caller supplies.
    pub needs_time: bool,
    pub has_all_outputs: bool,
    /// Whether an input came back with another epoch: the output begins anew, and needs its map.
    pub has_new_epoch: bool,
    /// Whether an input was rejected because of its times.
    pub has_rejections: bool,
    /// Whether a checkpoint has news that the caller must store or report.
    pub has_news: bool,
    /// Whether frames of a snapshot are still being copied.
    pub is_copying: bool,
    /// The signal that finishes the join, if one does: whether it waits for all upstreams, and its id.
    pub end: Option<(bool, u64)>,
}

/// Which stream an input reads.
#[derive(Clone, Copy, Debug)]
pub struct InputPlan {
    pub stream: usize,
    pub stream_id: u32,
}

/// How an engine works, apart from the rules of its stage.
#[derive(Clone, Debug, Deserialize)]
pub struct Habits {
    /// Whether output times are realtime.
    pub is_realtime: bool,
    /// Whether unmatched frames become rows of the side table; otherwise they are only counted.
    pub keeps_unmatched: bool,
    /// Whether each frame may make an output of its own; then only one fragment is polled at a time.
    #[serde(skip)]
    pub is_one_by_one: bool,
    /// Most memory for copies of waiting frames; 0: frames wait in their rings.
    pub pending_bytes: usize,
    /// How much of that memory is taken at the start.
    pub ahead_bytes: usize,
    /// Whether a frame is copied when it comes; otherwise when half a ring has passed since.
    pub copies_at_arrival: bool,
    pub checkpoints: CheckpointHabits,
    /// The newest barrier that an earlier run of this agent snapshotted.
    #[serde(skip)]
    pub checkpoint_id: u64,
}

counters! {
    /// What an engine counts, apart from its stage, ports and journal.
    pub struct EngineCounters {
        /// Rows of this run.
        rows,
        /// Payload bytes of these rows.
        bytes,
        /// Turns in which the journal took no row.
        full_turns,
        /// Descriptors of streams that are not inputs.
        other_streams,
        /// Messages that a join does not know.
        other_messages,
        /// Frames that could not be published again.
        publish_failures,
        /// Frames that were copied out of a ring before it came round.
        copied_out_frames,
        /// Payload bytes of these frames.
        copied_out_bytes,
        /// Frames that should have been copied but found no space.
        arena_full,
    }
}

/// One join: a stage, and everything that feeds it and writes its rows.
pub struct Engine<W: Wires> {
    /// Decides which frames belong together.
    pub stage: Stage,
    /// Which stream each input reads, in the order of the inputs.
    pub inputs: Vec<InputPlan>,
    /// The engine's own counters.
    pub counters: EngineCounters,
    /// The journal that takes the rows, and what was sealed.
    pub ledger: Ledger,
    /// The input whose frames are published again, and its watermarks.
    pub output: Output<W::Target>,
    /// Copies of waiting frames.
    pub copying: Copying,
    /// The state of checkpoints and signals.
    pub cut: Cut,
    /// The newest barrier that was snapshotted; every row carries its id.
    pub checkpoint_id: u64,
    /// For each stream, what passed between an earlier run and the first frame of this one: epoch, first and last
    /// sequence.
    pub gaps: Vec<Option<(u64, u64, u64)>>,
    /// How long turns and pauses took.
    pub slices: Slices,
    pub(crate) ports: Vec<Port>,
    pub(crate) time: Time,
    hearing: Hearing<W::Descriptors>,
    waiting: Waiting,
    draft: Draft,
    /// Whether each frame may make an output of its own; then only one fragment is polled at a time.
    is_one_by_one: bool,
    /// Rows after which the join ends; 0: never.
    outputs: u64,
}

/// An engine in a slice.
struct Run<'a, W: Wires> {
    engine: &'a mut Engine<W>,
    outputs: u64,
    outcome: Outcome,
}

impl<W: Wires> Working for Run<'_, W> {
    fn turn(&mut self, now_ns: u64) -> Turn {
        let work = self.engine.turn(now_ns, self.outputs, &mut self.outcome);
        Turn::of(self.engine.is_over(&self.outcome), work)
    }

    fn is_stopping(&self) -> bool {
        self.engine.hearing.mailbox.is_stopping()
    }

    fn lend_sleeper(&mut self, now_ns: u64) -> (Sleeper, u64) {
        let engine = &mut *self.engine;
        // A journal that is full says to nobody when it has room again, and a clock's ticks may be close together.
        let is_timed = self.outcome.is_full || engine.stage.is_by_clock();
        let most_ns = if is_timed { LONGEST_PARK_NS } else { SLEEP_MOST_NS };
        let most_ns = engine.ledger.writer.seals_in_ns(now_ns).map_or(most_ns, |wait_ns| most_ns.min(wait_ns));
        (engine.waiting.lend(&engine.hearing.mailbox), most_ns)
    }

    fn return_sleeper(&mut self, sleeper: Sleeper) {
        self.engine.waiting.take_back(sleeper);
    }
}

impl<W: Wires> Engine<W> {
    /// Makes an engine. `resumed`: for each stream, epoch and sequence of the newest frame that an earlier run decided.
    ///
    /// # Errors
    /// The memory for copies of frames cannot be had.
    pub fn new(
        stage: Stage,
        writer: Writer,
        inputs: Vec<InputPlan>,
        mailbox: Arc<Mailbox<W::Descriptors>>,
        resumed: Vec<Option<(u64, u64)>>,
        habits: &Habits,
    ) -> std::io::Result<Self> {
        let streams = resumed.len();
        let published_input = habits.checkpoints.published_input.filter(|input| *input < inputs.len());
        let published = published_input.map(|input| inputs[input].stream);
        // A stream needs copies for every frame that its inputs may keep waiting, and for the one joined most recently.
        let frames_max = stage.history() + 1;
        Ok(Self {
            ledger: Ledger::new(writer, habits.keeps_unmatched),
            output: Output {
                target: None,
                input: published_input,
                watermarks: OutputWatermarks::new(published, stage.is_reusing()),
                epoch: stage.out_epoch(),
            },
            copying: Copying::new(streams, frames_max, habits)?,
            cut: Cut::new(streams, &habits.checkpoints)?,
            checkpoint_id: habits.checkpoint_id,
            counters: EngineCounters::default(),
            gaps: vec![None; streams],
            slices: Slices::default(),
            ports: resumed.into_iter().map(Port::new).collect(),
            time: Time::new(habits.is_realtime),
            hearing: Hearing::new(mailbox, habits.is_one_by_one),
            waiting: Waiting::new(streams),
            draft: Draft::new(inputs.len()),
            is_one_by_one: habits.is_one_by_one,
            outputs: 0,
            stage,
            inputs,
        })
    }

    /// Runs turns until the slice is over, or until the caller has to decide something.
    pub fn run(&mut self, slice_ns: u64, outputs: u64, idle: IdleStrategy) -> Outcome {
        let mut slices = self.slices;
        let mut run = Run { engine: self, outputs, outcome: Outcome::default() };
        let now_ns = slices.run(slice_ns, idle, &mut run);
        let mut outcome = run.outcome;
        self.slices = slices;
        self.publish_facts();
        if let Err(failure) = self.ledger.writer.heartbeat(now_ns) {
            self.note_failure(failure, &mut outcome);
        }
        outcome
    }

    /// Whether the caller has to decide something before the next turn.
    pub(crate) fn is_over(&self, outcome: &Outcome) -> bool {
        let Outcome { has_all_outputs, has_new_epoch, is_finished, has_news, .. } = *outcome;
        self.ledger.failure.is_some() || has_all_outputs || has_new_epoch || is_finished || has_news
    }

    /// Notes that a map took effect. It decides whether frames may be published more than once, and by which clock
    /// outputs are due.
    pub fn note_applied(&mut self, domain: Option<u32>) {
        self.output.watermarks.set_reusing(self.stage.is_reusing());
        if let Some(domain) = domain {
            self.time.is_realtime = domain == ClockDomain::RealtimeSynced as u32;
        }
    }

    /// Runs one duty cycle; returns how much work it did.
    pub(crate) fn turn(&mut self, now_ns: u64, outputs: u64, outcome: &mut Outcome) -> usize {
        self.take_commands(now_ns);
        self.outputs = outputs;
        outcome.is_full = false;
        let mut work = self.hear(now_ns);
        let stage_ns = self.time.stage_ns(now_ns);
        if self.cut.is_under_way || self.cut.signals.pending().is_some() {
            self.tick_cut(stage_ns);
        }
        self.stage.tick(stage_ns, self.time.output_ns(stage_ns));
        let attempts = self.join(now_ns, outputs, outcome);
        work += attempts + self.copy_slice();
        if outcome.has_all_outputs || self.cut.is_terminated {
            // The caller ends the join now, and takes the news that are ready.
            self.copy_the_rest();
        }
        if self.hearing.is_drained && attempts < ROWS {
            work += self.copy_out();
        }
        self.note_unmatched(now_ns);
        if self.output.watermarks.is_waiting() {
            self.pass_watermarks();
        }
        if self.ledger.writer.is_seal_due(now_ns) || self.cut.awaits_seal(self.ledger.writer.sealed_rows()) {
            self.seal(now_ns, outcome);
        }
        self.release_copies();
        if self.stage.out_epoch() != self.output.epoch {
            self.output.epoch = self.stage.out_epoch();
            self.output.watermarks.forget();
            outcome.has_new_epoch = true;
        }
        outcome.needs_time = self.stage.needs_time();
        outcome.has_rejections = self.stage.has_rejections();
        let sealed_rows = self.ledger.writer.sealed_rows();
        outcome.has_news = self.cut.has_news(sealed_rows);
        outcome.is_copying = self.cut.taking.is_some();
        let is_stored = self.cut.is_stored(sealed_rows);
        let is_over = is_stored && work == 0 && self.stage.is_finished() && !self.reopen_continued();
        outcome.is_finished = is_over || (is_stored && self.cut.is_terminated);
        outcome.end = self.cut.end.map(|signal| (signal.is_barrier, signal.barrier_id));
        work
    }

    fn take_commands(&mut self, now_ns: u64) {
        let Some(commands) = self.hearing.mailbox.take() else { return };
        for command in commands {
            match command {
                Command::Attach(port, mapping) => {
                    self.waiting.attached(port, &mapping);
                    let epoch = mapping.epoch();
                    if !self.ports[port].attach(mapping, &mut self.hearing.unneeded) {
                        self.stage.note_older(port, epoch);
                    }
                    self.take_passed(port, self.time.stage_ns(now_ns));
                }
                Command::Detach(port) => {
                    self.waiting.detached(port);
                    self.ports[port].detach();
                }
                Command::Announced(port, epoch, has_producer) => self.ports[port].note_announced(epoch, has_producer),
                Command::Listen(subscription) => self.hearing.subscriptions.push(subscription),
                Command::Deafen => {
                    self.hearing.subscriptions.clear();
                    self.ports.iter_mut().for_each(|port| port.was_away = true);
                }
                Command::PushTime(out_time_ns) => {
                    self.stage.push_time(out_time_ns);
                }
            }
        }
        self.advance_over_full(self.time.stage_ns(now_ns));
        self.hearing.drained_turns = 0;
        self.return_mappings();
    }

    /// Releases mappings that no waiting frame needs; the client's thread unmaps them.
    fn release_mappings(&mut self) {
        // Frames that wait behind a barrier, or for their turn in a snapshot, may have no copy: their rings must stay.
        if !self.cut.is_under_way && self.cut.taking.is_none() {
            for (index, port) in self.ports.iter_mut().enumerate() {
                port.release(|epoch, until| self.stage.needs(index, epoch, until), &mut self.hearing.unneeded);
            }
        }
        self.return_mappings();
    }

    fn return_mappings(&mut self) {
        if !self.hearing.unneeded.is_empty() {
            self.hearing.mailbox.give_back(&mut self.hearing.unneeded);
        }
    }

    /// The counters of a stream, by its index.
    pub fn port_counters(&self, stream: usize) -> &PortCounters {
        &self.ports[stream].counters
    }

    pub(crate) fn publish_facts(&mut self) {
        for (port, facts) in self.ports.iter_mut().zip(&self.hearing.mailbox.facts) {
            if std::mem::take(&mut port.has_news) {
                facts.publish(port.epoch(), port.last_seq(), &port.counters);
            }
        }
    }
}
