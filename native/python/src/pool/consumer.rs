// SPDX-License-Identifier: Apache-2.0
//! One consumer of a stream: it reads descriptors, returns frames, and counts everything else.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use framegate_codecs::control;
use framegate_core::bell::{Look, Sleeper, StreamBells, Waker, Woken, idle_or_sleep};
use framegate_core::idle::{IdleStrategy, Idler};
use framegate_core::pool::catch_up::CatchUp;
use framegate_core::pool::descriptor::Descriptor;
use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::pool::reader::{Belief, DROP_CAUSES, DROP_NAMES, FrameRef, Reader};
use framegate_core::record::Verdict;
use framegate_core::{try_unpoisoned, unpoisoned};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::batch::FrameBatch;
use super::frame::Found;
use super::regions::PoolRegions;
use crate::aeron::{AeronSubscription, Resting, SubscriptionShared};
use crate::errors::raise;

/// How many control messages are kept for a caller that does not ask. Beyond that the oldest are dropped and counted.
const EVENT_BOUND: usize = 1024;
const CONTROL_SCHEMA: u16 = 920;
#[derive(Clone, Default)]
struct Counters {
    frames: u64,
    gap_drops: u64,
    late_drops: u64,
    rate_limited: u64,
    regressions: u64,
    false_descriptors: u64,
    unmapped: u64,
    other_epoch: u64,
    other_streams: u64,
    other_messages: u64,
    events_dropped: u64,
    skipped: u64,
    drops: [u64; DROP_CAUSES],
}

/// A control message, and what was read before it: the epoch, and the last sequence in that epoch.
type Event = (Vec<u8>, Option<u64>, Option<u64>);

/// Receives the frames as they are read.
trait Taker {
    fn take(&mut self, found: Found, reader: &Reader);
}

impl Taker for FrameBatch {
    // Inlined always: a frame that is passed through memory waits for the stores of its fields.
    #[inline(always)]
    fn take(&mut self, found: Found, reader: &Reader) {
        self.push(found, reader.regions(), reader.tensor());
    }
}

impl<T: FnMut(Found, &Reader)> Taker for T {
    #[inline(always)]
    fn take(&mut self, found: Found, reader: &Reader) {
        self(found, reader);
    }
}

/// What the lock guards. A thread that holds the lock never takes the GIL.
struct Guarded {
    reader: Option<Reader>,
    /// The reader of the next epoch. It is used once the descriptors of the present epoch are drained.
    next: Option<Reader>,
    /// The bells of the stream's sleeping readers, and the newest epoch that was mapped.
    bells: Option<(Arc<StreamBells>, u64)>,
    subscription: Arc<SubscriptionShared>,
    /// The sequence that is expected next; None before the first descriptor of this epoch.
    expected_seq: Option<u64>,
    passed: Option<Passed>,
    /// The sequence after the newest frame that was in the ring when the regions were mapped; None if there was none.
    begun_at: Option<u64>,
    /// An epoch that has ended, and its last sequence.
    ended: Option<(u64, u64)>,
    /// Whether a sequence went back since the regions were mapped. Another producer has written then, and its frames
    /// are not those that were seen.
    has_gone_back: bool,
    newest_epoch: u64,
    events: VecDeque<Event>,
    counters: Counters,
    gate: RateGate,
    jumps: Jumps,
    catch_up: CatchUp,
}

/// Frames of an epoch that were announced while no regions were mapped. This consumer has lost them, but knows of them:
/// a producer that waits for its readers must not wait for these.
struct Passed {
    epoch: u64,
    first: u64,
    /// The sequence after the last of them; equal to `first` if there are none.
    until: u64,
}

/// Limits the frames per second, for a RATE_LIMITED consumer without a stream of its own.
#[derive(Default)]
struct RateGate {
    shortest_interval_ns: u64,
    last_ns: Option<u64>,
}

impl RateGate {
    fn admits(&mut self, at_ns: u64) -> bool {
        if self.shortest_interval_ns == 0 {
            return true;
        }
        let is_due = self.last_ns.is_none_or(|last| at_ns.saturating_sub(last) >= self.shortest_interval_ns);
        if is_due {
            self.last_ns = Some(at_ns);
        }
        is_due
    }
}

/// Decides what a jump of the sequence is: a loss, or frames that the sender left out to keep this consumer's rate.
#[derive(Default)]
struct Jumps {
    is_capped: bool,
    /// Whether the stream that was heard before was capped, and nothing of the present one was read yet.
    was_capped: bool,
}

impl Guarded {
    /// Switches to the next epoch, if there is one, and forgets what was known of the old one.
    fn switch(&mut self) {
        if let Some(next) = self.next.take() {
            self.settle();
            self.begun_at = next.newest().map(|newest| newest.saturating_add(1));
            let passed = self.passed.take().filter(|passed| passed.epoch == next.regions().epoch);
            self.expected_seq = passed.zip(next.newest()).map(|(Passed { first, until, .. }, newest)| {
                // Nothing after the newest frame of the ring was published, whatever a descriptor said.
                let until = until.min(newest.saturating_add(1));
                self.counters.gap_drops += until.saturating_sub(first);
                until
            });
            self.reader = Some(next);
            self.gate.last_ns = None;
            self.catch_up = CatchUp::default();
        }
    }

    #[inline(always)]
    fn on_fragment(&mut self, stream_id: u32, message: &[u8], taker: &mut impl Taker) {
        match Descriptor::read(message) {
            Ok(descriptor) if descriptor.stream_id == stream_id => self.on_descriptor(&descriptor, taker),
            Ok(_) => self.counters.other_streams += 1,
            Err(Verdict::OtherSchema) => self.on_control(stream_id, message),
            Err(_) => self.counters.other_messages += 1,
        }
    }

    #[inline(always)]
    fn on_descriptor(&mut self, descriptor: &Descriptor, taker: &mut impl Taker) {
        self.newest_epoch = self.newest_epoch.max(descriptor.epoch);
        if self.next.as_ref().is_some_and(|next| next.regions().epoch == descriptor.epoch) {
            self.switch();
        }
        let Some(reader) = self.reader.as_mut() else {
            self.counters.unmapped += 1;
            self.note_passed(descriptor);
            return;
        };
        if descriptor.epoch != reader.regions().epoch {
            self.counters.other_epoch += 1;
            return;
        }
        if reader.believe(descriptor.seq) == Belief::False {
            // No such frame was published, so the sequence must not advance.
            self.counters.false_descriptors += 1;
            // SAFETY: the frame, if there is one, is not used.
            if let Err(cause) = unsafe { reader.read(descriptor.seq) } {
                self.counters.drops[cause.index()] += 1;
                self.counters.late_drops += u64::from(cause.is_late());
            }
            return;
        }
        match self.expected_seq {
            Some(expected) if descriptor.seq < expected => {
                // The same sequence again would deliver a frame twice. A lower one comes from a second writer.
                self.counters.regressions += 1;
                self.has_gone_back = true;
                return;
            }
            Some(expected) if self.jumps.is_capped || self.jumps.was_capped => {
                self.counters.rate_limited += descriptor.seq - expected;
            }
            Some(expected) => self.counters.gap_drops += descriptor.seq - expected,
            None => {}
        }
        self.jumps.was_capped = false;
        self.expected_seq = Some(descriptor.seq.saturating_add(1));
        if self.catch_up.passes_over(descriptor.seq) {
            self.counters.skipped += 1;
            self.counters.late_drops += 1;
            return;
        }
        // SAFETY: the taker gets the frame with its reader, and keeps the regions of the frames that it keeps.
        match unsafe { reader.read(descriptor.seq) } {
            Ok(frame) if self.gate.shortest_interval_ns > 0 && !self.gate.admits(stamp_of(&frame, descriptor)) => {
                self.counters.rate_limited += 1;
            }
            Ok(frame) => {
                self.counters.frames += 1;
                let Descriptor { timestamp_ns: descriptor_timestamp_ns, trace_id, .. } = *descriptor;
                taker.take(Found { frame, descriptor_timestamp_ns, trace_id }, reader);
            }
            Err(cause) => {
                self.catch_up.on_dropped(descriptor.seq, cause, reader.regions().nslots());
                self.counters.drops[cause.index()] += 1;
                self.counters.late_drops += u64::from(cause.is_late());
            }
        }
    }

    /// Notes a frame that was announced while no regions were mapped.
    #[cold]
    fn note_passed(&mut self, descriptor: &Descriptor) {
        let Descriptor { epoch, seq, .. } = *descriptor;
        let known = self.passed.take().filter(|known| known.epoch >= epoch);
        let mut passed = known.unwrap_or(Passed { epoch, first: seq, until: seq });
        if passed.epoch == epoch {
            passed.until = passed.until.max(seq.saturating_add(1));
        }
        self.passed = Some(passed);
    }

    /// The first and last of the frames of an ended epoch that were published and never heard of here. Frames that were
    /// in the ring when its regions were mapped do not count.
    fn unheard(&self) -> Option<(u64, u64)> {
        let reader = self.reader.as_ref()?;
        let (_, last) = self.ended.filter(|(epoch, _)| *epoch == reader.regions().epoch)?;
        let first = self.next_seq(reader);
        (first <= last).then_some((first, last))
    }

    /// Counts the frames that were never heard of. No frame that arrives now can be one of them.
    fn settle(&mut self) {
        if let Some((first, last)) = self.unheard() {
            self.counters.gap_drops += last - first + 1;
            self.expected_seq = Some(last.saturating_add(1));
        }
    }

    /// Notes that an epoch has ended. Its frames are still read while its regions are mapped.
    fn note_end(&mut self, epoch: u64, last: u64) {
        self.ended = Some((epoch, last));
    }

    /// The next sequence of the mapped regions, as far as it is known.
    fn next_seq(&self, reader: &Reader) -> u64 {
        let first = || reader.newest().map_or(0, |newest| reader.first_of(newest));
        self.expected_seq.or(self.begun_at).unwrap_or_else(first)
    }

    /// Drops the regions. They may be attached again in the same epoch.
    fn let_go(&mut self) {
        self.settle();
        let epoch = self.reader.take().map(|reader| reader.regions().epoch);
        let seen = epoch.zip(self.expected_seq.take()).filter(|_| !std::mem::take(&mut self.has_gone_back));
        self.passed = seen.map(|(epoch, next)| Passed { epoch, first: next, until: next }).or(self.passed.take());
        self.next = None;
        self.bells = None;
    }

    /// Queues a barrier, watermark or signal of this stream until the caller asks for it.
    fn on_control(&mut self, stream_id: u32, message: &[u8]) {
        if message.get(4..6) != Some(&CONTROL_SCHEMA.to_le_bytes()) {
            self.counters.other_messages += 1;
            return;
        }
        let of_stream = control::ControlSignal::checked(message)
            .ok()
            .and_then(|signal| signal.stream_id())
            .or_else(|| control::CheckpointBarrier::checked(message).ok().map(|barrier| barrier.stream_id()))
            .or_else(|| control::Watermark::checked(message).ok().map(|watermark| watermark.stream_id()));
        match of_stream {
            Some(found) if found == stream_id => {
                if self.events.len() == EVENT_BOUND {
                    self.events.pop_front();
                    self.counters.events_dropped += 1;
                }
                let epoch = self.reader.as_ref().map(|reader| reader.regions().epoch);
                self.events.push_back((message.to_vec(), epoch, self.expected_seq.map(|next| next - 1)));
            }
            Some(_) => self.counters.other_streams += 1,
            None => self.counters.other_messages += 1,
        }
    }
}

/// The time that a rate limit goes by: the descriptor's, else the frame's, else now.
fn stamp_of(frame: &FrameRef, descriptor: &Descriptor) -> u64 {
    let stamps = [descriptor.timestamp_ns, frame.header.timestamp_ns];
    let given = stamps.into_iter().find(|stamp| *stamp != NULL_TIMESTAMP);
    given.unwrap_or_else(|| rusteron_client::Aeron::nano_clock() as u64)
}

/// The native consumer; users hold it as `framegate.shmpool.consumer.consumer.Consumer`.
#[pyclass(frozen, module = "framegate._native")]
pub struct PoolConsumer {
    guarded: Mutex<Guarded>,
    sleep: Mutex<Sleep>,
    waker: Mutex<Option<Waker>>,
    idle: IdleStrategy,
    stream_id: u32,
}

/// The sleep of a consumer. The thread that waits holds it; a second thread that waits at the same time does not sleep.
#[derive(Default)]
struct Sleep {
    sleeper: Sleeper,
    /// The epoch whose bells the thread has a seat at; None if it has no seat.
    epoch: Option<u64>,
    /// The subscription that wakes it when a publication comes.
    heard: Option<Arc<SubscriptionShared>>,
}

impl Resting for PoolConsumer {
    fn strategy(&self) -> IdleStrategy {
        self.idle
    }

    fn rest(&self, idler: &mut Idler, until: Instant, before: Look, look: &mut dyn FnMut() -> Look) -> Option<Woken> {
        let asleep = if idler.would_sleep() { try_unpoisoned(&self.sleep) } else { None };
        let Some(mut sleep) = asleep else {
            idler.idle();
            return None;
        };
        let hears_several = self.take_seat(&mut sleep);
        // Another producer may fill the log that both use, and the sleeper would hold it up.
        let before = if hears_several { Look::Others } else { before };
        let most_ns = until.saturating_duration_since(Instant::now()).as_nanos() as u64;
        idle_or_sleep(idler, &sleep.sleeper, most_ns, before, look)
    }
}

#[pymethods]
impl PoolConsumer {
    #[new]
    #[pyo3(signature = (subscription, stream_id, *, idle = "bell"))]
    fn new(py: Python<'_>, subscription: &AeronSubscription, stream_id: u32, idle: &str) -> PyResult<Self> {
        let idle =
            IdleStrategy::from_name(idle).ok_or_else(|| raise(py, "InvalidValue", "no such idle strategy", &[]))?;
        let guarded = Guarded {
            reader: None,
            next: None,
            bells: None,
            subscription: subscription.shared(),
            expected_seq: None,
            passed: None,
            begun_at: None,
            ended: None,
            has_gone_back: false,
            newest_epoch: 0,
            events: VecDeque::new(),
            counters: Counters::default(),
            gate: RateGate::default(),
            jumps: Jumps::default(),
            catch_up: CatchUp::default(),
        };
        Ok(Self { guarded: Mutex::new(guarded), sleep: Mutex::default(), waker: Mutex::new(None), idle, stream_id })
    }

    /// Gives the consumer new regions. They are read at once if there were none. Otherwise they are read once the
    /// descriptors already in the stream are drained, or one of the new epoch arrives: so the last frames of an ending
    /// producer are not lost.
    fn attach(&self, py: Python<'_>, regions: &PoolRegions) -> PyResult<()> {
        let regions = regions.mapped(py)?;
        let bells = regions.bells().map(|bells| (bells, regions.epoch));
        let reader = Reader::new(regions);
        let mut guarded = unpoisoned(&self.guarded);
        guarded.next = Some(reader);
        guarded.bells = bells;
        if guarded.reader.is_none() {
            guarded.switch();
        }
        drop(guarded);
        self.wake();
        Ok(())
    }

    /// The epoch that is being read; None while detached.
    #[getter]
    fn epoch(&self) -> Option<u64> {
        unpoisoned(&self.guarded).reader.as_ref().map(|reader| reader.regions().epoch)
    }

    /// Stops using the regions: frames are dropped until the next `attach`.
    fn detach(&self) {
        unpoisoned(&self.guarded).let_go();
        self.wake();
    }

    /// Wakes a waiting thread, so that it looks again.
    fn wake(&self) {
        if let Some(waker) = &*unpoisoned(&self.waker) {
            waker.ring();
        }
    }

    /// Changes the descriptor stream that is read: to the consumer's own, or back to the shared one. On a capped stream
    /// the sender keeps the rate, so frames that the sequence skips were left out, not lost.
    #[pyo3(signature = (subscription, capped = false))]
    fn listen(&self, subscription: &AeronSubscription, capped: bool) {
        let mut guarded = unpoisoned(&self.guarded);
        guarded.subscription = subscription.shared();
        guarded.jumps = Jumps { is_capped: capped, was_capped: guarded.jumps.is_capped };
        drop(guarded);
        self.wake();
    }

    /// Says that the epoch ended after that sequence. Frames up to it that were never heard of count as gaps, unless
    /// they still arrive.
    fn note_end(&self, epoch: u64, after_seq: u64) {
        unpoisoned(&self.guarded).note_end(epoch, after_seq);
        self.wake();
    }

    /// The sequence that is expected next, even if no descriptor was heard yet; None while detached.
    #[getter]
    fn next_seq(&self) -> Option<u64> {
        let guarded = unpoisoned(&self.guarded);
        guarded.reader.as_ref().map(|reader| guarded.next_seq(reader))
    }

    /// Says that frames that were never heard of will not arrive any more, and counts them as lost.
    fn settle(&self) {
        unpoisoned(&self.guarded).settle();
    }

    /// Says that a returned frame was overwritten before the caller used it. Returns the sequence below which frames
    /// are skipped now.
    fn lapped(&self, epoch: u64, seq: u64) -> u64 {
        let mut guard = unpoisoned(&self.guarded);
        let guarded = &mut *guard;
        match &guarded.reader {
            Some(reader) if reader.regions().epoch == epoch => {
                guarded.catch_up.on_lapped(seq, reader.regions().nslots())
            }
            _ => seq,
        }
    }

    /// Limits the frames per second; 0 lets all through.
    fn limit_rate(&self, max_rate_hz: u32) {
        let interval = if max_rate_hz == 0 { 0 } else { 1_000_000_000 / u64::from(max_rate_hz) };
        unpoisoned(&self.guarded).gate = RateGate { shortest_interval_ns: interval, last_ns: None };
    }

    #[getter]
    fn is_attached(&self) -> bool {
        unpoisoned(&self.guarded).reader.is_some()
    }

    /// The highest sequence seen in this epoch; None before the first.
    #[getter]
    fn last_seq(&self) -> Option<u64> {
        unpoisoned(&self.guarded).expected_seq.map(|next| next - 1)
    }

    /// The highest epoch that a descriptor of the stream carried.
    #[getter]
    fn newest_epoch(&self) -> u64 {
        unpoisoned(&self.guarded).newest_epoch
    }

    /// Reads at most `limit` frames, and waits up to `timeout_ns` for the first.
    #[pyo3(signature = (limit = 64, timeout_ns = 0))]
    fn poll(&self, py: Python<'_>, limit: usize, timeout_ns: u64) -> PyResult<FrameBatch> {
        let subscription = Arc::clone(&unpoisoned(&self.guarded).subscription);
        let turn = || {
            let mut batch = FrameBatch::with_room(limit);
            let polled = self.turn(&subscription, limit, &mut batch)?;
            Some(polled.map(|()| batch))
        };
        let is_empty = |batch: &FrameBatch| batch.is_empty() && !self.is_hearing();
        subscription.wait_resting(py, timeout_ns, turn, is_empty, self)
    }

    /// Whether control messages are waiting in `events`.
    #[getter]
    fn has_events(&self) -> bool {
        self.is_hearing()
    }

    /// The control messages between the descriptors, oldest first. Each comes with the epoch that was being read when
    /// it arrived, and the last sequence in that epoch.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let events: Vec<Event> = unpoisoned(&self.guarded).events.drain(..).collect();
        PyList::new(py, events.iter().map(|(message, epoch, last)| (PyBytes::new(py, message), *epoch, *last)))
    }

    /// How many frames went which way, and how many were not believed, by cause.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counters, unheard) = {
            let guarded = unpoisoned(&self.guarded);
            (guarded.counters.clone(), guarded.unheard().map_or(0, |(first, last)| last - first + 1))
        };
        let values = PyDict::new(py);
        for (name, value) in [
            ("frames", counters.frames),
            ("gap_drops", counters.gap_drops),
            ("late_drops", counters.late_drops),
            ("rate_limited", counters.rate_limited),
            ("regressions", counters.regressions),
            ("false_descriptors", counters.false_descriptors),
            ("unmapped", counters.unmapped),
            ("other_epoch", counters.other_epoch),
            ("other_streams", counters.other_streams),
            ("other_messages", counters.other_messages),
            ("events_dropped", counters.events_dropped),
            ("skipped", counters.skipped),
            ("unheard", unheard),
        ] {
            values.set_item(name, value)?;
        }
        for (name, value) in DROP_NAMES.iter().zip(counters.drops) {
            values.set_item(format!("drop_{name}"), value)?;
        }
        Ok(values)
    }
}

impl PoolConsumer {
    /// Takes a seat at the bells of the newest epoch, where its writer rings. Returns whether the subscription also
    /// receives other publications.
    fn take_seat(&self, sleep: &mut Sleep) -> bool {
        let guarded = unpoisoned(&self.guarded);
        let epoch = guarded.bells.as_ref().map(|(_, epoch)| *epoch);
        let is_new = epoch != sleep.epoch;
        if is_new {
            sleep.epoch = epoch;
            sleep.sleeper.wait_for([guarded.bells.clone()]);
            *unpoisoned(&self.waker) = sleep.sleeper.waker();
        }
        let is_moved = sleep.heard.as_ref().is_none_or(|heard| !Arc::ptr_eq(heard, &guarded.subscription));
        if is_moved || is_new {
            guarded.subscription.set_waker(sleep.sleeper.waker());
            sleep.heard = Some(Arc::clone(&guarded.subscription));
        }
        guarded.subscription.hears_several()
    }

    /// Polls the stream once. Takes the lock, never the GIL.
    fn turn(
        &self,
        subscription: &SubscriptionShared,
        limit: usize,
        taker: &mut impl Taker,
    ) -> Option<Result<(), rusteron_client::AeronCError>> {
        let mut guard = unpoisoned(&self.guarded);
        let guarded = &mut *guard;
        let polled = subscription.poll_whole(limit, |message| guarded.on_fragment(self.stream_id, message, taker))?;
        if matches!(polled, Ok(0)) {
            guarded.switch();
        }
        Some(polled.map(|_| ()))
    }

    fn is_hearing(&self) -> bool {
        !unpoisoned(&self.guarded).events.is_empty()
    }

    /// Reads the frames that are ready and gives each to `see`, for the native benchmarks. Returns how many there were.
    pub(crate) fn read_natively(&self, limit: usize, mut see: impl FnMut(&FrameRef)) -> usize {
        let subscription = Arc::clone(&unpoisoned(&self.guarded).subscription);
        let mut seen = 0;
        let mut count_and_see = |found: Found, _reader: &Reader| {
            seen += 1;
            see(&found.frame);
        };
        let _ = self.turn(&subscription, limit, &mut count_and_see);
        seen
    }
}
