// SPDX-License-Identifier: Apache-2.0
//! The frames of one poll. A `Frame` object is made only when it is asked for, so a caller that only counts frames,
//! or picks by time, does not pay for objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::CheckedTensor;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PySlice, PyTuple, PyType};

use super::frame::{Found, Frame};

/// How many frames a new batch reserves memory for at most; a larger batch grows.
const ROOM_MAX: usize = 64;

/// Frames that arrived together, oldest first: a sequence of `Frame`.
///
/// `seqs` and `timestamps` are columns over all frames, made without a `Frame` for each.
#[pyclass(frozen, sequence, module = "framegate._native")]
#[derive(Default)]
pub struct FrameBatch {
    frames: Vec<Found>,
    runs: Vec<Run>,
    room: usize,
}

/// What successive frames of one epoch and tensor have in common. One poll may bring frames of two epochs.
struct Run {
    first: usize,
    /// Keeps the payloads mapped while this run, or a frame made from it, is alive.
    regions: Arc<Regions>,
    tensor_id: u64,
    tensor: CheckedTensor,
}

impl Run {
    #[inline]
    fn has(&self, tensor_id: u64, regions: &Arc<Regions>) -> bool {
        self.tensor_id == tensor_id && Arc::ptr_eq(&self.regions, regions)
    }
}

impl FrameBatch {
    /// Makes an empty batch that has not allocated memory yet.
    pub(crate) fn with_room(frames: usize) -> Self {
        Self { room: frames.min(ROOM_MAX), ..Self::default() }
    }

    // Inlined always, so that nothing takes the frame by its address and its fields go from registers straight to their
    // place.
    #[inline(always)]
    pub(crate) fn push(&mut self, found: Found, regions: &Arc<Regions>, tensor: &CheckedTensor) {
        let tensor_id = found.frame.header.tensor_id;
        if self.runs.last().is_none_or(|run| !run.has(tensor_id, regions)) {
            self.begin_run(tensor_id, regions, tensor);
        }
        self.frames.push(found);
    }

    #[cold]
    fn begin_run(&mut self, tensor_id: u64, regions: &Arc<Regions>, tensor: &CheckedTensor) {
        if self.frames.is_empty() {
            self.frames.reserve(self.room);
        }
        let first = self.frames.len();
        self.runs.push(Run { first, regions: Arc::clone(regions), tensor_id, tensor: *tensor });
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn get(&self, index: usize) -> Option<(&Found, &Run)> {
        let found = self.frames.get(index)?;
        let run = self.runs[..self.runs.partition_point(|run| run.first <= index)].last()?;
        Some((found, run))
    }

    fn frame<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, Frame>>> {
        let made = self.get(index).map(|(found, run)| Frame::new(*found, Arc::clone(&run.regions), run.tensor));
        made.map(|frame| Bound::new(py, frame)).transpose()
    }

    /// A column of `u64`, which numpy can use without a conversion.
    fn column<'py>(&self, py: Python<'py>, value: impl Fn(&Found) -> u64) -> PyResult<Bound<'py, PyAny>> {
        let bytes = PyBytes::new_with(py, size_of::<u64>() * self.frames.len(), |bytes| {
            for (cell, found) in bytes.chunks_exact_mut(size_of::<u64>()).zip(&self.frames) {
                cell.copy_from_slice(&value(found).to_ne_bytes());
            }
            Ok(())
        })?;
        PyMemoryView::from(bytes.as_any())?.call_method1("cast", ("Q",))
    }
}

#[pymethods]
impl FrameBatch {
    /// Makes a batch of existing frames.
    #[new]
    #[pyo3(signature = (frames = None))]
    fn new(frames: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut batch = Self::with_room(ROOM_MAX);
        for frame in frames.map(|frames| frames.try_iter()).transpose()?.into_iter().flatten() {
            let frame = frame?.cast_into::<Frame>()?;
            let (found, regions, tensor) = frame.get().parts();
            batch.push(*found, regions, tensor);
        }
        Ok(batch)
    }

    fn __len__(&self) -> usize {
        self.frames.len()
    }

    /// The frame at an index; for a slice, a batch.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, count) = (key.py(), self.frames.len());
        if let Ok(slice) = key.cast::<PySlice>() {
            let slice = slice.indices(count as isize)?;
            let mut part = Self::with_room(slice.slicelength);
            for step in 0..slice.slicelength as isize {
                let index = (slice.start + step * slice.step) as usize;
                if let Some((found, run)) = self.get(index) {
                    part.push(*found, &run.regions, &run.tensor);
                }
            }
            return Ok(Bound::new(py, part)?.into_any());
        }
        let index: isize =
            key.extract().map_err(|_| PyTypeError::new_err("a batch is indexed by a number or a slice"))?;
        let index = if index < 0 { index.checked_add_unsigned(count) } else { Some(index) };
        let frame = index.and_then(|index| usize::try_from(index).ok()).map(|index| self.frame(py, index));
        match frame.transpose()?.flatten() {
            Some(frame) => Ok(frame.into_any()),
            None => Err(PyIndexError::new_err("the batch has fewer frames")),
        }
    }

    fn __iter__(slf: Py<Self>) -> FrameBatchIterator {
        FrameBatchIterator { batch: slf, next: AtomicUsize::new(0) }
    }

    /// Whether another batch or list holds the same frames in the same order.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = other.py();
        if other.cast::<Self>().is_err() && other.cast::<PyList>().is_err() {
            return Ok(false);
        }
        self.list(py)?.eq(PyList::new(py, other.try_iter()?.collect::<PyResult<Vec<_>>>()?)?)
    }

    /// The index of a frame. Raises `ValueError` if the batch does not hold it.
    #[pyo3(signature = (value, *bounds))]
    fn index<'py>(&self, value: &Bound<'py, PyAny>, bounds: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let arguments = std::iter::once(value.clone()).chain(bounds.iter());
        self.list(py)?.call_method1("index", PyTuple::new(py, arguments.collect::<Vec<_>>())?)
    }

    fn count<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.list(value.py())?.call_method1("count", (value,))
    }

    /// The frames' sequences.
    #[getter]
    fn seqs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |found| found.frame.seq)
    }

    /// The frames' capture times; 2**64 - 1 for a frame without one.
    #[getter]
    fn timestamps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |found| found.frame.header.timestamp_ns)
    }

    /// The epoch of the last frame; None if the batch is empty.
    #[getter]
    fn epoch(&self) -> Option<u64> {
        self.runs.last().map(|run| run.regions.epoch)
    }

    /// How many of the frames have not been overwritten yet.
    fn valid(&self) -> usize {
        self.frames.iter().filter(|found| found.frame.is_valid()).count()
    }

    fn __repr__(&self) -> String {
        let seq = |found: Option<&Found>| found.map_or_else(|| "-".to_owned(), |found| found.frame.seq.to_string());
        let (first, last) = (seq(self.frames.first()), seq(self.frames.last()));
        format!("FrameBatch({} frames, seq {first} .. {last})", self.frames.len())
    }
}

impl FrameBatch {
    /// Makes the class a `collections.abc.Sequence`, as its methods say.
    pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
        py.import("collections.abc")?.getattr("Sequence")?.call_method1("register", (PyType::new::<Self>(py),))?;
        Ok(())
    }

    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let frames = (0..self.frames.len()).filter_map(|index| self.frame(py, index).transpose());
        PyList::new(py, frames.collect::<PyResult<Vec<_>>>()?)
    }
}

/// Iterates over the frames of a batch.
#[pyclass(frozen, module = "framegate._native")]
pub struct FrameBatchIterator {
    batch: Py<FrameBatch>,
    next: AtomicUsize,
}

#[pymethods]
impl FrameBatchIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Frame>>> {
        self.batch.get().frame(py, self.next.fetch_add(1, Ordering::Relaxed))
    }
}
