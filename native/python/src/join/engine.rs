// SPDX-License-Identifier: Apache-2.0
//! The join agent's hot loop: poll descriptors, observe, ask what is ready, read each frame once, copy it to its place.
//!
//! One thread runs it, a slice at a time. Nothing here knows Python, and nothing allocates once it runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use framegate_core::idle::{IdleStrategy, Idler, tighten_timer_slack};
use framegate_core::pool::hold::Hold;
use framegate_core::pool::tensor::Tensor;
use framegate_join::map::ClockDomain;
use framegate_join::output_watermarks::OutputWatermarks;
use framegate_join::stage::{Pick, Stage};
use framegate_journal::{JournalError, Writer};

use super::clock::{monotonic_ns, realtime_ns};
use super::doorbell::Doorbells;
use super::fed::FedAt;
use super::mailbox::{Command, Mailbox};
use super::port::Port;
use super::ring::Ring;
use super::route::Route;
use crate::aeron::SubscriptionShared;
use crate::pool::PublishTarget;
use copying::Copying;
use row::{ROWS, Source};

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

pub(super) use cut::{CheckpointHabits, Cut, News, Passing, Snapshot};
pub(super) use restoring::{Late, Recalled, Record, Restoring};
pub(super) use sealing::{CHECKPOINT_STATE_BYTES, split_state};

/// Fragments of one subscription in one turn, so that no input waits long for another.
const FRAGMENTS: usize = 64;
/// Producers that are paced by their readers wait for the facts: a slice is long for them, a turn of a busy loop short.
const FACTS_NS: u64 = 1_000_000;

/// What a slice came to.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Outcome {
    /// The journal takes no row now.
    pub(super) is_full: bool,
    /// Every input has ended and nothing more can be joined.
    pub(super) is_finished: bool,
    /// The stage has no more output times, and somebody else gives them.
    pub(super) needs_time: bool,
    pub(super) has_all_outputs: bool,
    /// An input came back with another epoch: the output begins anew, and needs its map.
    pub(super) has_new_epoch: bool,
    /// An input was rejected by its times.
    pub(super) has_rejections: bool,
    /// A checkpoint has come to something that has to be written down or told.
    pub(super) has_news: bool,
    /// The signal by which it is finished, if it was one of all upstreams or one that waits for none: whether it is of
    /// the barrier kind, and its id.
    pub(super) end: Option<(bool, u64)>,
}

/// How frames of one input become cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputPlan {
    pub(super) stream: usize,
    pub(super) stream_id: u32,
}

/// How an engine works, beside what its stage decides.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    /// Whether output times are realtime.
    pub(super) is_realtime: bool,
    /// Whether what was not joined becomes rows, or is only counted.
    pub(super) keeps_unmatched: bool,
    /// Whether each observation may be an output of its own, so that no two are taken between two questions.
    pub(super) is_one_by_one: bool,
    /// Memory for copies of frames that wait; 0: they wait in their rings.
    pub(super) pending_bytes: usize,
    /// So much of it is ready before a frame has to be copied.
    pub(super) ahead_bytes: usize,
    /// Whether frames are copied as they come, or when half a ring has passed since.
    pub(super) copies_at_arrival: bool,
    pub(super) checkpoints: CheckpointHabits,
    /// The last barrier that an earlier life snapshotted.
    pub(super) checkpoint_id: u64,
}

#[derive(Default, Debug)]
pub(super) struct EngineCounters {
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) full_turns: u64,
    pub(super) other_streams: u64,
    pub(super) other_messages: u64,
    pub(super) publish_failures: u64,
    /// Frames that were copied out of a ring, for it was about to come round.
    pub(super) copied_out_frames: u64,
    pub(super) copied_out_bytes: u64,
    /// Frames that were to be copied and found no room.
    pub(super) arena_full: u64,
    /// The longest that one turn took, with the pause behind it: a ring must hold what comes meanwhile.
    pub(super) longest_turn_ns: u64,
    /// The longest that nobody let the engine run.
    pub(super) longest_absence_ns: u64,
}

pub(super) struct Engine {
    pub(super) stage: Stage,
    pub(super) writer: Writer,
    pub(super) inputs: Vec<InputPlan>,
    pub(super) counters: EngineCounters,
    pub(super) bells: Doorbells,
    pub(super) publish: Option<(usize, PublishTarget)>,
    pub(super) failure: Option<JournalError>,
    pub(super) full_reason: &'static str,
    is_realtime: bool,
    is_one_by_one: bool,
    /// How many fragments of a subscription a turn takes.
    fragments: usize,
    /// Rows after which the join ends; 0: never.
    outputs: u64,
    /// The last barrier that was snapshotted; rows carry it.
    pub(super) checkpoint_id: u64,
    pub(super) cut: Cut,
    watermarks: OutputWatermarks,
    published_input: Option<usize>,
    pub(super) ports: Vec<Port>,
    route: Route,
    subscriptions: Vec<Arc<SubscriptionShared>>,
    mailbox: Arc<Mailbox>,
    frames: Vec<Option<Source>>,
    /// Copies of frames that wait for their partners.
    pub(super) waiting: Hold,
    copies_at_arrival: bool,
    pub(super) copying: Copying,
    /// Whether each of the subscriptions had less to give than it was asked for.
    is_drained: bool,
    /// Whether what was not joined becomes rows of the side table, or is only counted.
    keeps_unmatched: bool,
    /// What the frame of each input is.
    tensors: Vec<Tensor>,
    sizes: Vec<u32>,
    picks: Vec<Pick>,
    out_epoch: u64,
    /// Of each stream, what passed between an earlier life and the first thing that this one heard: epoch, first, last.
    pub(super) gaps: Vec<Option<(u64, u64, u64)>>,
    /// When the last slice ended.
    left_at_ns: Option<u64>,
    /// The time of what is fed to it, for the stage: an engine that is fed does not live in the present.
    pub(super) fed_at: Option<FedAt>,
    pub(super) beat_at_ns: u64,
    /// Turns in a row that read every log to its end.
    drained_turns: u32,
    /// Mappings that are on their way to the client's thread.
    yard: Vec<Box<Ring>>,
    /// When the next facts are due although descriptors keep coming.
    facts_due_ns: u64,
}

impl Engine {
    pub(super) fn new(
        stage: Stage,
        writer: Writer,
        inputs: Vec<InputPlan>,
        mailbox: Arc<Mailbox>,
        resumed: Vec<Option<(u64, u64)>>,
        habits: &Habits,
    ) -> std::io::Result<Self> {
        let count = inputs.len();
        let published = habits.checkpoints.published_input.and_then(|input| Some(inputs.get(input)?.stream));
        let out_epoch = stage.out_epoch();
        let streams = resumed.len();
        // Of a stream, as many as its inputs let wait, and the one that was joined last.
        let frames_max = stage.history() + 1;
        let watermarks = OutputWatermarks::new(published, stage.is_reusing());
        Ok(Self {
            waiting: Hold::new(streams, habits.pending_bytes, frames_max, habits.ahead_bytes)?,
            copies_at_arrival: habits.copies_at_arrival && habits.pending_bytes > 0,
            copying: Copying::new(streams, habits.pending_bytes),
            is_drained: false,
            stage,
            watermarks,
            published_input: habits.checkpoints.published_input.filter(|input| *input < count),
            writer,
            counters: EngineCounters::default(),
            bells: Doorbells::default(),
            publish: None,
            failure: None,
            full_reason: "",
            is_realtime: habits.is_realtime,
            is_one_by_one: habits.is_one_by_one,
            outputs: 0,
            checkpoint_id: habits.checkpoint_id,
            cut: Cut::new(streams, &habits.checkpoints)?,
            fragments: if habits.is_one_by_one { 1 } else { FRAGMENTS },
            keeps_unmatched: habits.keeps_unmatched,
            ports: resumed.into_iter().map(Port::new).collect(),
            route: Route::new(mailbox.facts.iter().map(|facts| facts.stream_id)),
            subscriptions: Vec::new(),
            mailbox,
            frames: vec![None; count],
            tensors: vec![Tensor::contiguous(0, 0, &[]); count],
            sizes: vec![0; count],
            picks: Vec::with_capacity(count),
            inputs,
            out_epoch,
            gaps: vec![None; streams],
            left_at_ns: None,
            fed_at: None,
            beat_at_ns: 0,
            drained_turns: 0,
            yard: Vec::with_capacity(2 * streams),
            facts_due_ns: 0,
        })
    }

    /// Turns until the time is up, or something has to be decided elsewhere.
    pub(super) fn run(&mut self, slice_ns: u64, outputs: u64, idle: IdleStrategy) -> Outcome {
        tighten_timer_slack();
        let began_ns = monotonic_ns();
        let absence_ns = began_ns - self.left_at_ns.unwrap_or(began_ns);
        self.counters.longest_absence_ns = self.counters.longest_absence_ns.max(absence_ns);
        let mut idler = Idler::new(idle);
        let mut outcome = Outcome::default();
        let mut now_ns = began_ns;
        while !self.mailbox.is_stopping.load(Ordering::Relaxed) {
            let work = self.turn(now_ns, outputs, &mut outcome);
            let is_over = outcome.has_all_outputs || outcome.has_new_epoch || outcome.is_finished || outcome.has_news;
            if self.failure.is_some() || is_over {
                break;
            }
            if work == 0 {
                idler.idle();
            } else {
                idler.reset();
            }
            let turned_ns = monotonic_ns();
            self.counters.longest_turn_ns = self.counters.longest_turn_ns.max(turned_ns - now_ns);
            now_ns = turned_ns;
            if now_ns - began_ns >= slice_ns {
                break;
            }
        }
        self.publish_facts();
        if let Err(failure) = self.writer.heartbeat(now_ns) {
            self.note_failure(failure, &mut outcome);
        }
        self.left_at_ns = Some(now_ns);
        outcome
    }

    /// A map is in force: it says whether published frames come again, and a map of times which clock ticks.
    pub(super) fn note_applied(&mut self, domain: Option<u32>) {
        self.watermarks.set_reusing(self.stage.is_reusing());
        if let Some(domain) = domain {
            self.is_realtime = domain == ClockDomain::RealtimeSynced as u32;
        }
    }

    /// One duty cycle; how much was done.
    pub(super) fn turn(&mut self, now_ns: u64, outputs: u64, outcome: &mut Outcome) -> usize {
        self.obey(now_ns);
        self.outputs = outputs;
        outcome.is_full = false;
        let mut work = self.hear(now_ns);
        let stage_ns = self.stage_ns(now_ns);
        if self.cut.is_under_way || self.cut.signals.pending().is_some() {
            self.tick_cut(stage_ns);
        }
        let clock_ns = match self.fed_at {
            Some(fed) if self.is_realtime => fed.realtime_ns,
            None if self.is_realtime => realtime_ns(),
            _ => stage_ns,
        };
        self.stage.tick(stage_ns, clock_ns);
        let attempts = self.join(now_ns, outputs, outcome);
        work += attempts;
        if self.is_drained && attempts < ROWS {
            work += self.copy_out();
        }
        self.note_unmatched(now_ns);
        if self.watermarks.is_waiting() {
            self.pass_watermarks();
        }
        if self.writer.is_seal_due(now_ns) || self.cut.awaits_seal(self.writer.sealed_rows()) {
            self.seal(now_ns, outcome);
        }
        self.release_copies();
        if self.stage.out_epoch() != self.out_epoch {
            self.out_epoch = self.stage.out_epoch();
            self.watermarks.forget();
            outcome.has_new_epoch = true;
        }
        outcome.needs_time = self.stage.needs_time();
        outcome.has_rejections = self.stage.has_rejections();
        let sealed_rows = self.writer.sealed_rows();
        outcome.has_news = self.cut.has_news(sealed_rows);
        let is_stored = !self.cut.awaits_seal(sealed_rows);
        let is_over = is_stored && work == 0 && self.stage.is_finished() && !self.has_returned();
        outcome.is_finished = is_over || (is_stored && self.cut.is_terminated);
        outcome.end = self.cut.end.map(|signal| (signal.is_barrier, signal.barrier_id));
        work
    }

    /// What the stage takes for now.
    #[inline]
    pub(super) fn stage_ns(&self, now_ns: u64) -> u64 {
        self.fed_at.map_or(now_ns, |fed| fed.monotonic_ns)
    }

    fn obey(&mut self, now_ns: u64) {
        let Some(commands) = self.mailbox.take() else { return };
        for command in commands {
            match command {
                Command::Attach(port, ring) => {
                    self.ports[port].attach(ring, &mut self.yard);
                    self.take_passed(port, self.stage_ns(now_ns));
                }
                Command::Detach(port) => self.ports[port].detach(),
                Command::Announced(port, epoch, has_producer) => self.ports[port].note_announced(epoch, has_producer),
                Command::Listen(subscription) => self.subscriptions.push(subscription),
                Command::Deafen => {
                    self.subscriptions.clear();
                    self.ports.iter_mut().for_each(|port| port.was_away = true);
                }
            }
        }
        self.make_way(self.stage_ns(now_ns));
        self.drained_turns = 0;
        self.clear_yard();
    }

    /// Mappings of which nothing is needed go to the client's thread.
    fn let_go(&mut self) {
        // What waits behind a barrier may not be copied.
        if !self.cut.is_under_way {
            for (index, port) in self.ports.iter_mut().enumerate() {
                port.release(|epoch, until| self.stage.needs(index, epoch, until), &mut self.yard);
            }
        }
        self.clear_yard();
    }

    fn clear_yard(&mut self) {
        if !self.yard.is_empty() {
            self.mailbox.give_back(&mut self.yard);
        }
    }

    pub(super) fn publish_facts(&mut self) {
        for (port, facts) in self.ports.iter_mut().zip(&self.mailbox.facts) {
            if std::mem::take(&mut port.has_news) {
                facts.publish(port.epoch(), port.last_seq(), port.counters.as_array());
            }
        }
    }
}
