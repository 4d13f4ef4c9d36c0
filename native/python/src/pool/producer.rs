// SPDX-License-Identifier: Apache-2.0
//! A stream's one producer: arrays into slots, descriptors onto the stream.
//!
//! One lock guards the writer and its publications, so that frames, barriers and ends stand in one order on every
//! stream. Whoever holds it never takes the GIL: a thread that waits for the lock may be holding that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use framegate_checkpoint::between::{Between, Place, SentBarrier};
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::biased::BiasedLock;
use framegate_core::idle::{IdleStrategy, Idler};
use framegate_core::pool::layout::{NULL_META_VERSION, NULL_TIMESTAMP};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::{ROW_MAJOR, Tensor, element_bytes};
use framegate_core::pool::writer::{Claim, DESCRIPTOR_MESSAGE_BYTES, Stamps, WriteFault, Writer};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis};

use super::array_view::{ArrayView, Source, checked_shape, dtype_number, wrong};
use super::frame::DTYPE_NAMES;
use super::frame_claim::FrameClaim;
use super::regions::PoolRegions;
use crate::aeron::{AeronPublication, AeronSubscription, PublicationShared, SubscriptionShared};
use crate::checkpoint::CommandWord;
use crate::errors::raise;
use crate::join::monotonic_ns;

/// A timestamp argument: left out, it is the time of the call; None is the null timestamp.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stamp {
    Now,
    Null,
    At(u64),
}

impl<'py> FromPyObject<'_, 'py> for Stamp {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::Null);
        }
        if value.is_instance_of::<PyEllipsis>() {
            return Ok(Self::Now);
        }
        Ok(Self::At(value.extract()?))
    }
}

impl Stamp {
    fn nanoseconds(self) -> u64 {
        match self {
            Self::Now => rusteron_client::Aeron::nano_clock() as u64,
            Self::Null => NULL_TIMESTAMP,
            Self::At(nanoseconds) => nanoseconds,
        }
    }
}

/// What every frame is stamped with beside its own times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameStamps {
    pub(crate) timestamp: Stamp,
    pub(crate) descriptor_timestamp_ns: Option<u64>,
    pub(crate) trace_id: u64,
    pub(crate) seq: Option<u64>,
    /// Where the frame's source stands behind it; None: where it stood.
    pub(crate) position: Option<u64>,
}

/// A subscription of the producer's own, always at the head of its stream. Aeron lets go of a subscriber that is far
/// behind the fastest one; without this, a single stalled consumer would be the fastest.
struct Pace {
    subscription: Option<Arc<SubscriptionShared>>,
    frames: u32,
}

impl Pace {
    #[inline]
    fn keep(&mut self) {
        self.frames += 1;
        if self.frames >= PACE_EVERY {
            self.frames = 0;
            if let Some(subscription) = &self.subscription {
                let _ = subscription.poll_whole(usize::MAX >> 1, |_| {});
            }
        }
    }
}

/// A consumer's own descriptor stream.
struct Branch {
    consumer_id: u32,
    publication: Arc<PublicationShared>,
    shortest_interval: Duration,
    last: Option<Instant>,
}

/// From here on a copy takes longer than giving the GIL back and taking it again.
const WITHOUT_GIL_FROM_BYTES: u32 = 64 * 1024;

/// How long a message that must stand in its place waits for a stream that is full.
const SEND_HERE_PATIENCE: Duration = Duration::from_millis(100);

/// Frames between two looks at the producer's own subscription.
const PACE_EVERY: u32 = 64;

/// What the lock guards.
struct Guarded {
    writer: Option<Writer>,
    /// The last frame of the epoch that was announced. Not the one before the writer's next: numbers may be left out.
    last_seq: Option<u64>,
    /// Where the source stands behind that frame, in a measure of its own. It outlives epochs, as the source does.
    position: u64,
    between: Between,
    pace: Pace,
    branches: Vec<Branch>,
    meta_version: u32,
    counters: Counters,
}

/// Behind the lock, because one atomic addition costs as much as claiming a slot.
#[derive(Clone, Default)]
struct Counters {
    frames: u64,
    bytes: u64,
    descriptors_unheard: u64,
    descriptors_lost: u64,
    branch_descriptors_lost: u64,
    abandoned: u64,
}

/// What a producer and its open claim hold in common.
pub(crate) struct Shared {
    guarded: BiasedLock<Guarded>,
    publication: Arc<PublicationShared>,
    stream_id: u32,
}

/// Why a frame was not published.
pub(crate) enum PublishFault {
    NotAttached,
    /// Its source could not be copied; Python's error indicator says why.
    NotCopied,
    Write(WriteFault),
}

impl From<WriteFault> for PublishFault {
    fn from(fault: WriteFault) -> Self {
        Self::Write(fault)
    }
}

/// A published frame, and what became of its descriptor on the shared stream.
pub(crate) struct Published {
    pub(crate) seq: u64,
    pub(crate) answer: i64,
}

impl Guarded {
    /// Sends what is due. Where nothing is, that is one load.
    #[inline]
    fn before_frame(&mut self, shared: &PublicationShared) {
        // Without a writer a command stays where it is.
        if self.writer.is_some() && self.between.is_due(monotonic_ns) {
            self.send_between(shared);
        }
    }

    /// Sends what waits between the frames, if it can; false when some of it goes on waiting.
    #[cold]
    fn send_between(&mut self, shared: &PublicationShared) -> bool {
        let Some(writer) = &self.writer else {
            return false;
        };
        // A stream without frames is kept moving by what stands between them.
        self.pace.keep();
        let regions = writer.regions();
        let place = Place {
            stream_id: regions.stream_id,
            source_epoch: regions.epoch,
            after_seq: self.last_seq,
            position: self.position,
        };
        let own = self.branches.iter().map(|branch| &*branch.publication);
        let ways: Vec<&PublicationShared> = std::iter::once(shared).chain(own).collect();
        self.between.send(&ways, place, monotonic_ns())
    }

    /// Another epoch, or none.
    fn change_writer(&mut self, writer: Option<Writer>) {
        self.writer = writer;
        self.last_seq = None;
        self.between.leave_epoch();
    }
}

impl Shared {
    /// Offers a frame's descriptor on the shared stream and every branch, and counts the frame.
    #[inline]
    fn announce(
        &self,
        branches: &mut [Branch],
        counters: &mut Counters,
        message: &[u8; DESCRIPTOR_MESSAGE_BYTES],
        values_bytes: u32,
    ) -> i64 {
        counters.frames += 1;
        counters.bytes += u64::from(values_bytes);
        let answer = self.publication.offer_within_bound(message);
        match answer {
            0.. => {}
            // Nobody listens: the frame is in the ring all the same.
            -1 => counters.descriptors_unheard += 1,
            _ => counters.descriptors_lost += 1,
        }
        for branch in branches {
            if branch.is_due() && branch.publication.offer_within_bound(message) < -1 {
                counters.branch_descriptors_lost += 1;
            }
        }
        answer
    }

    /// Publishes one frame, which `fill` copies in; it answers whether it could. Takes the lock.
    fn publish(
        &self,
        tensor: &Tensor,
        values_bytes: u32,
        stamps: FrameStamps,
        fill: impl FnOnce(&Claim) -> bool,
    ) -> Result<Published, PublishFault> {
        let mut guard = self.guarded.lock();
        guard.before_frame(&self.publication);
        let Guarded { writer, last_seq, position, pace, branches, meta_version, counters, .. } = &mut *guard;
        let writer = writer.as_mut().ok_or(PublishFault::NotAttached)?;
        pace.keep();
        let claim = writer.begin(tensor, values_bytes, stamps.seq)?;
        if !fill(&claim) {
            writer.abandon(claim);
            return Err(PublishFault::NotCopied);
        }
        let message = writer.commit(&claim, stamps.of_frame(*meta_version))?;
        *last_seq = Some(claim.seq);
        *position = stamps.position.unwrap_or(*position);
        Ok(Published { seq: claim.seq, answer: self.announce(branches, counters, message, values_bytes) })
    }

    /// Begins a frame that the caller fills.
    pub(crate) fn claim(
        &self,
        tensor: &Tensor,
        values_bytes: u32,
        seq: Option<u64>,
    ) -> Result<(Claim, Arc<Regions>), PublishFault> {
        let mut guard = self.guarded.lock();
        let writer = guard.writer.as_mut().ok_or(PublishFault::NotAttached)?;
        let claim = writer.begin(tensor, values_bytes, seq)?;
        Ok((claim, Arc::clone(writer.regions())))
    }

    pub(crate) const fn stream_id(&self) -> u32 {
        self.stream_id
    }

    /// The epoch that is published in.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.guarded.lock().writer.as_ref().map(|writer| writer.regions().epoch)
    }

    /// Puts a message between the frames that were published and the next one, waiting a moment for room. False: it
    /// cannot be sent there, and it is sent nowhere else.
    pub(crate) fn send_here(&self, hold: impl FnOnce(&mut Between) -> bool) -> bool {
        let mut guard = self.guarded.lock();
        if guard.writer.is_none() || !hold(&mut guard.between) {
            return false;
        }
        let lost = guard.between.counters().lost;
        let given_up_at = Instant::now() + SEND_HERE_PATIENCE;
        let mut idler = Idler::new(IdleStrategy::Backoff);
        while !guard.send_between(&self.publication) {
            if Instant::now() >= given_up_at {
                guard.between.give_up_waiting();
                return false;
            }
            idler.idle();
        }
        guard.between.counters().lost == lost
    }

    /// Ends a claimed frame; None when the regions were lost meanwhile or it was abandoned.
    pub(crate) fn finish(
        &self,
        claim: &Claim,
        regions: &Arc<Regions>,
        stamps: Option<FrameStamps>,
    ) -> Option<Published> {
        let mut guard = self.guarded.lock();
        guard.before_frame(&self.publication);
        let Guarded { writer, last_seq, pace, branches, meta_version, counters, .. } = &mut *guard;
        pace.keep();
        let writer = writer.as_mut().filter(|writer| Arc::ptr_eq(writer.regions(), regions))?;
        let Some(stamps) = stamps else {
            writer.abandon(*claim);
            counters.abandoned += 1;
            return None;
        };
        let message = writer.commit(claim, stamps.of_frame(*meta_version)).ok()?;
        *last_seq = Some(claim.seq);
        Some(Published { seq: claim.seq, answer: self.announce(branches, counters, message, claim.values_bytes) })
    }
}

impl FrameStamps {
    fn of_frame(self, meta_version: u32) -> Stamps {
        Stamps {
            timestamp_ns: self.timestamp.nanoseconds(),
            descriptor_timestamp_ns: self.descriptor_timestamp_ns.unwrap_or(NULL_TIMESTAMP),
            meta_version,
            trace_id: self.trace_id,
        }
    }
}

impl Branch {
    fn is_due(&mut self) -> bool {
        if self.shortest_interval.is_zero() {
            return true;
        }
        let now = Instant::now();
        let due = self.last.is_none_or(|last| now.duration_since(last) >= self.shortest_interval);
        if due {
            self.last = Some(now);
        }
        due
    }
}

/// What a native benchmark publishes again and again: frames of bytes.
pub(crate) struct Load {
    frame_bytes: u32,
    /// Copied in each time; None: a frame is claimed and committed as its slot lies.
    payload: Option<Vec<u8>>,
    tensor: Tensor,
    timestamp: Stamp,
}

impl Load {
    pub(crate) fn new(frame_bytes: u32, is_copied: bool) -> Self {
        let payload = is_copied.then(|| vec![0x5A; frame_bytes as usize]);
        let tensor = Tensor::contiguous(1, ROW_MAJOR, &[i32::try_from(frame_bytes).unwrap_or(i32::MAX)]);
        Self { frame_bytes, payload, tensor, timestamp: Stamp::Null }
    }

    /// Each frame says when it was published.
    pub(crate) fn stamped(self) -> Self {
        Self { timestamp: Stamp::Now, ..self }
    }
}

/// See `framegate.shmpool.producer.Producer`, which is what users hold.
#[pyclass(frozen, module = "framegate._native")]
pub struct PoolProducer {
    pub(super) shared: Arc<Shared>,
    /// What every frame must be; None: whatever the array is.
    dtype: Option<i16>,
    shape: Option<Vec<i32>>,
}

#[pymethods]
impl PoolProducer {
    #[new]
    #[pyo3(signature = (publication, stream_id, *, dtype, shape, pace = None))]
    fn new(
        py: Python<'_>,
        publication: &AeronPublication,
        stream_id: u32,
        dtype: Option<&str>,
        shape: Option<Vec<i64>>,
        pace: Option<&AeronSubscription>,
    ) -> PyResult<Self> {
        let dtype = dtype.map(|name| dtype_number(py, name)).transpose()?;
        let shape = shape.map(|shape| checked_shape(py, &shape)).transpose()?;
        let pace = Pace { subscription: pace.map(AeronSubscription::shared), frames: 0 };
        let guarded = Guarded {
            writer: None,
            last_seq: None,
            position: 0,
            between: Between::default(),
            pace,
            branches: Vec::new(),
            meta_version: NULL_META_VERSION,
            counters: Counters::default(),
        };
        let shared =
            Arc::new(Shared { guarded: BiasedLock::new(guarded), publication: publication.shared(), stream_id });
        Ok(Self { shared, dtype, shape })
    }

    /// Writes into these regions from now on, from sequence 0.
    fn attach(&self, py: Python<'_>, regions: &PoolRegions) -> PyResult<()> {
        let regions = regions.mapped(py)?;
        let writer = Writer::new(regions, Tensor::contiguous(1, ROW_MAJOR, &[0]));
        py.detach(|| self.shared.guarded.lock().change_writer(Some(writer)));
        Ok(())
    }

    /// The lease is gone: publishing raises until the next `attach`.
    fn detach(&self, py: Python<'_>) {
        py.detach(|| self.shared.guarded.lock().change_writer(None));
    }

    #[getter]
    fn is_attached(&self, py: Python<'_>) -> bool {
        py.detach(|| self.shared.guarded.lock().writer.is_some())
    }

    /// The next frame's sequence; None while detached.
    #[getter]
    fn next_seq(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.shared.guarded.lock().writer.as_ref().map(Writer::next_seq))
    }

    /// The last frame that was announced in this epoch; None: none was.
    #[getter]
    fn last_seq(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.shared.guarded.lock().last_seq)
    }

    /// Where the source stands; published frames move it on.
    fn set_position(&self, py: Python<'_>, position: u64) {
        py.detach(|| self.shared.guarded.lock().position = position);
    }

    /// Barriers that were sent since the last call, oldest first, and where: id, epoch, the regions' epoch, the frame
    /// before it and the source's position behind that. The newest 16 are kept.
    fn take_sent_barriers(&self, py: Python<'_>) -> Vec<(u64, u64, u64, Option<u64>, u64)> {
        py.detach(|| {
            let mut guard = self.shared.guarded.lock();
            let sent = guard.between.take_sent_barriers();
            let told = |each: SentBarrier| {
                let SentBarrier { barrier, place } = each;
                (barrier.checkpoint_id, barrier.epoch, place.source_epoch, place.after_seq, place.position)
            };
            sent.map(told).collect()
        })
    }

    /// The metadata version that frames refer to from now on; None: none.
    fn set_meta_version(&self, py: Python<'_>, version: Option<u32>) {
        py.detach(|| self.shared.guarded.lock().meta_version = version.unwrap_or(NULL_META_VERSION));
    }

    /// Copies an array in and announces it; its sequence.
    #[pyo3(signature = (
        array, timestamp_ns = Stamp::Now, descriptor_timestamp_ns = None, trace_id = 0, seq = None, position = None
    ))]
    fn publish(
        &self,
        array: &Bound<'_, PyAny>,
        timestamp_ns: Stamp,
        descriptor_timestamp_ns: Option<u64>,
        trace_id: u64,
        seq: Option<u64>,
        position: Option<u64>,
    ) -> PyResult<u64> {
        let py = array.py();
        let view = ArrayView::of(array)?;
        let (tensor, source) = self.described(py, &view, 0)?;
        let bytes = view.payload_bytes(py, 1)?;
        let stamps = FrameStamps { timestamp: timestamp_ns, descriptor_timestamp_ns, trace_id, seq, position };
        // SAFETY: the exporter promises the payload for as long as `view` lives; a strided one is copied with the GIL.
        let publish = || self.shared.publish(&tensor, bytes, stamps, |claim| unsafe { source.fill(claim) });
        let published = match source {
            // Long copies let other threads run; the lock is taken without the GIL then.
            Source::Straight(_) if bytes >= WITHOUT_GIL_FROM_BYTES => py.detach(publish),
            _ => publish(),
        };
        self.answer(py, published, bytes).map(|published| published.seq)
    }

    /// Publishes `arrays[0]`, `arrays[1]`, ... of a C-contiguous array in one call; how many.
    #[pyo3(signature = (arrays, timestamp_ns = Stamp::Now))]
    fn publish_batch(&self, arrays: &Bound<'_, PyAny>, timestamp_ns: Stamp) -> PyResult<usize> {
        let py = arrays.py();
        let view = ArrayView::of(arrays)?;
        let Some(count) = view.shape().first().map(|count| *count as usize) else {
            return Err(wrong(py, "a batch has one dimension more than its frames", &view));
        };
        let (tensor, source) = self.described(py, &view, 1)?;
        if tensor.major_order != ROW_MAJOR || matches!(source, Source::Strided(_)) {
            return Err(wrong(py, "a batch is C-contiguous: use numpy.ascontiguousarray", &view));
        }
        let bytes = view.payload_bytes(py, count.max(1))?;
        let stamps = FrameStamps {
            timestamp: timestamp_ns,
            descriptor_timestamp_ns: None,
            trace_id: 0,
            seq: None,
            position: None,
        };
        let (done, fault) = py.detach(|| {
            for index in 0..count {
                // SAFETY: frame `index` lies within the exported array of `count` frames of `bytes` each.
                let frame = unsafe { source.behind(index * bytes as usize) };
                // SAFETY: as above; the source is straight.
                let fill = |claim: &Claim| unsafe { frame.fill(claim) };
                if let Err(fault) = self.shared.publish(&tensor, bytes, stamps, fill) {
                    return (index, Some(fault));
                }
            }
            (count, None)
        });
        match fault {
            None => Ok(done),
            Some(fault) => Err(self.fault(py, &fault, bytes)),
        }
    }

    /// A slot to fill in place; needs the shape and dtype that the producer was made with, or gives them here.
    #[pyo3(signature = (timestamp_ns = Stamp::Now, *, shape = None, dtype = None, trace_id = 0, seq = None))]
    fn claim(
        &self,
        py: Python<'_>,
        timestamp_ns: Stamp,
        shape: Option<Vec<i64>>,
        dtype: Option<&str>,
        trace_id: u64,
        seq: Option<u64>,
    ) -> PyResult<FrameClaim> {
        let dtype = dtype.map(|name| dtype_number(py, name)).transpose()?.or(self.dtype);
        let shape = shape.map(|shape| checked_shape(py, &shape)).transpose()?.or_else(|| self.shape.clone());
        let (Some(dtype), Some(shape)) = (dtype, shape) else {
            let what = "a claim needs a shape and a dtype, from the producer or from the call";
            return Err(raise(py, "WrongArray", what, &[("stream", self.stream(py)?)]));
        };
        let tensor = Tensor::contiguous(dtype, ROW_MAJOR, &shape);
        let elements = shape.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim as u64));
        let bytes = elements.and_then(|count| count.checked_mul(element_bytes(dtype).unwrap_or(1) as u64));
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(u32::MAX);
        match py.detach(|| self.shared.claim(&tensor, bytes, seq)) {
            Ok((claim, regions)) => {
                let stamps = FrameStamps {
                    timestamp: timestamp_ns,
                    descriptor_timestamp_ns: None,
                    trace_id,
                    seq: None,
                    position: None,
                };
                Ok(FrameClaim::new(Arc::clone(&self.shared), claim, regions, dtype, &shape, stamps))
            }
            Err(fault) => Err(self.fault(py, &fault, bytes)),
        }
    }

    /// Sends a message between the descriptors, in the same place on the shared stream and every consumer's own; False
    /// when it waits for room and goes later, None when too many wait and it was not taken.
    fn send(&self, py: Python<'_>, message: Vec<u8>) -> PyResult<Option<bool>> {
        self.in_between(py, |between| between.hold(message))
    }

    /// The same with a barrier, whoever asks for it; what is injected afterwards has a higher id.
    fn send_barrier(&self, py: Python<'_>, checkpoint_id: u64, epoch: u64, unaligned: bool) -> PyResult<Option<bool>> {
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, unaligned);
        self.in_between(py, |between| {
            between.force(barrier);
            true
        })
    }

    /// Barriers are asked for by this word from now on; with an interval they also come by themselves. None: by none.
    #[pyo3(signature = (word, interval_ns = None))]
    fn inject_by(&self, py: Python<'_>, word: Option<&CommandWord>, interval_ns: Option<u64>) {
        let word = word.map(CommandWord::shared);
        py.detach(|| {
            let between = &mut self.shared.guarded.lock().between;
            match word {
                Some(word) => between.inject_by(word, interval_ns),
                None => between.stop_injecting(),
            }
        });
    }

    /// A coordinator was heard: no barrier comes by itself any more.
    fn leave_to_coordinator(&self, py: Python<'_>) {
        py.detach(|| self.shared.guarded.lock().between.leave_to_coordinator());
    }

    /// Sends what is due and what waited, for a producer that publishes nothing at this moment; one that does sends it
    /// by itself. Id and epoch of the last barrier that was taken and could not be sent, once.
    fn send_due(&self, py: Python<'_>, now_ns: u64) -> Option<(u64, u64)> {
        let lost = py.detach(|| {
            // A frame is being published: the next look, or the next frame, finds what this one would have.
            let mut guard = self.shared.guarded.try_lock()?;
            // Without a writer a command stays where it is.
            if guard.writer.is_some() && guard.between.is_due_at(now_ns) {
                guard.send_between(&self.shared.publication);
            }
            guard.between.take_lost_barrier()
        });
        lost.map(|barrier| (barrier.checkpoint_id, barrier.epoch))
    }

    /// Gives a consumer a descriptor stream of its own, at most `max_rate_hz` descriptors a second; 0: all.
    fn add_branch(&self, py: Python<'_>, consumer_id: u32, publication: &AeronPublication, max_rate_hz: u32) {
        let shortest_interval = if max_rate_hz == 0 { Duration::ZERO } else { Duration::from_secs(1) / max_rate_hz };
        let branch = Branch { consumer_id, publication: publication.shared(), shortest_interval, last: None };
        py.detach(|| {
            let mut guard = self.shared.guarded.lock();
            guard.branches.retain(|branch| branch.consumer_id != consumer_id);
            guard.branches.push(branch);
        });
    }

    /// Takes it away again.
    fn remove_branch(&self, py: Python<'_>, consumer_id: u32) {
        py.detach(|| self.shared.guarded.lock().branches.retain(|branch| branch.consumer_id != consumer_id));
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counters, between, injected) = py.detach(|| {
            let guard = self.shared.guarded.lock();
            (guard.counters.clone(), guard.between.counters(), guard.between.injected())
        });
        let values = PyDict::new(py);
        for (name, value) in [
            ("frames", counters.frames),
            ("bytes", counters.bytes),
            ("descriptors_unheard", counters.descriptors_unheard),
            ("descriptors_lost", counters.descriptors_lost),
            ("branch_descriptors_lost", counters.branch_descriptors_lost),
            ("abandoned", counters.abandoned),
            ("between_sent", between.sent),
            ("between_delayed", between.delayed),
            ("between_lost", between.lost),
            ("branch_between_lost", between.branch_lost),
            ("barriers_sent", between.barriers_sent),
            ("barriers_superseded", between.barriers_superseded),
            ("barriers_injected", injected.barriers_injected),
            ("barrier_duplicates_ignored", injected.duplicates_ignored),
            ("barrier_epochs_raised", injected.epochs_raised),
        ] {
            values.set_item(name, value)?;
        }
        Ok(values)
    }
}

impl PoolProducer {
    /// For the native benchmarks: one frame of bytes, without Python around it.
    pub(crate) fn publish_natively(&self, load: &Load) -> Result<Published, PublishFault> {
        let stamps = FrameStamps {
            timestamp: load.timestamp,
            descriptor_timestamp_ns: None,
            trace_id: 0,
            seq: None,
            position: None,
        };
        self.shared.publish(&load.tensor, load.frame_bytes, stamps, |claim| {
            if let Some(payload) = &load.payload {
                // SAFETY: the payload has `frame_bytes` bytes.
                unsafe { claim.copy_in(payload.as_ptr()) };
            }
            true
        })
    }

    /// Puts a message between the frames; None when it was not taken.
    fn in_between(&self, py: Python<'_>, hold: impl FnOnce(&mut Between) -> bool + Send) -> PyResult<Option<bool>> {
        let answer = py.detach(|| {
            let mut guard = self.shared.guarded.lock();
            guard.writer.as_ref()?;
            // What was asked for before goes before.
            let _ = guard.between.is_due(monotonic_ns);
            let lost = guard.between.counters().lost;
            let is_taken = hold(&mut guard.between);
            let is_sent = guard.send_between(&self.shared.publication);
            Some((is_taken.then_some(is_sent), guard.between.counters().lost != lost))
        });
        let Some((sent, is_lost)) = answer else {
            return Err(self.fault(py, &PublishFault::NotAttached, 0));
        };
        if is_lost {
            self.shared.publication.check_alive(py)?;
            let what = "the descriptor stream is closed, or the message is longer than one of its fragments";
            return Err(raise(py, "BarrierInjectionFailed", what, &[("stream", self.stream(py)?)]));
        }
        Ok(sent)
    }

    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.shared.stream_id.into_pyobject(py)?.into_any())
    }

    /// The tensor of an array's frames, checked against what the producer was made for. `skip` leading dimensions
    /// count frames.
    fn described(&self, py: Python<'_>, view: &ArrayView, skip: usize) -> PyResult<(Tensor, Source)> {
        let dtype = view.dtype(py)?;
        let mut dims = [0_i32; 8];
        let shape = &view.shape()[skip.min(view.shape().len())..];
        // A number without dimensions is a frame of one element.
        let ndims = shape.len().max(1);
        if ndims > 8 {
            return Err(wrong(py, "a frame has at most 8 dimensions", view));
        }
        dims[0] = 1;
        for (dim, length) in dims.iter_mut().zip(shape) {
            *dim = i32::try_from(*length).map_err(|_| wrong(py, "a dimension is at most 2147483647 long", view))?;
        }
        if self.dtype.is_some_and(|wanted| wanted != dtype) {
            return Err(self.mismatch(py, "dtype", view));
        }
        if self.shape.as_deref().is_some_and(|wanted| wanted != &dims[..ndims]) {
            return Err(self.mismatch(py, "shape", view));
        }
        let (order, source) = view.source();
        Ok((Tensor::contiguous(dtype, order, &dims[..ndims]), source))
    }

    fn mismatch(&self, py: Python<'_>, what: &str, view: &ArrayView) -> PyErr {
        let described = || -> PyResult<PyErr> {
            let want_dtype = self.dtype.map_or("any", |number| DTYPE_NAMES[number as usize]);
            let want_shape = self.shape.as_ref().map_or_else(|| "any".to_owned(), |shape| format!("{shape:?}"));
            let facts = [
                ("stream", self.stream(py)?),
                ("want_dtype", want_dtype.into_pyobject(py)?.into_any()),
                ("have_format", view.format().into_pyobject(py)?.into_any()),
                ("want_shape", want_shape.into_pyobject(py)?.into_any()),
                ("have_shape", format!("{:?}", view.shape()).into_pyobject(py)?.into_any()),
            ];
            Ok(raise(py, "WrongArray", &format!("its {what} is not the producer's"), &facts))
        };
        described().unwrap_or_else(|failure| failure)
    }

    fn answer(&self, py: Python<'_>, published: Result<Published, PublishFault>, bytes: u32) -> PyResult<Published> {
        match published {
            Ok(published) => {
                if published.answer <= -4 {
                    self.shared.publication.check_alive(py)?;
                }
                Ok(published)
            }
            Err(fault) => Err(self.fault(py, &fault, bytes)),
        }
    }

    pub(crate) fn fault(&self, py: Python<'_>, fault: &PublishFault, bytes: u32) -> PyErr {
        let described = || -> PyResult<PyErr> {
            let stream = ("stream", self.stream(py)?);
            Ok(match fault {
                PublishFault::NotAttached => raise(py, "NotAttached", "the producer holds no lease now", &[stream]),
                PublishFault::NotCopied => PyErr::take(py)
                    .unwrap_or_else(|| raise(py, "WrongArray", "the array could not be copied", &[stream])),
                PublishFault::Write(WriteFault::TooLarge { limit_bytes }) => {
                    let facts = [
                        stream,
                        ("frame_bytes", bytes.into_pyobject(py)?.into_any()),
                        ("limit_bytes", limit_bytes.into_pyobject(py)?.into_any()),
                    ];
                    raise(py, "FrameTooLarge", "no pool of the stream has slots that large", &facts)
                }
                PublishFault::Write(WriteFault::ClaimOpen | WriteFault::NotOpen) => {
                    raise(py, "RegionBusy", "a claimed frame is not finished yet", &[stream])
                }
                PublishFault::Write(WriteFault::SequenceEnd) => {
                    raise(py, "InvalidValue", "sequences only grow, up to 9223372036854775807", &[stream])
                }
                PublishFault::Write(WriteFault::Tensor(fault)) => {
                    let what = format!("the array cannot be described: {fault:?}");
                    raise(py, "WrongArray", &what, &[stream])
                }
            })
        };
        described().unwrap_or_else(|failure| failure)
    }
}
