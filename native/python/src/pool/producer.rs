// SPDX-License-Identifier: Apache-2.0
//! The producer for Python: it takes arrays, checks them, and publishes them as frames.

use std::sync::Arc;

use framegate_checkpoint::between::{Between, SentBarrier};
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::clock::monotonic_ns;
use framegate_core::pool::layout::NULL_META_VERSION;
use framegate_core::pool::tensor::{ROW_MAJOR, Tensor, element_bytes};
use framegate_core::pool::writer::{Claim, Writer};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array_view::{ArrayView, Source, checked_shape, dtype_number, wrong};
use super::branch::Branch;
use super::frame_claim::FrameClaim;
use super::pace::Pace;
use super::publishing::{Guarded, PublishFault, Shared};
use super::regions::PoolRegions;
use super::stamps::{FrameStamps, Stamp};
use crate::aeron::{AeronPublication, AeronSubscription};
use crate::checkpoint::CommandWord;
use crate::errors::raise;

/// From this size on, copying takes longer than releasing and taking the GIL.
const WITHOUT_GIL_FROM_BYTES: u32 = 64 * 1024;

/// The native producer; users hold it as `framegate.shmpool.producer.producer.Producer`.
#[pyclass(frozen, module = "framegate._native")]
pub struct PoolProducer {
    pub(super) shared: Arc<Shared>,
    /// What every frame must be; None accepts any array.
    pub(super) dtype: Option<i16>,
    pub(super) shape: Option<Vec<i32>>,
    /// Whether frames without a given time are stamped by the realtime clock.
    is_realtime: bool,
}

#[pymethods]
impl PoolProducer {
    #[new]
    #[pyo3(signature = (publication, stream_id, *, dtype, shape, pace = None, is_realtime = false))]
    fn new(
        py: Python<'_>,
        publication: &AeronPublication,
        stream_id: u32,
        dtype: Option<&str>,
        shape: Option<Vec<i64>>,
        pace: Option<&AeronSubscription>,
        is_realtime: bool,
    ) -> PyResult<Self> {
        let dtype = dtype.map(|name| dtype_number(py, name)).transpose()?;
        let shape = shape.map(|shape| checked_shape(py, &shape)).transpose()?;
        let guarded = Guarded::new(Pace::new(pace.map(AeronSubscription::shared)));
        let shared = Arc::new(Shared::new(guarded, publication.shared(), stream_id));
        Ok(Self { shared, dtype, shape, is_realtime })
    }

    /// Writes into these regions from now on, beginning with sequence 0.
    fn attach(&self, py: Python<'_>, regions: &PoolRegions) -> PyResult<()> {
        let regions = regions.mapped(py)?;
        let writer = Writer::new(regions, Tensor::contiguous(1, ROW_MAJOR, &[0]));
        py.detach(|| self.shared.guarded.lock().change_writer(Some(writer)));
        Ok(())
    }

    /// Drops the regions, because the lease is gone. Publishing raises until the next `attach`.
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

    /// The last frame that was announced in this epoch; None if there is none.
    #[getter]
    fn last_seq(&self, py: Python<'_>) -> Option<u64> {
        py.detach(|| self.shared.guarded.lock().last_seq)
    }

    /// Sets the position of the source. Published frames can advance it.
    fn set_position(&self, py: Python<'_>, position: u64) {
        py.detach(|| self.shared.guarded.lock().position = position);
    }

    /// The barriers that were sent since the last call, oldest first: id, epoch, the regions' epoch, the frame before
    /// the barrier, and the position of the source there. Only the newest 16 are kept.
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

    /// Sets the metadata version that later frames refer to; None for no version.
    fn set_meta_version(&self, py: Python<'_>, version: Option<u32>) {
        py.detach(|| self.shared.guarded.lock().meta_version = version.unwrap_or(NULL_META_VERSION));
    }

    /// Copies an array into a slot and announces it. Returns its sequence.
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
        let timestamp = timestamp_ns.by(self.is_realtime);
        let stamps = FrameStamps { timestamp, descriptor_timestamp_ns, trace_id, seq, position };
        // SAFETY: the exporter promises the payload for as long as `view` lives; a strided one is copied with the GIL.
        let publish = || self.shared.publish(&tensor, bytes, stamps, |claim| unsafe { source.fill(claim) });
        let published = match source {
            // Long copies let other Python threads run: the lock is taken without the GIL then.
            Source::Straight(_) if bytes >= WITHOUT_GIL_FROM_BYTES => py.detach(publish),
            _ => publish(),
        };
        self.answer(py, published, bytes).map(|published| published.seq)
    }

    /// Publishes `arrays[0]`, `arrays[1]`, ... of a C-contiguous array in one call. Returns how many were published.
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
            timestamp: timestamp_ns.by(self.is_realtime),
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

    /// Claims a slot to fill in place. Its shape and dtype come from the producer, or from this call.
    #[pyo3(signature = (
        timestamp_ns = Stamp::Now, *, shape = None, dtype = None, descriptor_timestamp_ns = None, trace_id = 0,
        seq = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn claim(
        &self,
        py: Python<'_>,
        timestamp_ns: Stamp,
        shape: Option<Vec<i64>>,
        dtype: Option<&str>,
        descriptor_timestamp_ns: Option<u64>,
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
                    timestamp: timestamp_ns.by(self.is_realtime),
                    descriptor_timestamp_ns,
                    trace_id,
                    seq: None,
                    position: None,
                };
                Ok(FrameClaim::new(Arc::clone(&self.shared), claim, regions, dtype, &shape, stamps))
            }
            Err(fault) => Err(self.fault(py, &fault, bytes)),
        }
    }

    /// Sends a message between the descriptors, at the same place of the shared stream and of every consumer's own
    /// stream. Returns False if it waits for space and is sent later, and None if too many wait and it was not taken.
    fn send(&self, py: Python<'_>, message: Vec<u8>) -> PyResult<Option<bool>> {
        self.in_between(py, |between| between.hold(message))
    }

    /// Sends a barrier like `send`, but takes it always. Barriers that are injected later have a higher id.
    fn send_barrier(&self, py: Python<'_>, checkpoint_id: u64, epoch: u64, unaligned: bool) -> PyResult<Option<bool>> {
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, unaligned);
        self.in_between(py, |between| {
            between.force(barrier);
            true
        })
    }

    /// Sets the command word through which barriers are requested. With an interval they also come by themselves. None
    /// stops both.
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

    /// Stops barriers that come by themselves, because a coordinator was heard.
    fn leave_to_coordinator(&self, py: Python<'_>) {
        py.detach(|| self.shared.guarded.lock().between.leave_to_coordinator());
    }

    /// Sends what is due and what waited, for a producer that is publishing nothing at this moment; publishing a frame
    /// does the same. Returns the id and epoch of the last barrier that was taken and could not be sent, once.
    fn send_due(&self, py: Python<'_>, now_ns: u64) -> Option<(u64, u64)> {
        let lost = py.detach(|| {
            // If the lock is taken, a frame is being published. Then that frame, or the next call, sends what is due.
            let mut guard = self.shared.guarded.try_lock()?;
            // Without a writer a command stays in its word.
            if guard.writer.is_some() && guard.between.is_due_at(now_ns) {
                guard.send_between(&self.shared.publication);
            }
            guard.between.take_lost_barrier()
        });
        lost.map(|barrier| (barrier.checkpoint_id, barrier.epoch))
    }

    /// Gives a consumer a descriptor stream of its own, with at most `max_rate_hz` descriptors a second; 0 sends all.
    fn add_branch(&self, py: Python<'_>, consumer_id: u32, publication: &AeronPublication, max_rate_hz: u32) {
        let branch = Branch::new(consumer_id, publication.shared(), max_rate_hz);
        py.detach(|| {
            let mut guard = self.shared.guarded.lock();
            guard.branches.retain(|branch| branch.consumer_id != consumer_id);
            guard.branches.push(branch);
        });
    }

    /// Removes a consumer's own descriptor stream.
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
    /// Puts a message between the frames. Returns None if it was not taken.
    fn in_between(&self, py: Python<'_>, hold: impl FnOnce(&mut Between) -> bool + Send) -> PyResult<Option<bool>> {
        let answer = py.detach(|| {
            let mut guard = self.shared.guarded.lock();
            guard.writer.as_ref()?;
            // Barriers that were requested earlier are sent earlier.
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

    pub(super) fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.shared.stream_id().into_pyobject(py)?.into_any())
    }

    /// The tensor of the array's frames, checked against the dtype and shape of the producer. The first `skip`
    /// dimensions count frames.
    fn described(&self, py: Python<'_>, view: &ArrayView, skip: usize) -> PyResult<(Tensor, Source)> {
        let dtype = view.dtype(py)?;
        let mut dims = [0_i32; 8];
        let shape = &view.shape()[skip.min(view.shape().len())..];
        // A number without dimensions becomes a frame of one element.
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
}
