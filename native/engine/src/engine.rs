// SPDX-License-Identifier: Apache-2.0
//! The join agent's hot loop: poll descriptors, observe, ask what is ready, read each frame once, copy it to its place.
//!
//! One thread runs it, a slice at a time. Nothing here knows Python, and nothing allocates once it runs.

use std::sync::Arc;

use framegate_core::idle::IdleStrategy;
use framegate_counters::counters;
use framegate_intake::facts::PortCounters;
use framegate_intake::mailbox::{Command, Mailbox};
use framegate_intake::slices::{Slices, Turn};
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

pub use cut::{CheckpointHabits, Cut, News, Passing, Snapshot};
pub use restoring::{Late, Recalled, Record, Restoring};
pub use sealing::{CHECKPOINT_STATE_BYTES, split_state};

/// What a slice came to.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcome {
    /// The journal takes no row now.
    pub is_full: bool,
    /// Every input has ended and nothing more can be joined.
    pub is_finished: bool,
    /// The stage has no more output times, and somebody else gives them.
    pub needs_time: bool,
    pub has_all_outputs: bool,
    /// An input came back with another epoch: the output begins anew, and needs its map.
    pub has_new_epoch: bool,
    /// An input was rejected by its times.
    pub has_rejections: bool,
    /// A checkpoint has come to something that has to be written down or told.
    pub has_news: bool,
    /// The signal by which it is finished, if it was one of all upstreams or one that waits for none: whether it is of
    /// the barrier kind, and its id.
    pub end: Option<(bool, u64)>,
}

/// How frames of one input become cells.
#[derive(Clone, Copy, Debug)]
pub struct InputPlan {
    pub stream: usize,
    pub stream_id: u32,
}

/// How an engine works, beside what its stage decides.
#[derive(Clone, Debug, Deserialize)]
pub struct Habits {
    /// Whether output times are realtime.
    pub is_realtime: bool,
    /// Whether what was not joined becomes rows, or is only counted.
    pub keeps_unmatched: bool,
    /// Whether each observation may be an output of its own, so that no two are taken between two questions.
    #[serde(skip)]
    pub is_one_by_one: bool,
    /// Memory for copies of frames that wait; 0: they wait in their rings.
    pub pending_bytes: usize,
    /// So much of it is ready before a frame has to be copied.
    pub ahead_bytes: usize,
    /// Whether frames are copied as they come, or when half a ring has passed since.
    pub copies_at_arrival: bool,
    pub checkpoints: CheckpointHabits,
    /// The last barrier that an earlier life snapshotted.
    #[serde(skip)]
    pub checkpoint_id: u64,
}

counters! {
    /// What an engine counts, beside its stage, its ports and its journal.
    pub struct EngineCounters {
        /// Rows of this run.
        rows,
        /// Bytes of their frames.
        bytes,
        /// Turns in which the journal took no row.
        full_turns,
        /// Descriptors of streams that are no inputs.
        other_streams,
        /// Messages that are none of a join's.
        other_messages,
        /// Frames that could not be published again.
        publish_failures,
        /// Frames that were copied out of a ring, for it was about to come round.
        copied_out_frames,
        /// Their bytes.
        copied_out_bytes,
        /// Frames that were to be copied and found no room.
        arena_full,
    }
}

/// One join.
pub struct Engine<W: Wires> {
    /// What belongs together.
    pub stage: Stage,
    /// Of the inputs, in order.
    pub inputs: Vec<InputPlan>,
    /// What was counted.
    pub counters: EngineCounters,
    /// Where rows go.
    pub ledger: Ledger,
    /// What is published again.
    pub output: Output<W::Target>,
    /// Frames that were copied, for they wait.
    pub copying: Copying,
    /// Checkpoints and signals.
    pub cut: Cut,
    /// The last barrier that was snapshotted; rows carry it.
    pub checkpoint_id: u64,
    /// Of each stream, what passed between an earlier life and the first thing that this one heard: epoch, first, last.
    pub gaps: Vec<Option<(u64, u64, u64)>>,
    /// The turns of its thread.
    pub slices: Slices,
    pub(crate) ports: Vec<Port>,
    pub(crate) time: Time,
    hearing: Hearing<W::Descriptors>,
    draft: Draft,
    /// Whether each observation may be an output of its own, so that no two are taken between two questions.
    is_one_by_one: bool,
    /// Rows after which the join ends; 0: never.
    outputs: u64,
}

impl<W: Wires> Engine<W> {
    /// `resumed`: of each stream, epoch and sequence of the last frame that an earlier life decided.
    ///
    /// # Errors
    /// There is no memory for copies of frames.
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
        // Of a stream, as many as its inputs let wait, and the one that was joined last.
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
            draft: Draft::new(inputs.len()),
            is_one_by_one: habits.is_one_by_one,
            outputs: 0,
            stage,
            inputs,
        })
    }

    /// Turns until the time is up, or something has to be decided elsewhere.
    pub fn run(&mut self, slice_ns: u64, outputs: u64, idle: IdleStrategy) -> Outcome {
        let mut outcome = Outcome::default();
        let mut slices = self.slices;
        let mailbox = Arc::clone(&self.hearing.mailbox);
        let now_ns = slices.run(
            slice_ns,
            idle,
            || mailbox.is_stopping(),
            |now_ns| {
                let work = self.turn(now_ns, outputs, &mut outcome);
                let is_over =
                    outcome.has_all_outputs || outcome.has_new_epoch || outcome.is_finished || outcome.has_news;
                Turn::of(self.ledger.failure.is_some() || is_over, work)
            },
        );
        self.slices = slices;
        self.publish_facts();
        if let Err(failure) = self.ledger.writer.heartbeat(now_ns) {
            self.note_failure(failure, &mut outcome);
        }
        outcome
    }

    /// A map is in force: it says whether published frames come again, and a map of times which clock ticks.
    pub fn note_applied(&mut self, domain: Option<u32>) {
        self.output.watermarks.set_reusing(self.stage.is_reusing());
        if let Some(domain) = domain {
            self.time.is_realtime = domain == ClockDomain::RealtimeSynced as u32;
        }
    }

    /// One duty cycle; how much was done.
    pub(crate) fn turn(&mut self, now_ns: u64, outputs: u64, outcome: &mut Outcome) -> usize {
        self.obey(now_ns);
        self.outputs = outputs;
        outcome.is_full = false;
        let mut work = self.hear(now_ns);
        let stage_ns = self.time.stage_ns(now_ns);
        if self.cut.is_under_way || self.cut.signals.pending().is_some() {
            self.tick_cut(stage_ns);
        }
        self.stage.tick(stage_ns, self.time.output_ns(stage_ns));
        let attempts = self.join(now_ns, outputs, outcome);
        work += attempts;
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
        let is_stored = !self.cut.awaits_seal(sealed_rows);
        let is_over = is_stored && work == 0 && self.stage.is_finished() && !self.has_returned();
        outcome.is_finished = is_over || (is_stored && self.cut.is_terminated);
        outcome.end = self.cut.end.map(|signal| (signal.is_barrier, signal.barrier_id));
        work
    }

    fn obey(&mut self, now_ns: u64) {
        let Some(commands) = self.hearing.mailbox.take() else { return };
        for command in commands {
            match command {
                Command::Attach(port, mapping) => {
                    let epoch = mapping.epoch();
                    if !self.ports[port].attach(mapping, &mut self.hearing.unneeded) {
                        self.stage.note_older(port, epoch);
                    }
                    self.take_passed(port, self.time.stage_ns(now_ns));
                }
                Command::Detach(port) => self.ports[port].detach(),
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
        self.make_way(self.time.stage_ns(now_ns));
        self.hearing.drained_turns = 0;
        self.return_mappings();
    }

    /// Mappings of which nothing is needed go to the client's thread.
    fn let_go(&mut self) {
        // What waits behind a barrier may not be copied.
        if !self.cut.is_under_way {
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

    /// What was counted of a stream, by its place.
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
