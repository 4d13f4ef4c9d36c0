// SPDX-License-Identifier: Apache-2.0
//! The join agent's hot loop: poll descriptors, observe, ask what is ready, read each frame once, copy it to its place.
//!
//! One thread runs it, a slice at a time. Nothing here knows Python, and nothing allocates once it runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use framegate_codecs::control;
use framegate_core::idle::{IdleStrategy, Idler, tighten_timer_slack};
use framegate_core::pool::arrivals::Order;
use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::pool::reader::FrameRef;
use framegate_core::pool::tensor::Tensor;
use framegate_core::record::{MESSAGE_HEADER_BYTES, RecordFilter, Verdict};
use framegate_join::stage::{Absence, Cause, Observed, Pick, Stage};
use framegate_journal::{Cell, JournalError, Reserved, RowHead, Sealed, Status, Unmatched, Writer};

use super::clock::{monotonic_ns, realtime_ns};
use super::doorbell::Doorbells;
use super::held::Held;
use super::mailbox::{Command, Mailbox};
use super::port::Port;
use crate::aeron::SubscriptionShared;
use crate::pool::{PublishTarget, Republished};

/// Fragments of one subscription in one turn, so that no input waits long for another.
const FRAGMENTS: usize = 64;
/// Rows in one turn: then descriptors are looked at again, or a fast input would overrun the history of a slow one.
const ROWS: usize = 64;
/// Files that an end waits for, and for how long: more than a full stage can fill.
const FILES_AWAITED: usize = 64;
const FILE_PATIENCE: Duration = Duration::from_secs(1);
/// Copies that wait, of one stream.
const HELD_FRAMES: usize = 16_384;
const CONTROL_SCHEMA: u16 = 920;
/// StreamGracefulEnd.
const END_KIND: u8 = 0;
const DESCRIPTOR: RecordFilter = RecordFilter::new(40, 4, 900, 1, true);

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
}

/// How frames of one input become cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputPlan {
    pub(super) stream: usize,
    pub(super) stream_id: u32,
    /// Its rows carry the descriptor's time, not the slot header's.
    pub(super) has_descriptor_time: bool,
}

/// How an engine works, beside what its stage decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    /// Whether output times are realtime.
    pub(super) is_realtime: bool,
    /// Whether what was not joined becomes rows, or is only counted.
    pub(super) keeps_unmatched: bool,
    /// Whether each observation may be an output of its own, so that no two are taken between two questions.
    pub(super) is_one_by_one: bool,
    /// Memory for frames that wait; 0: they wait in their rings.
    pub(super) pending_bytes: usize,
}

/// A frame that is to be copied into a row.
#[derive(Clone, Copy, Debug)]
struct Source {
    payload: *const u8,
    bytes: u32,
    timestamp_ns: u64,
    /// Where it still lies in its ring: the commit word tells whether it was overwritten.
    in_ring: Option<FrameRef>,
}

// SAFETY: the pointer is used only while the engine's own ports and arenas keep what it points into.
unsafe impl Send for Source {}

impl Source {
    fn is_whole(&self) -> bool {
        self.in_ring.is_none_or(|frame| frame.is_valid())
    }
}

#[derive(Default, Debug)]
pub(super) struct EngineCounters {
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) full_turns: u64,
    pub(super) other_streams: u64,
    pub(super) other_messages: u64,
    pub(super) publish_failures: u64,
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
    /// How many fragments of a subscription a turn takes.
    fragments: usize,
    ports: Vec<Port>,
    /// Stream ids in order, each with its port.
    route: Vec<(u32, usize)>,
    subscriptions: Vec<Arc<SubscriptionShared>>,
    mailbox: Arc<Mailbox>,
    frames: Vec<Option<Source>>,
    /// Of each stream, where frames wait in memory of our own; empty where they wait in their rings.
    held: Vec<Held>,
    /// Whether what was not joined becomes rows of the side table, or is only counted.
    keeps_unmatched: bool,
    /// What the frame of each input is.
    tensors: Vec<Tensor>,
    sizes: Vec<u32>,
    picks: Vec<Pick>,
    out_epoch: u64,
    /// When the last slice ended.
    left_at_ns: Option<u64>,
}

impl Engine {
    pub(super) fn new(
        stage: Stage,
        writer: Writer,
        inputs: Vec<InputPlan>,
        mailbox: Arc<Mailbox>,
        resumed: Vec<Option<(u64, u64)>>,
        habits: Habits,
    ) -> Self {
        let mut route: Vec<(u32, usize)> =
            mailbox.facts.iter().enumerate().map(|(index, facts)| (facts.stream_id, index)).collect();
        route.sort_unstable();
        let count = inputs.len();
        let out_epoch = stage.out_epoch();
        let streams = resumed.len();
        let share = habits.pending_bytes / streams.max(1);
        let held = (0..streams).filter(|_| share > 0).map(|_| Held::new(share, HELD_FRAMES)).collect();
        Self {
            stage,
            writer,
            counters: EngineCounters::default(),
            bells: Doorbells::default(),
            publish: None,
            failure: None,
            full_reason: "",
            is_realtime: habits.is_realtime,
            fragments: if habits.is_one_by_one { 1 } else { FRAGMENTS },
            keeps_unmatched: habits.keeps_unmatched,
            held,
            ports: resumed.into_iter().map(Port::new).collect(),
            route,
            subscriptions: Vec::new(),
            mailbox,
            frames: vec![None; count],
            tensors: vec![Tensor::contiguous(0, 0, &[]); count],
            sizes: vec![0; count],
            picks: Vec::with_capacity(count),
            inputs,
            out_epoch,
            left_at_ns: None,
        }
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
            if self.failure.is_some() || outcome.has_all_outputs || outcome.has_new_epoch || outcome.is_finished {
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

    /// One duty cycle; how much was done.
    fn turn(&mut self, now_ns: u64, outputs: u64, outcome: &mut Outcome) -> usize {
        self.obey();
        outcome.is_full = false;
        let mut work = self.hear(now_ns);
        let clock_ns = if self.is_realtime { realtime_ns() } else { now_ns };
        self.stage.tick(now_ns, clock_ns);
        work += self.join(now_ns, outputs, outcome);
        self.note_unmatched(now_ns);
        if self.writer.is_seal_due(now_ns) {
            self.seal(now_ns, outcome);
        }
        if self.stage.out_epoch() != self.out_epoch {
            self.out_epoch = self.stage.out_epoch();
            outcome.has_new_epoch = true;
        }
        outcome.needs_time = self.stage.needs_time();
        outcome.is_finished = work == 0 && self.stage.is_finished();
        work
    }

    fn obey(&mut self) {
        for command in self.mailbox.clone().take().into_iter().flatten() {
            match command {
                Command::Attach(port, regions) => self.ports[port].attach(regions),
                Command::Detach(port) => self.ports[port].detach(),
                Command::Listen(subscription) => self.subscriptions.push(subscription),
                Command::Deafen => {
                    self.subscriptions.clear();
                    self.ports.iter_mut().for_each(|port| port.was_away = true);
                }
            }
        }
    }

    /// Takes what came; how many fragments.
    fn hear(&mut self, now_ns: u64) -> usize {
        let mut heard = 0;
        for index in 0..self.subscriptions.len() {
            let subscription = Arc::clone(&self.subscriptions[index]);
            // Asked for each message: the image that brings it may have come in this very poll.
            let polled = subscription.poll_whole(self.fragments, |message| {
                self.on_message(message, subscription.images_lost(), now_ns);
            });
            heard += polled.and_then(Result::ok).unwrap_or(0);
        }
        if heard == 0 {
            // What was announced of the present epochs has been read.
            self.ports.iter_mut().for_each(Port::switch);
        }
        heard
    }

    #[inline]
    fn port_of(&self, stream_id: u32) -> Option<usize> {
        let at = if self.route.len() <= 8 {
            self.route.iter().position(|entry| entry.0 == stream_id)?
        } else {
            self.route.binary_search_by_key(&stream_id, |entry| entry.0).ok()?
        };
        Some(self.route[at].1)
    }

    #[inline]
    fn on_message(&mut self, message: &[u8], images_lost: u64, now_ns: u64) {
        match DESCRIPTOR.verdict(message) {
            Verdict::Record => {
                let body = &message[MESSAGE_HEADER_BYTES..];
                match self.port_of(u32_at(body, 0)) {
                    Some(port) => self.on_descriptor(port, body, images_lost, now_ns),
                    None => self.counters.other_streams += 1,
                }
            }
            Verdict::OtherSchema => self.on_control(message, now_ns),
            _ => self.counters.other_messages += 1,
        }
    }

    #[inline]
    fn on_descriptor(&mut self, index: usize, body: &[u8], images_lost: u64, now_ns: u64) {
        let (epoch, seq) = (u64_at(body, 4), u64_at(body, 12));
        let port = &mut self.ports[index];
        if !port.is_reading(epoch) {
            return;
        }
        let is_anew = port.was_away || images_lost != port.images_lost;
        match port.take(epoch, seq, is_anew) {
            Order::Next => {}
            Order::Repeated | Order::Regressed => return,
            Order::Gap(frames) => self.on_gap(index, epoch, seq, frames, images_lost, now_ns),
        }
        let port = &mut self.ports[index];
        port.images_lost = images_lost;
        port.was_away = false;
        let Some(slot_timestamp_ns) = self.read_on_arrival(index, epoch, seq) else {
            self.stage.observe_lost(index, epoch, seq, Cause::Overwritten, now_ns);
            return;
        };
        let seen = Observed {
            epoch,
            seq,
            descriptor_timestamp_ns: u64_at(body, 20),
            slot_timestamp_ns,
            trace_id: u64_at(body, 32),
        };
        self.stage.observe(index, &seen, now_ns);
    }

    /// The slot's own time, null where it need not be read now; None where the frame is gone. A frame that is to wait in
    /// memory of our own is copied at once, so that nothing it waits for can cost it.
    #[inline]
    fn read_on_arrival(&mut self, index: usize, epoch: u64, seq: u64) -> Option<u64> {
        let port = &mut self.ports[index];
        let frame = if let Some(held) = self.held.get_mut(index) {
            let frame = port.read(epoch, seq)?;
            if !held.keep(epoch, &frame, port.tensor()?) {
                if !frame.is_valid() {
                    port.on_torn(seq);
                }
                return None;
            }
            frame
        } else if self.stage.needs_slot_time(index) {
            port.read(epoch, seq)?
        } else {
            return Some(NULL_TIMESTAMP);
        };
        Some(frame.header.timestamp_ns)
    }

    /// The signal, or a mark beside the regions, says that the epoch is over; what it sent unheard passed while this
    /// agent was down.
    pub(super) fn note_end(&mut self, index: usize, epoch: u64, after: Option<u64>, now_ns: u64) {
        let unheard = after.and_then(|after| self.ports[index].unheard_until(epoch, after));
        if let Some((first, last)) = unheard {
            self.stage.missed(index, epoch, first, last, now_ns);
        }
        self.stage.ended(index, epoch, now_ns);
    }

    /// Sequences were left out. If nobody was listening for a while, they passed unheard; else nobody can have them.
    #[cold]
    fn on_gap(&mut self, index: usize, epoch: u64, seq: u64, frames: u64, images_lost: u64, now_ns: u64) {
        let port = &mut self.ports[index];
        let was_away = port.is_first() || port.was_away || images_lost != port.images_lost;
        if was_away {
            port.counters.missed += frames;
            self.stage.missed(index, epoch, seq - frames, seq - 1, now_ns);
        } else {
            port.counters.gap_drops += frames;
        }
    }

    /// Watermarks and ends stand between the descriptors of their stream.
    #[cold]
    fn on_control(&mut self, message: &[u8], now_ns: u64) {
        if message.get(4..6) != Some(&CONTROL_SCHEMA.to_le_bytes()) {
            self.counters.other_messages += 1;
            return;
        }
        if let Ok(watermark) = control::Watermark::checked(message) {
            if let Some(port) = self.port_of(watermark.stream_id()) {
                self.stage.watermark(port, watermark.timestamp_ms(), now_ns);
            }
        } else if let Ok(signal) = control::ControlSignal::checked(message) {
            let port = signal.stream_id().and_then(|stream| self.port_of(stream));
            if let (Some(port), END_KIND) = (port, u8::from(signal.kind())) {
                self.note_end(port, signal.source_epoch(), signal.after_seq(), now_ns);
            }
        }
    }

    /// Tries outputs that are ready; how many attempts.
    fn join(&mut self, now_ns: u64, outputs: u64, outcome: &mut Outcome) -> usize {
        for attempt in 0..ROWS {
            if outputs > 0 && self.counters.rows >= outputs {
                outcome.has_all_outputs = true;
                return attempt;
            }
            let Some(next) = self.stage.next(now_ns) else { return attempt };
            let head = (next.out_epoch, next.out_seq, next.out_time_ns);
            self.picks.clear();
            self.picks.extend_from_slice(next.picks());
            match self.write_row(head, now_ns, outcome) {
                Written::Row => {}
                Written::Unreadable => self.note_unmatched(now_ns),
                Written::Full => {
                    self.counters.full_turns += 1;
                    return attempt;
                }
            }
        }
        ROWS
    }

    fn write_row(
        &mut self,
        (out_epoch, out_seq, out_time_ns): (u64, u64, Option<i64>),
        now_ns: u64,
        outcome: &mut Outcome,
    ) -> Written {
        if let Some(input) = self.look() {
            self.stage.failed(input, Cause::Overwritten, now_ns);
            return Written::Unreadable;
        }
        loop {
            match self.writer.reserve(&self.sizes, now_ns) {
                Ok(Reserved::Ready) => break,
                Ok(Reserved::SealFirst) => {
                    if !self.seal(now_ns, outcome) {
                        return Written::Full;
                    }
                }
                Ok(Reserved::Full) => {
                    self.note_failure(self.writer.why_full(), outcome);
                    return Written::Full;
                }
                Err(failure) => {
                    self.note_failure(failure, outcome);
                    return Written::Full;
                }
            }
        }
        if let Some(input) = self.copy() {
            self.writer.abandon_row();
            self.note_torn(input);
            self.stage.failed(input, Cause::Overwritten, now_ns);
            return Written::Unreadable;
        }
        let skew_ns = self.fill_cells();
        let joined_at_us = (realtime_ns() / 1000) as i64;
        self.writer.commit_row(&RowHead {
            out_epoch,
            out_seq,
            out_time_ns,
            joined_at_us,
            skew_ns,
            map_version: self.stage.map_version(),
            checkpoint_id: 0,
        });
        self.republish(out_seq);
        self.counters.rows += 1;
        self.counters.bytes += self.sizes.iter().map(|bytes| u64::from(*bytes)).sum::<u64>();
        self.stage.joined(now_ns);
        Written::Row
    }

    /// Reads the header of every frame that was picked; the input of the first that is not there.
    fn look(&mut self) -> Option<usize> {
        for (input, pick) in self.picks.iter().enumerate() {
            self.frames[input] = None;
            self.sizes[input] = 0;
            if let Pick::Frame { epoch, seq, .. } = *pick {
                let stream = self.inputs[input].stream;
                let source = if let Some((held, frame)) =
                    self.held.get(stream).and_then(|held| Some((held, held.get(epoch, seq)?)))
                {
                    self.tensors[input] = frame.tensor;
                    let payload = held.payload(frame);
                    Source { payload, bytes: frame.bytes, timestamp_ns: frame.timestamp_ns, in_ring: None }
                } else {
                    let port = &mut self.ports[stream];
                    let Some(frame) = port.read(epoch, seq) else { return Some(input) };
                    if let Some(tensor) = port.tensor() {
                        self.tensors[input] = *tensor;
                    }
                    let (bytes, timestamp_ns) = (frame.header.values_bytes, frame.header.timestamp_ns);
                    Source { payload: frame.payload, bytes, timestamp_ns, in_ring: Some(frame) }
                };
                self.sizes[input] = source.bytes;
                self.frames[input] = Some(source);
            }
        }
        None
    }

    /// Copies every payload to its place; the input of the first that was overwritten meanwhile.
    fn copy(&mut self) -> Option<usize> {
        let Self { frames, writer, ports, inputs, sizes, .. } = self;
        for (input, frame) in frames.iter().enumerate() {
            let Some(frame) = frame else { continue };
            // SAFETY: the payload lies in regions that the port keeps mapped, or in an arena, and is as long as its
            // checked header says; the writer has reserved as much. Bytes that change meanwhile are not believed.
            unsafe { writer.copy_payload(input, frame.payload, sizes[input] as usize) };
            if !frame.is_whole() {
                return Some(input);
            }
            ports[inputs[input].stream].edge.on_whole();
        }
        None
    }

    /// The next frames of that input would be overwritten under the copy as well.
    #[cold]
    fn note_torn(&mut self, input: usize) {
        if let Pick::Frame { seq, .. } = self.picks[input] {
            self.ports[self.inputs[input].stream].on_torn(seq);
        }
    }

    /// Everything beside the payloads; how far the row's times lie apart.
    fn fill_cells(&mut self) -> Option<i64> {
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        for (input, pick) in self.picks.iter().enumerate() {
            let (Pick::Frame { epoch, seq, descriptor_timestamp_ns, trace_id, .. }, Some(frame)) =
                (*pick, self.frames[input])
            else {
                let status = match *pick {
                    Pick::Absent(Absence::Stale) => Status::Stale,
                    Pick::Absent(Absence::Late) => Status::Late,
                    _ => Status::NotJoined,
                };
                self.writer.cell(input, &Cell { status, ..NOTHING });
                continue;
            };
            let timestamp =
                if self.inputs[input].has_descriptor_time { descriptor_timestamp_ns } else { frame.timestamp_ns };
            let timestamp_ns = Some(timestamp).filter(|time| *time != NULL_TIMESTAMP && *time <= i64::MAX as u64);
            if let Some(time) = timestamp_ns {
                (least, most) = (least.min(time as i64), most.max(time as i64));
            }
            let tensor = &self.tensors[input];
            let cell = Cell {
                status: Status::Present,
                seq,
                timestamp_ns,
                epoch,
                trace_id,
                dtype: tensor.dtype,
                dims: &tensor.dims[..usize::from(tensor.ndims)],
                bytes: frame.bytes,
            };
            self.writer.cell(input, &cell);
        }
        (least <= most).then(|| most.saturating_sub(least))
    }

    #[inline]
    fn republish(&mut self, out_seq: u64) {
        let Some((input, target)) = &self.publish else { return };
        if let (Some(frame), Pick::Frame { trace_id, .. }) = (self.frames[*input], self.picks[*input]) {
            let again = Republished {
                payload: frame.payload,
                bytes: frame.bytes,
                tensor: &self.tensors[*input],
                timestamp_ns: frame.timestamp_ns,
                trace_id,
                seq: out_seq,
            };
            // SAFETY: as for the copy into the row, a moment ago.
            if !unsafe { target.publish(&again, || frame.is_whole()) } {
                self.counters.publish_failures += 1;
            }
        }
    }

    /// Moves what the stage says was not joined to the journal's side table.
    fn note_unmatched(&mut self, now_ns: u64) {
        if !self.keeps_unmatched {
            self.stage.drain_unmatched(|_| true);
            return;
        }
        let Self { stage, writer, inputs, .. } = self;
        let at_ns = realtime_ns() as i64;
        stage.drain_unmatched(|entry| {
            let input = usize::from(entry.input);
            writer.unmatched(
                &Unmatched {
                    input,
                    stream: inputs[input].stream_id,
                    epoch: entry.epoch,
                    seq: entry.seq,
                    seq_last: entry.seq_last,
                    timestamp_ns: entry.timestamp_ns,
                    out_seq: entry.out_seq,
                    at_ns,
                    cause: entry.cause.name(),
                },
                now_ns,
            )
        });
    }

    /// Seals rows and state; whether it could.
    pub(super) fn seal(&mut self, now_ns: u64, outcome: &mut Outcome) -> bool {
        match self.seal_all(now_ns) {
            Ok(_) => {
                self.bells.ring();
                true
            }
            Err(failure) => {
                self.note_failure(failure, outcome);
                false
            }
        }
    }

    /// The state calls every frame decided that the stage has decided. So all of them go before it, however many they
    /// are: what stayed behind would be lost with this process.
    fn seal_all(&mut self, now_ns: u64) -> Result<Sealed, JournalError> {
        self.note_unmatched(now_ns);
        while self.stage.has_unmatched() {
            self.writer.spill_unmatched(now_ns)?;
            self.note_unmatched(now_ns);
        }
        let stage = &self.stage;
        // Not the turn's time: the rows were joined after that.
        self.writer.seal(monotonic_ns(), |state| stage.write_state(state))
    }

    /// No room is waited for; anything else ends the join.
    fn note_failure(&mut self, failure: JournalError, outcome: &mut Outcome) {
        self.full_reason = match failure {
            // There is room in a moment, and nothing to tell.
            JournalError::SegmentComing => return,
            JournalError::NoRoom { .. } => "the file system has no room",
            JournalError::Full => "no reader has committed",
            _ => {
                self.failure = Some(failure);
                return;
            }
        };
        outcome.is_full = true;
    }

    /// A clean end: what is pending is recorded as that, everything is sealed, the journal closed.
    pub(super) fn finish(&mut self) -> Result<(), JournalError> {
        let now_ns = monotonic_ns();
        self.obey();
        self.stage.finish(now_ns);
        for _ in 0..FILES_AWAITED {
            match self.seal_all(now_ns) {
                // A state must not be sealed before what it counts; so the file is waited for here, not by `close`.
                Err(JournalError::SegmentComing) => _ = self.writer.wait_for_segment(now_ns, FILE_PATIENCE),
                sealed => {
                    self.bells.ring();
                    self.publish_facts();
                    return sealed.map(drop);
                }
            }
        }
        Err(JournalError::SegmentComing)
    }

    /// Closes the journal of an engine that has finished.
    pub(super) fn close(self) -> Result<(), JournalError> {
        let Self { stage, writer, bells, .. } = self;
        let closed = writer.close(monotonic_ns(), |state| stage.write_state(state));
        bells.ring();
        closed.map(|_| ())
    }

    fn publish_facts(&mut self) {
        for (port, facts) in self.ports.iter_mut().zip(&self.mailbox.facts) {
            if std::mem::take(&mut port.has_news) {
                facts.publish(port.epoch(), port.last_seq(), port.counters.as_array());
            }
        }
    }
}

/// What an absent input's cell says beside its status.
const NOTHING: Cell<'static> = Cell {
    status: Status::NotJoined,
    seq: 0,
    timestamp_ns: None,
    epoch: 0,
    trace_id: 0,
    dtype: 0,
    dims: &[],
    bytes: 0,
};

enum Written {
    Row,
    /// A frame was not there; the stage decides what comes next.
    Unreadable,
    Full,
}

#[inline]
fn u32_at(body: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes([body[offset], body[offset + 1], body[offset + 2], body[offset + 3]])
}

#[inline]
fn u64_at(body: &[u8], offset: usize) -> u64 {
    u64::from(u32_at(body, offset)) | u64::from(u32_at(body, offset + 4)) << 32
}
