// SPDX-License-Identifier: Apache-2.0
//! One consumer of a stream: descriptors in, frames out, everything else counted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use framegate_codecs::control;
use framegate_core::pool::reader::{DROP_CAUSES, DROP_NAMES, FrameRef, Reader};
use framegate_core::pool::regions::Regions;
use framegate_core::record::{MESSAGE_HEADER_BYTES, RecordFilter, Verdict};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::frame::Frame;
use super::regions::PoolRegions;
use crate::aeron::{AeronSubscription, SubscriptionShared, unpoisoned};

/// Control messages kept for a caller that does not ask; older ones make room and are counted.
const EVENT_BOUND: usize = 1024;
const CONTROL_SCHEMA: u16 = 920;
const DESCRIPTOR: RecordFilter = RecordFilter::new(40, 4, 900, 1, true);

/// What a descriptor says; PROTOCOL 2.
struct Descriptor {
    stream_id: u32,
    epoch: u64,
    seq: u64,
    timestamp_ns: u64,
    trace_id: u64,
}

impl Descriptor {
    #[inline]
    fn decode(body: &[u8]) -> Self {
        let u32_at =
            |offset: usize| u32::from_le_bytes([body[offset], body[offset + 1], body[offset + 2], body[offset + 3]]);
        let u64_at = |offset: usize| u64::from(u32_at(offset)) | u64::from(u32_at(offset + 4)) << 32;
        Self { stream_id: u32_at(0), epoch: u64_at(4), seq: u64_at(12), timestamp_ns: u64_at(20), trace_id: u64_at(32) }
    }
}

/// A frame on its way to Python.
struct Taken {
    frame: FrameRef,
    /// Keeps the payload mapped; one turn may take frames of two epochs.
    regions: Arc<Regions>,
    descriptor_timestamp_ns: u64,
    trace_id: u64,
}

#[derive(Clone, Default)]
struct Counters {
    frames: u64,
    gap_drops: u64,
    late_drops: u64,
    rate_limited: u64,
    regressions: u64,
    unmapped: u64,
    other_epoch: u64,
    other_streams: u64,
    other_messages: u64,
    events_dropped: u64,
    drops: [u64; DROP_CAUSES],
}

/// What the lock guards. Whoever holds it never takes the GIL.
struct Guarded {
    reader: Option<Reader>,
    /// The next epoch's, taken once the present one's descriptors are drained.
    next: Option<Reader>,
    subscription: Arc<SubscriptionShared>,
    /// The next sequence, once a first one was seen in this epoch.
    expected_seq: Option<u64>,
    newest_epoch: u64,
    events: VecDeque<Vec<u8>>,
    counters: Counters,
    gate: RateGate,
}

/// Lets at most so many frames a second through: RATE_LIMITED consumers without a stream of their own.
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

impl Guarded {
    /// Goes over to the next epoch, if there is one. What was known of the old one is forgotten.
    fn switch(&mut self) {
        if let Some(next) = self.next.take() {
            self.reader = Some(next);
            self.expected_seq = None;
            self.gate.last_ns = None;
        }
    }

    fn on_fragment(&mut self, stream_id: u32, message: &[u8], taken: &mut Vec<Taken>) {
        match DESCRIPTOR.verdict(message) {
            Verdict::Record => {
                let descriptor = Descriptor::decode(&message[MESSAGE_HEADER_BYTES..]);
                if descriptor.stream_id == stream_id {
                    self.on_descriptor(&descriptor, taken);
                } else {
                    self.counters.other_streams += 1;
                }
            }
            Verdict::OtherSchema => self.on_control(stream_id, message),
            _ => self.counters.other_messages += 1,
        }
    }

    fn on_descriptor(&mut self, descriptor: &Descriptor, taken: &mut Vec<Taken>) {
        self.newest_epoch = self.newest_epoch.max(descriptor.epoch);
        if self.next.as_ref().is_some_and(|next| next.regions().epoch == descriptor.epoch) {
            self.switch();
        }
        let Some(reader) = self.reader.as_mut() else {
            self.counters.unmapped += 1;
            return;
        };
        if descriptor.epoch != reader.regions().epoch {
            self.counters.other_epoch += 1;
            return;
        }
        match self.expected_seq {
            Some(expected) if descriptor.seq < expected => {
                // The same sequence again would be a frame delivered twice; a lower one is a second writer.
                self.counters.regressions += 1;
                return;
            }
            Some(expected) => self.counters.gap_drops += descriptor.seq - expected,
            None => {}
        }
        self.expected_seq = Some(descriptor.seq.saturating_add(1));
        match reader.read(descriptor.seq) {
            Ok(frame) => {
                let regions = Arc::clone(reader.regions());
                self.admit(frame, regions, descriptor, taken);
            }
            Err(cause) => {
                self.counters.drops[cause.index()] += 1;
                self.counters.late_drops += u64::from(cause.is_late());
            }
        }
    }

    fn admit(&mut self, frame: FrameRef, regions: Arc<Regions>, descriptor: &Descriptor, taken: &mut Vec<Taken>) {
        let stamps = [descriptor.timestamp_ns, frame.header.timestamp_ns];
        let stamp = stamps.into_iter().find(|stamp| *stamp != u64::MAX);
        let at_ns = || stamp.unwrap_or_else(|| rusteron_client::Aeron::nano_clock() as u64);
        if self.gate.shortest_interval_ns > 0 && !self.gate.admits(at_ns()) {
            self.counters.rate_limited += 1;
            return;
        }
        self.counters.frames += 1;
        taken.push(Taken {
            frame,
            regions,
            descriptor_timestamp_ns: descriptor.timestamp_ns,
            trace_id: descriptor.trace_id,
        });
    }

    /// Barriers, watermarks and signals of this stream wait for whoever asks for them.
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
                self.events.push_back(message.to_vec());
            }
            Some(_) => self.counters.other_streams += 1,
            None => self.counters.other_messages += 1,
        }
    }
}

/// See `framegate.shmpool.consumer.Consumer`, which is what users hold.
#[pyclass(frozen, module = "framegate._native")]
pub struct PoolConsumer {
    guarded: Mutex<Guarded>,
    stream_id: u32,
}

#[pymethods]
impl PoolConsumer {
    #[new]
    fn new(subscription: &AeronSubscription, stream_id: u32) -> Self {
        let guarded = Guarded {
            reader: None,
            next: None,
            subscription: subscription.shared(),
            expected_seq: None,
            newest_epoch: 0,
            events: VecDeque::new(),
            counters: Counters::default(),
            gate: RateGate::default(),
        };
        Self { guarded: Mutex::new(guarded), stream_id }
    }

    /// Reads these regions: at once where there are none yet, else as soon as the descriptors that are in the stream
    /// already have been drained, or one of the new epoch comes. So the tail of an ending producer is not lost.
    fn attach(&self, py: Python<'_>, regions: &PoolRegions) -> PyResult<()> {
        let reader = Reader::new(regions.mapped(py)?);
        let mut guarded = unpoisoned(&self.guarded);
        guarded.next = Some(reader);
        if guarded.reader.is_none() {
            guarded.switch();
        }
        Ok(())
    }

    /// The epoch that is being read; None while detached.
    #[getter]
    fn epoch(&self) -> Option<u64> {
        unpoisoned(&self.guarded).reader.as_ref().map(|reader| reader.regions().epoch)
    }

    /// The regions must not be used any more: frames are dropped until the next `attach`.
    fn detach(&self) {
        let mut guarded = unpoisoned(&self.guarded);
        guarded.reader = None;
        guarded.next = None;
        guarded.expected_seq = None;
    }

    /// Hears another descriptor stream from now on: a consumer's own, or the shared one again.
    fn listen(&self, subscription: &AeronSubscription) {
        unpoisoned(&self.guarded).subscription = subscription.shared();
    }

    /// At most so many frames a second; 0: all.
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

    /// Frames, at most `limit`; waits up to `timeout_ns` for the first.
    #[pyo3(signature = (limit = 64, timeout_ns = 0))]
    fn poll<'py>(&self, py: Python<'py>, limit: usize, timeout_ns: u64) -> PyResult<Bound<'py, PyList>> {
        let subscription = Arc::clone(&unpoisoned(&self.guarded).subscription);
        let taken = subscription.wait(
            py,
            timeout_ns,
            || self.turn(&subscription, limit),
            |taken: &Vec<Taken>| taken.is_empty() && !self.has_event(),
        )?;
        let frames = PyList::empty(py);
        for Taken { frame, regions, descriptor_timestamp_ns, trace_id } in taken {
            frames.append(Bound::new(py, Frame::new(frame, regions, descriptor_timestamp_ns, trace_id))?)?;
        }
        Ok(frames)
    }

    /// Control messages that stood between the descriptors, oldest first.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let events: Vec<Vec<u8>> = unpoisoned(&self.guarded).events.drain(..).collect();
        PyList::new(py, events.iter().map(|event| PyBytes::new(py, event)))
    }

    /// Frames by what became of them, and each cause of a frame that was not believed.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = unpoisoned(&self.guarded).counters.clone();
        let values = PyDict::new(py);
        for (name, value) in [
            ("frames", counters.frames),
            ("gap_drops", counters.gap_drops),
            ("late_drops", counters.late_drops),
            ("rate_limited", counters.rate_limited),
            ("regressions", counters.regressions),
            ("unmapped", counters.unmapped),
            ("other_epoch", counters.other_epoch),
            ("other_streams", counters.other_streams),
            ("other_messages", counters.other_messages),
            ("events_dropped", counters.events_dropped),
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
    /// One look at the stream. Takes the lock, never the GIL.
    fn turn(
        &self,
        subscription: &SubscriptionShared,
        limit: usize,
    ) -> Option<Result<Vec<Taken>, rusteron_client::AeronCError>> {
        let mut guarded = unpoisoned(&self.guarded);
        let mut taken = Vec::new();
        let polled =
            subscription.poll_whole(limit, |message| guarded.on_fragment(self.stream_id, message, &mut taken))?;
        if matches!(polled, Ok(0)) {
            guarded.switch();
        }
        Some(polled.map(|_| taken))
    }

    fn has_event(&self) -> bool {
        !unpoisoned(&self.guarded).events.is_empty()
    }

    /// For the native benchmarks: reads what is there and gives each frame to `see`; how many.
    pub(crate) fn read_natively(&self, limit: usize, mut see: impl FnMut(&FrameRef)) -> usize {
        let subscription = Arc::clone(&unpoisoned(&self.guarded).subscription);
        match self.turn(&subscription, limit) {
            Some(Ok(taken)) => {
                taken.iter().for_each(|taken| see(&taken.frame));
                taken.len()
            }
            _ => 0,
        }
    }
}
