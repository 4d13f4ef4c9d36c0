// SPDX-License-Identifier: Apache-2.0
//! The recorder's hot loop: polls the logs, reads each frame once, and hands it to the file writer.
//!
//! One thread runs the loop, a slice of time per call. Nothing here knows Python, and nothing allocates per message.

use std::sync::Arc;

use framegate_codecs::control;
use framegate_core::bell::Sleeper;
use framegate_core::clock::monotonic_ns;
use framegate_core::idle::IdleStrategy;
use framegate_core::pool::descriptor::Descriptor;
use framegate_intake::descriptors::Descriptors;
use framegate_intake::mailbox::{Command, Mailbox};
use framegate_intake::route::Route;
use framegate_intake::slices::{SLEEP_MOST_NS, Slices, Turn, Working};
use framegate_intake::waiting::Waiting;

use super::early::EarlyFrame;
use super::source::{Heard, Missing, Source};
use crate::loss::LossCause;
use crate::recorder::{self, Recorder};

/// Most fragments polled from one subscription in one turn, so that no other waits long.
const FRAGMENTS: usize = 64;
/// Kind of the signal StreamGracefulEnd.
const END_KIND: u8 = 0;

/// Why a slice ended.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcome {
    /// Whether every stream has ended, and everything of it was heard.
    pub has_ended: bool,
    /// Whether the recording has as many frames as were asked for.
    pub has_all_frames: bool,
    /// Whether writing to the disk has failed.
    pub has_failed: bool,
}

/// One recording of live streams.
pub struct Engine<D: Descriptors> {
    /// Writes the file.
    pub recorder: Recorder,
    sources: Vec<Source>,
    route: Route,
    subscriptions: Vec<Arc<D>>,
    mailbox: Arc<Mailbox<D>>,
    waiting: Waiting,
    has_payload: bool,
    frames_max: u64,
    /// Realtime minus monotonic clock when the recording began. It is fixed, so that log times never jump.
    offset_ns: i64,
    /// Descriptors of streams that are not recorded.
    pub other_streams: u64,
    /// How long turns and pauses took.
    pub slices: Slices,
}

/// An engine in a slice.
struct Run<'a, D: Descriptors> {
    engine: &'a mut Engine<D>,
    outcome: Outcome,
}

impl<D: Descriptors> Working for Run<'_, D> {
    fn turn(&mut self, now_ns: u64) -> Turn {
        let (engine, outcome) = (&mut *self.engine, &mut self.outcome);
        engine.take_commands();
        let heard = engine.hear();
        engine.recorder.turn(now_ns);
        outcome.has_failed = engine.recorder.has_failed();
        outcome.has_all_frames = engine.is_full();
        outcome.has_ended = heard == 0 && engine.sources.iter().all(Source::has_ended);
        Turn::of(outcome.has_failed || outcome.has_all_frames || outcome.has_ended, heard)
    }

    fn is_stopping(&self) -> bool {
        self.engine.mailbox.is_stopping()
    }

    fn lend_sleeper(&mut self, _now_ns: u64) -> (Sleeper, u64) {
        (self.engine.waiting.lend(&self.engine.mailbox), SLEEP_MOST_NS)
    }

    fn return_sleeper(&mut self, sleeper: Sleeper) {
        self.engine.waiting.take_back(sleeper);
    }
}

impl<D: Descriptors> Engine<D> {
    /// Makes an engine. `offset_ns`: realtime minus monotonic clock. `frames_max`: the number of frames after which the
    /// recording ends; 0: never.
    #[must_use]
    pub fn new(
        recorder: Recorder,
        mailbox: Arc<Mailbox<D>>,
        has_payload: bool,
        frames_max: u64,
        offset_ns: i64,
    ) -> Self {
        Self {
            recorder,
            sources: mailbox.facts.iter().map(|_| Source::new(has_payload)).collect(),
            route: Route::new(mailbox.facts.iter().map(|facts| facts.stream_id)),
            subscriptions: Vec::new(),
            waiting: Waiting::new(mailbox.facts.len()),
            mailbox,
            has_payload,
            frames_max,
            offset_ns,
            other_streams: 0,
            slices: Slices::default(),
        }
    }

    /// Runs turns until the slice is over, or the recording has to end.
    pub fn run(&mut self, slice_ns: u64, idle: IdleStrategy) -> Outcome {
        let mut slices = self.slices;
        let mut run = Run { engine: self, outcome: Outcome::default() };
        slices.run(slice_ns, idle, &mut run);
        let outcome = run.outcome;
        self.slices = slices;
        self.publish_facts();
        outcome
    }

    const fn is_full(&self) -> bool {
        self.frames_max > 0 && self.recorder.totals().frames >= self.frames_max
    }

    fn take_commands(&mut self) {
        for command in self.mailbox.clone().take().into_iter().flatten() {
            match command {
                Command::Attach(port, mapping) => {
                    self.waiting.attached(port, &mapping);
                    self.sources[port].attach(mapping);
                    self.take_early(port);
                }
                Command::Detach(port) => {
                    self.waiting.detached(port);
                    self.sources[port].detach();
                }
                // A recording does not depend on what is announced, and makes no outputs.
                Command::Announced(..) | Command::PushTime(_) => {}
                Command::Listen(subscription) => self.subscriptions.push(subscription),
                Command::Deafen => {
                    self.subscriptions.clear();
                    self.sources.iter_mut().for_each(Source::leave);
                }
            }
        }
    }

    /// Polls every subscription; returns how many fragments came.
    fn hear(&mut self) -> usize {
        let mut heard = 0;
        for index in 0..self.subscriptions.len() {
            let subscription = Arc::clone(&self.subscriptions[index]);
            heard += subscription.poll_assembled(FRAGMENTS, |message| {
                self.on_message(message, subscription.images_lost());
            });
        }
        if heard == 0 {
            // The logs were read to their end, so nothing more comes of the present epochs.
            self.sources.iter_mut().for_each(Source::switch);
        }
        heard
    }

    #[inline]
    fn on_message(&mut self, message: &[u8], images_lost: u64) {
        if self.is_full() {
            return;
        }
        let now_ns = monotonic_ns();
        if let Ok(descriptor) = Descriptor::read(message) {
            match self.route.place(descriptor.stream_id) {
                Some(source) => self.on_descriptor(source, &descriptor, message, images_lost, now_ns),
                None => self.other_streams += 1,
            }
            return;
        }
        let log_time = self.log_time(now_ns);
        self.recorder.message(message, log_time, now_ns);
        self.note_signal(message);
    }

    const fn log_time(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add_signed(self.offset_ns)
    }

    #[inline]
    fn on_descriptor(&mut self, index: usize, descriptor: &Descriptor, message: &[u8], images_lost: u64, now_ns: u64) {
        match self.sources[index].judge(descriptor.epoch, descriptor.seq) {
            Heard::True => self.on_frame(index, descriptor, message, images_lost, now_ns),
            Heard::Early => self.sources[index].early.note_frame(descriptor, message, images_lost),
            Heard::Nothing => {}
        }
    }

    /// Takes the descriptors that came before their epoch was mapped; those of later epochs keep waiting.
    fn take_early(&mut self, index: usize) {
        let (frames, is_cut) = self.sources[index].early.take_frames();
        for EarlyFrame { descriptor, message, images_lost } in frames {
            if self.is_full() {
                return;
            }
            self.on_descriptor(index, &descriptor, &message, images_lost, monotonic_ns());
        }
        if is_cut {
            self.sources[index].leave();
        }
        let newest = self.sources[index].newest_epoch();
        if let Some((epoch, after)) = newest.and_then(|newest| self.sources[index].early.take_end(newest)) {
            self.note_end(index, epoch, after);
        }
    }

    #[inline]
    fn on_frame(&mut self, index: usize, descriptor: &Descriptor, message: &[u8], images_lost: u64, now_ns: u64) {
        let Descriptor { epoch, seq, .. } = *descriptor;
        let Some(missing) = self.sources[index].take(epoch, seq, images_lost) else { return };
        if let Some(Missing { first, last, cause }) = missing {
            self.recorder.lost(index, epoch, first, last, cause);
        }
        let log_time = self.log_time(now_ns);
        let descriptor = recorder::Descriptor { stream: index, epoch, seq };
        if !self.has_payload {
            self.recorder.frame(&descriptor, message, Ok(None), log_time, now_ns);
            return;
        }
        let frame = self.sources[index].read(epoch, seq);
        let frame = frame.as_ref().map(Some).map_err(|cause: &LossCause| *cause);
        let is_whole = self.recorder.frame(&descriptor, message, frame, log_time, now_ns);
        if frame.is_ok() && !is_whole {
            self.sources[index].lapped(epoch, seq);
        }
    }

    /// Notes an end that stands between the descriptors of its stream.
    fn note_signal(&mut self, message: &[u8]) {
        if let Ok(signal) = control::ControlSignal::checked(message)
            && u8::from(signal.kind()) == END_KIND
            && let Some(source) = signal.stream_id().and_then(|stream| self.route.place(stream))
        {
            self.note_end(source, signal.source_epoch(), signal.after_seq());
        }
    }

    /// Takes a mark beside the regions, which says that an epoch is over. It counts only for the epoch being recorded;
    /// any other ended before this recording began, perhaps for the sake of what comes next.
    pub fn note_mark(&mut self, index: usize, epoch: u64, after: Option<u64>) {
        if self.sources[index].is_recording(epoch) {
            self.note_end(index, epoch, after);
        }
    }

    /// Ends an epoch after that sequence, once its early descriptors are taken.
    fn note_end(&mut self, index: usize, epoch: u64, after: Option<u64>) {
        if self.sources[index].early.note_end(epoch, after) {
            return;
        }
        if let Some(Missing { first, last, cause }) = self.sources[index].end(epoch, after) {
            self.recorder.lost(index, epoch, first, last, cause);
        }
    }

    /// Takes what already stands in the logs, so that a request to end does not lose what was announced before it.
    pub fn drain(&mut self) {
        const TURNS_MAX: usize = 1 << 16;
        self.take_commands();
        for _ in 0..TURNS_MAX {
            if self.is_full() || self.recorder.has_failed() || self.hear() == 0 {
                break;
            }
            self.recorder.turn(monotonic_ns());
        }
        self.publish_facts();
    }

    fn publish_facts(&self) {
        for (source, facts) in self.sources.iter().zip(&self.mailbox.facts) {
            facts.publish(source.epoch(), source.last_seq(), source.counters());
        }
    }
}
