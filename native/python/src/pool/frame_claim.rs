// SPDX-License-Identifier: Apache-2.0
//! A frame claim: a slot that a producer fills in place.
//!
//! The array that it gives out points into shared memory. When the block ends, that array is made read-only, so a write
//! after the block raises and does not reach the next frame in the slot. The memory itself stays mapped for as long as
//! the array lives.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::element_bytes;
use framegate_core::pool::writer::Claim;
use framegate_core::unpoisoned;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::frame::FORMATS;
use super::publishing::{Published, Shared};
use super::stamps::FrameStamps;
use crate::errors::raise;

/// A claimed slot, used as a `with` block: leaving the block commits and announces the frame. An exception abandons the
/// frame, and its sequence is used again.
#[pyclass(frozen, module = "framegate._native")]
pub struct FrameClaim {
    producer: Arc<Shared>,
    claim: Claim,
    regions: Arc<Regions>,
    dtype: i16,
    ndim: usize,
    shape: [ffi::Py_ssize_t; 8],
    strides: [ffi::Py_ssize_t; 8],
    stamps: FrameStamps,
    is_open: AtomicBool,
    array: Mutex<Option<Py<PyAny>>>,
}

impl FrameClaim {
    pub(crate) fn new(
        producer: Arc<Shared>,
        claim: Claim,
        regions: Arc<Regions>,
        dtype: i16,
        dims: &[i32],
        stamps: FrameStamps,
    ) -> Self {
        let ndim = dims.len();
        let shape = std::array::from_fn(|index| dims.get(index).map_or(0, |dim| *dim as ffi::Py_ssize_t));
        let mut strides = [0; 8];
        let mut stride = element_bytes(dtype).unwrap_or(1) as ffi::Py_ssize_t;
        for index in (0..ndim).rev() {
            strides[index] = stride;
            stride *= ffi::Py_ssize_t::max(shape[index], 1);
        }
        let (is_open, array) = (AtomicBool::new(true), Mutex::new(None));
        Self { producer, claim, regions, dtype, ndim, shape, strides, stamps, is_open, array }
    }

    /// Ends the claim, once: commits the frame, or abandons it if there are no stamps.
    fn finish(&self, stamps: Option<FrameStamps>) -> Option<Published> {
        if !self.is_open.swap(false, Ordering::AcqRel) {
            return None;
        }
        self.producer.finish(&self.claim, &self.regions, stamps)
    }
}

#[pymethods]
impl FrameClaim {
    /// The frame's sequence, once it is committed.
    #[getter]
    const fn seq(&self) -> u64 {
        self.claim.seq
    }

    /// The epoch of the regions that the frame lies in.
    #[getter]
    fn epoch(&self) -> u64 {
        self.regions.epoch
    }

    /// The slot's payload as a writable numpy array.
    #[getter]
    fn array(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let (py, claim) = (slf.py(), slf.get());
        if let Some(array) = unpoisoned(&claim.array).as_ref() {
            return Ok(array.clone_ref(py));
        }
        let asarray =
            ASARRAY.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr("asarray")?.unbind()))?;
        let array = asarray.call1(py, (slf,))?;
        *unpoisoned(&claim.array) = Some(array.clone_ref(py));
        Ok(array)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyType>>,
        _error: Option<&Bound<'_, PyAny>>,
        _trace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let array = unpoisoned(&self.array).take();
        if let Some(array) = array {
            array.getattr(py, "flags")?.setattr(py, "writeable", false)?;
        }
        let was_open = self.is_open.load(Ordering::Acquire);
        let stamps = kind.is_none().then_some(self.stamps);
        let published = py.detach(|| self.finish(stamps));
        if kind.is_none() && was_open && published.is_none() {
            return Err(raise(py, "NotAttached", "the lease was lost while the frame was being filled", &[]));
        }
        Ok(())
    }

    /// # Safety
    /// Called by CPython with a `Py_buffer` of its own.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let claim = slf.get();
        if !claim.is_open.load(Ordering::Acquire) {
            return Err(PyBufferError::new_err("the frame was committed or abandoned before"));
        }
        if flags & ffi::PyBUF_STRIDES != ffi::PyBUF_STRIDES {
            return Err(PyBufferError::new_err("a claimed frame is given with its shape and strides only"));
        }
        // SAFETY: CPython passes a Py_buffer to fill. The payload is `values_bytes` long and stays mapped with
        // `regions`, which `obj` keeps alive, as it does shape and strides.
        unsafe {
            (*view).buf = claim.claim.payload.cast::<c_void>();
            (*view).len = claim.claim.values_bytes as ffi::Py_ssize_t;
            (*view).itemsize = element_bytes(claim.dtype).unwrap_or(1) as ffi::Py_ssize_t;
            (*view).readonly = 0;
            (*view).ndim = claim.ndim as c_int;
            (*view).format = if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                FORMATS[claim.dtype as usize].as_ptr().cast_mut().cast()
            } else {
                std::ptr::null_mut()
            };
            (*view).shape = claim.shape.as_ptr().cast_mut();
            (*view).strides = claim.strides.as_ptr().cast_mut();
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }

    /// # Safety
    /// Called by CPython with a `Py_buffer` that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {}
}

impl Drop for FrameClaim {
    fn drop(&mut self) {
        // A claim that was never finished must not block its producer.
        self.finish(None);
    }
}
