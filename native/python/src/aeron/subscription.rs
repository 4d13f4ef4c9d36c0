// SPDX-License-Identifier: Apache-2.0
//! A subscription: one receiver of one stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use framegate_core::assembler::{Assembler, BEGIN, WHOLE};
use framegate_core::bell::{Look, Waker, Woken};
use framegate_core::idle::{IdleStrategy, Idler, tighten_timer_slack};
use framegate_core::record::{MESSAGE_HEADER_BYTES, RecordFilter, VERDICTS, Verdict};
use framegate_core::unpoisoned;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList};
use rusteron_client::{AeronCError, AeronHeader, AeronSubscription as AeronReceiver};

use super::client::ClientShared;
use super::events::Images;
use super::transport_class;
use crate::buffer::ExportedBuffer;
use crate::errors::raise;

/// The longest message that is assembled. Every control message is far shorter, by the schema's own bound for variable
/// data.
const MAX_ASSEMBLED_BYTES: usize = 64 << 20;
/// How often a waiting call checks Python's signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);
/// Bytes of Aeron's data frame header, and the offset of its flags; see Aeron's protocol specification.
const FRAME_HEADER_BYTES: usize = 32;
const FLAGS_OFFSET: usize = 5;

/// A whole message on its way to Python.
struct Message {
    data: Vec<u8>,
    session_id: i32,
    position: i64,
}

/// The C subscription, with what one poller at a time uses.
struct Receiver {
    subscription: AeronReceiver,
    assembler: Assembler,
}

/// What a subscription and its client share.
pub(crate) struct Shared {
    receiver: Mutex<Option<Receiver>>,
    images: Arc<Images>,
    counters: Counters,
    client: Arc<ClientShared>,
    idle: IdleStrategy,
    /// How many fragments were polled by turns that look for frames, whether they were wanted or not.
    heard: AtomicU64,
    stream_id: i32,
}

/// What a waiting call does between two turns that found nothing.
pub(crate) trait Resting: Send {
    fn strategy(&self) -> IdleStrategy;

    /// Rests once, after a turn that gave `before`. Returns how a sleep ended, if it was one. `look` makes a turn; a
    /// sleeper calls it before it sleeps.
    fn rest(&self, idler: &mut Idler, until: Instant, before: Look, look: &mut dyn FnMut() -> Look) -> Option<Woken>;
}

/// Rests by the idle strategy alone.
struct Plainly(IdleStrategy);

impl Resting for Plainly {
    fn strategy(&self) -> IdleStrategy {
        self.0
    }

    fn rest(
        &self,
        idler: &mut Idler,
        _until: Instant,
        _before: Look,
        _look: &mut dyn FnMut() -> Look,
    ) -> Option<Woken> {
        idler.idle();
        None
    }
}

#[derive(Default)]
struct Counters {
    messages: AtomicU64,
    verdicts: [AtomicU64; VERDICTS],
    fragmented: AtomicU64,
}

impl Shared {
    /// Closes the subscription. Call it without the GIL.
    pub(crate) fn close(&self) {
        drop(unpoisoned(&self.receiver).take());
    }

    fn read<T>(&self, closed: T, ask: impl FnOnce(&AeronReceiver) -> T) -> T {
        unpoisoned(&self.receiver).as_ref().map_or(closed, |receiver| ask(&receiver.subscription))
    }

    /// The whole messages of one turn; None if the subscription is closed.
    fn poll_messages(&self, limit: usize) -> Option<Result<Vec<Message>, AeronCError>> {
        let mut guard = unpoisoned(&self.receiver);
        let Receiver { subscription, assembler } = guard.as_mut()?;
        let mut messages = Vec::new();
        let polled = subscription.poll_fn(
            |fragment, header| {
                let Ok(values) = header.get_values() else { return };
                let (frame, position) = (values.frame(), header.position());
                let session_id = frame.session_id();
                assembler.on_fragment(session_id, frame.flags(), fragment, |message| {
                    messages.push(Message { data: message.to_vec(), session_id, position });
                });
            },
            limit,
        );
        self.counters.messages.fetch_add(messages.len() as u64, Ordering::Relaxed);
        Some(polled.map(|_| messages))
    }

    /// Fills `out` with the bodies of one kind of record. Returns how many there were, or None if the subscription is
    /// closed.
    fn poll_records(&self, filter: &RecordFilter, out: &mut [u8]) -> Option<Result<usize, AeronCError>> {
        let guard = unpoisoned(&self.receiver);
        let subscription = &guard.as_ref()?.subscription;
        let mut sink = RecordSink { filter, out, filled: 0, verdicts: [0; VERDICTS], fragmented: 0 };
        let room = sink.out.len() / filter.record_bytes();
        let polled = subscription.poll_fn(|fragment, _header: AeronHeader| sink.on_fragment(fragment), room);
        for (counter, seen) in self.counters.verdicts.iter().zip(sink.verdicts) {
            if seen > 0 {
                counter.fetch_add(seen, Ordering::Relaxed);
            }
        }
        if sink.fragmented > 0 {
            self.counters.fragmented.fetch_add(sink.fragmented, Ordering::Relaxed);
        }
        Some(polled.map(|_| sink.filled / filter.record_bytes()))
    }
}

impl Shared {
    fn closed(&self, py: Python<'_>) -> PyErr {
        let described = || -> PyResult<PyErr> {
            self.client.check_alive(py)?;
            let facts = [("stream_id", self.stream_id.into_pyobject(py)?.into_any())];
            Ok(raise(py, "TransportClosed", "the subscription was closed before", &facts))
        };
        described().unwrap_or_else(|failure| failure)
    }

    /// Calls `turn` until it finds something or the time is up. The GIL is held only between slices of the wait.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        timeout_ns: u64,
        turn: impl FnMut() -> Option<Result<T, AeronCError>> + Send,
        is_empty: impl Fn(&T) -> bool + Send + Sync,
    ) -> PyResult<T> {
        self.wait_resting(py, timeout_ns, turn, is_empty, &Plainly(self.idle))
    }

    /// Waits like `wait`, and rests between turns in the caller's own way.
    pub(crate) fn wait_resting<T: Send>(
        &self,
        py: Python<'_>,
        timeout_ns: u64,
        mut turn: impl FnMut() -> Option<Result<T, AeronCError>> + Send,
        is_empty: impl Fn(&T) -> bool + Send + Sync,
        resting: &(impl Resting + Sync),
    ) -> PyResult<T> {
        self.client.check_alive(py)?;
        let mut found = turn().ok_or_else(|| self.closed(py))?.map_err(|_| self.poll_failed(py))?;
        if timeout_ns == 0 || !is_empty(&found) {
            return Ok(found);
        }
        let deadline = Instant::now() + Duration::from_nanos(timeout_ns);
        let mut idler = Idler::new(resting.strategy());
        loop {
            let slice_end = deadline.min(Instant::now() + SIGNAL_CHECK);
            let last = py.detach(|| {
                tighten_timer_slack();
                wait_slice(slice_end, &mut idler, self, &mut turn, &is_empty, resting)
            });
            found = last.ok_or_else(|| self.closed(py))?.map_err(|_| self.poll_failed(py))?;
            // What was taken is returned even if the client has died meanwhile: it was counted, and no later turn finds
            // it again.
            if !is_empty(&found) {
                return Ok(found);
            }
            self.client.check_alive(py)?;
            if Instant::now() >= deadline {
                return Ok(found);
            }
            py.check_signals()?;
        }
    }

    fn poll_failed(&self, py: Python<'_>) -> PyErr {
        let refusal = self.client.refusal(py, "TransportClosed", "Aeron could not poll the subscription", &[]);
        refusal.unwrap_or_else(|failure| failure)
    }

    /// Whether more than one publication is heard.
    pub(crate) fn hears_several(&self) -> bool {
        self.images.present() > 1
    }

    /// Names the bell of whoever waits for messages, to be woken when a publication comes or goes.
    pub(crate) fn set_waker(&self, waker: Option<Waker>) {
        self.images.set_waker(waker);
    }

    /// How many images the subscription has lost so far. What their publications sent until they came back was not
    /// received.
    #[inline]
    pub(crate) fn images_lost(&self) -> u64 {
        self.images.lost()
    }

    /// Calls `see` with every whole message of one turn, in place. Returns the number of fragments, or None if closed.
    pub(crate) fn poll_whole(&self, limit: usize, mut see: impl FnMut(&[u8])) -> Option<Result<usize, AeronCError>> {
        let guard = unpoisoned(&self.receiver);
        let subscription = &guard.as_ref()?.subscription;
        let mut fragmented = 0;
        let polled = subscription.poll_fn(
            |fragment, _header: AeronHeader| {
                let flags = frame_flags(fragment);
                if flags & WHOLE == WHOLE {
                    see(fragment);
                } else {
                    fragmented += u64::from(flags & BEGIN != 0);
                }
            },
            limit,
        );
        if fragmented > 0 {
            self.counters.fragmented.fetch_add(fragmented, Ordering::Relaxed);
        }
        let polled = polled.map(|count| count.max(0) as usize);
        if let Ok(count @ 1..) = polled {
            // Only the polling thread counts, and it holds the receiver.
            self.heard.store(self.heard.load(Ordering::Relaxed) + count as u64, Ordering::Relaxed);
        }
        Some(polled)
    }

    /// Like `poll_whole`, but assembles messages of several fragments. Only those are copied.
    pub(crate) fn poll_assembled(
        &self,
        limit: usize,
        mut see: impl FnMut(&[u8]),
    ) -> Option<Result<usize, AeronCError>> {
        let mut guard = unpoisoned(&self.receiver);
        let Receiver { subscription, assembler } = guard.as_mut()?;
        let polled = subscription.poll_fn(
            |fragment, header: AeronHeader| {
                let flags = frame_flags(fragment);
                if flags & WHOLE == WHOLE {
                    see(fragment);
                } else if let Ok(values) = header.get_values() {
                    assembler.on_fragment(values.frame().session_id(), flags, fragment, &mut see);
                }
            },
            limit,
        );
        Some(polled.map(|count| count.max(0) as usize))
    }
}

/// Copies the bodies of wanted records back to back into a caller's array.
struct RecordSink<'a> {
    filter: &'a RecordFilter,
    out: &'a mut [u8],
    filled: usize,
    verdicts: [u64; VERDICTS],
    fragmented: u64,
}

impl RecordSink<'_> {
    #[inline]
    fn on_fragment(&mut self, fragment: &[u8]) {
        let flags = frame_flags(fragment);
        if flags & WHOLE != WHOLE {
            // A fragmented message is counted once, by its first fragment.
            self.fragmented += u64::from(flags & BEGIN != 0);
            return;
        }
        let verdict = self.filter.verdict(fragment);
        self.verdicts[verdict as usize] += 1;
        if verdict == Verdict::Record {
            let end = self.filled + self.filter.record_bytes();
            // No more fragments are polled than records fit into `out`, so this slice always exists.
            let body = &fragment[MESSAGE_HEADER_BYTES..MESSAGE_HEADER_BYTES + self.filter.record_bytes()];
            self.out[self.filled..end].copy_from_slice(body);
            self.filled = end;
        }
    }
}

/// The flags of the data frame that holds a fragment.
#[inline]
fn frame_flags(fragment: &[u8]) -> u8 {
    // SAFETY: a subscription hands out fragments in place, so the 32-byte frame header lies directly before
    // the fragment in the same mapped log buffer, for as long as the fragment itself may be read.
    unsafe { *fragment.as_ptr().sub(FRAME_HEADER_BYTES - FLAGS_OFFSET) }
}

/// The native subscription; its methods are described at `framegate.shmpool.transport.interface.Subscription`.
#[pyclass(frozen, module = "framegate._native")]
pub struct AeronSubscription {
    shared: Arc<Shared>,
}

impl AeronSubscription {
    pub(crate) fn new(
        subscription: AeronReceiver,
        stream_id: i32,
        idle: IdleStrategy,
        images: Arc<Images>,
        client: Arc<ClientShared>,
    ) -> (Self, Arc<Shared>) {
        let receiver = Receiver { subscription, assembler: Assembler::new(MAX_ASSEMBLED_BYTES) };
        let shared = Arc::new(Shared {
            receiver: Mutex::new(Some(receiver)),
            images,
            counters: Counters::default(),
            client,
            idle,
            heard: AtomicU64::new(0),
            stream_id,
        });
        (Self { shared: Arc::clone(&shared) }, shared)
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Polls the fragments of one turn and gives them to `seen`, for the native benchmarks.
    pub(crate) fn poll_natively(&self, limit: usize, mut seen: impl FnMut(&[u8])) -> i32 {
        let guard = unpoisoned(&self.shared.receiver);
        let Some(receiver) = guard.as_ref() else { return -1 };
        receiver.subscription.poll_fn(|fragment, _header| seen(fragment), limit).unwrap_or(-1)
    }
}

/// A waiting call reads the clock once in this many turns: reading it costs as much as an idle poll.
const TURNS_PER_CLOCK: u32 = 16;

fn wait_slice<T>(
    slice_end: Instant,
    idler: &mut Idler,
    shared: &Shared,
    turn: &mut impl FnMut() -> Option<Result<T, AeronCError>>,
    is_empty: &impl Fn(&T) -> bool,
    resting: &impl Resting,
) -> Option<Result<T, AeronCError>> {
    let heard = || shared.heard.load(Ordering::Relaxed);
    let mut last = None;
    let mut look = |last: &mut Option<_>| {
        let heard_before = heard();
        *last = turn();
        if !matches!(last, Some(Ok(found)) if is_empty(found)) || shared.client.events.fatal_code() != 0 {
            Look::Found
        } else if heard() == heard_before {
            Look::Nothing
        } else {
            Look::Others
        }
    };
    let mut turns = 0_u32;
    loop {
        let mut looked = look(&mut last);
        if looked == Look::Found {
            return last;
        }
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(TURNS_PER_CLOCK) && Instant::now() >= slice_end {
            return last;
        }
        let woken = resting.rest(idler, slice_end, looked, &mut || {
            looked = look(&mut last);
            looked
        });
        let is_slept_out = woken == Some(Woken::Late) && Instant::now() >= slice_end;
        if looked == Look::Found || is_slept_out || woken == Some(Woken::Interrupted) {
            return last;
        }
    }
}

#[pymethods]
impl AeronSubscription {
    #[pyo3(signature = (limit = 64, timeout_ns = 0))]
    fn poll<'py>(&self, py: Python<'py>, limit: usize, timeout_ns: u64) -> PyResult<Bound<'py, PyList>> {
        static RECEIVED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let messages = self.shared.wait(py, timeout_ns, || self.shared.poll_messages(limit), Vec::is_empty)?;
        let received = PyList::empty(py);
        if !messages.is_empty() {
            let class = transport_class(py, "Received", &RECEIVED)?;
            for message in messages {
                let data = PyBytes::new(py, &message.data);
                received.append(class.call1((data, message.session_id, message.position))?)?;
            }
        }
        Ok(received)
    }

    /// Polls records of one kind. `kind` is a `RecordKind`; `out` is a writable contiguous buffer of whole records.
    #[pyo3(signature = (kind, out, limit = None, timeout_ns = 0))]
    fn poll_records(
        &self,
        py: Python<'_>,
        kind: (u16, u16, u16, u16, bool),
        out: &Bound<'_, PyAny>,
        limit: Option<usize>,
        timeout_ns: u64,
    ) -> PyResult<usize> {
        let (block_length, template_id, schema_id, version, reads_newer) = kind;
        let filter = RecordFilter::new(block_length, template_id, schema_id, version, reads_newer);
        let mut room = WritableRecords::of(out, &filter)?;
        let bytes = room.first(limit, &filter);
        if bytes.is_empty() {
            return Ok(0);
        }
        self.shared.wait(py, timeout_ns, || self.shared.poll_records(&filter, bytes), |found| *found == 0)
    }

    fn image_events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        static IMAGE_EVENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let class = transport_class(py, "ImageEvent", &IMAGE_EVENT)?;
        let events = PyList::empty(py);
        for event in self.shared.images.events.drain() {
            if !event.is_available
                && let Some(receiver) = unpoisoned(&self.shared.receiver).as_mut()
            {
                receiver.assembler.forget(event.session_id);
            }
            events.append(class.call1((event.is_available, event.session_id, event.source, event.at_ns))?)?;
        }
        Ok(events)
    }

    #[getter]
    fn image_count(&self) -> usize {
        self.shared.read(0, |subscription| subscription.image_count().map_or(0, |count| count.max(0) as usize))
    }

    #[getter]
    fn is_connected(&self) -> bool {
        self.shared.read(false, AeronReceiver::is_connected)
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.shared.read(true, AeronReceiver::is_closed)
    }

    #[getter]
    fn stream_id(&self) -> i32 {
        self.shared.stream_id
    }

    /// `host:port`, with the port that the system chose for `endpoint=host:0`.
    fn resolved_endpoint(&self) -> Option<String> {
        self.shared.read(None, |subscription| subscription.resolved_endpoint_as_string(256).ok())
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = &self.shared.counters;
        let abandoned = unpoisoned(&self.shared.receiver).as_ref().map_or(0, |receiver| receiver.assembler.abandoned());
        let values = PyDict::new(py);
        for (name, verdict) in [
            ("records", Verdict::Record),
            ("truncated", Verdict::Truncated),
            ("other_schema", Verdict::OtherSchema),
            ("other_template", Verdict::OtherTemplate),
            ("newer_version", Verdict::NewerVersion),
            ("wrong_block_length", Verdict::WrongBlockLength),
        ] {
            values.set_item(name, counters.verdicts[verdict as usize].load(Ordering::Relaxed))?;
        }
        values.set_item("messages", counters.messages.load(Ordering::Relaxed))?;
        values.set_item("fragmented", counters.fragmented.load(Ordering::Relaxed))?;
        values.set_item("abandoned", abandoned)?;
        values.set_item("image_events_dropped", self.shared.images.events.dropped())?;
        Ok(values)
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.shared.close());
    }
}

/// A caller's writable array, checked to hold whole records.
struct WritableRecords(ExportedBuffer);

impl WritableRecords {
    fn of(out: &Bound<'_, PyAny>, filter: &RecordFilter) -> PyResult<Self> {
        let py = out.py();
        let flags = pyo3::ffi::PyBUF_WRITABLE | pyo3::ffi::PyBUF_C_CONTIGUOUS | pyo3::ffi::PyBUF_FORMAT;
        let room = ExportedBuffer::of(out, flags).or_else(|why| {
            let reason = why.to_string().into_pyobject(py)?.into_any();
            Err(raise(py, "InvalidValue", "records need a writable, contiguous array", &[("numpy", reason)]))
        })?;
        let item_bytes = room.view().itemsize;
        if item_bytes as usize != filter.record_bytes() {
            let facts = [
                ("want_itemsize", filter.record_bytes().into_pyobject(py)?.into_any()),
                ("have_itemsize", item_bytes.into_pyobject(py)?.into_any()),
            ];
            return Err(raise(py, "InvalidValue", "the array's dtype is not the one of these records", &facts));
        }
        Ok(Self(room))
    }

    fn first(&mut self, limit: Option<usize>, filter: &RecordFilter) -> &mut [u8] {
        let bytes = self.0.bytes_mut();
        let records = (bytes.len() / filter.record_bytes()).min(limit.unwrap_or(usize::MAX));
        &mut bytes[..records * filter.record_bytes()]
    }
}
