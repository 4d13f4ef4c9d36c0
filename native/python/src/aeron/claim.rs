// SPDX-License-Identifier: Apache-2.0
//! Room in the log for one message, lent to Python as a writable buffer.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyType};
use rusteron_client::AeronBufferClaim;

use super::events::unpoisoned;
use super::publication::Shared;
use crate::errors::raise;

/// A claim moves with the object that holds it; Aeron ties it to no thread.
struct OpenClaim(AeronBufferClaim);
// SAFETY: the claim is two pointers into the log and a length. The log outlives it, because `Shared` refuses
// to close with a claim open, and the mutex around it lets one thread at a time use it.
unsafe impl Send for OpenClaim {}

/// Leaving the `with` block commits; an exception abandons. Until then the messages behind it wait.
#[pyclass(frozen, module = "framegate._native")]
pub struct AeronClaim {
    claim: std::sync::Mutex<Option<OpenClaim>>,
    data: AtomicPtr<u8>,
    length: usize,
    /// Views that Python holds of the room. The room is given back only when there are none.
    exports: AtomicI32,
    view: std::sync::Mutex<Option<Py<PyMemoryView>>>,
    publication: Arc<Shared>,
    #[pyo3(get)]
    position: i64,
}

impl AeronClaim {
    pub(crate) fn new(mut claim: AeronBufferClaim, position: i64, publication: Arc<Shared>) -> Self {
        let room = claim.data_mut();
        let (data, length) = (AtomicPtr::new(room.as_mut_ptr()), room.len());
        publication.open_claims.fetch_add(1, Ordering::AcqRel);
        Self {
            claim: std::sync::Mutex::new(Some(OpenClaim(claim))),
            data,
            length,
            exports: AtomicI32::new(0),
            view: std::sync::Mutex::new(None),
            publication,
            position,
        }
    }

    /// Gives the room back, once; whether it was this call.
    fn finish(&self, commit: bool) -> bool {
        let Some(OpenClaim(claim)) = unpoisoned(&self.claim).take() else {
            return false;
        };
        let done = if commit { claim.commit() } else { claim.abort() };
        self.data.store(std::ptr::null_mut(), Ordering::Release);
        self.publication.open_claims.fetch_sub(1, Ordering::AcqRel);
        done.is_ok()
    }
}

#[pymethods]
impl AeronClaim {
    fn __enter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyMemoryView>> {
        let claim = slf.get();
        if claim.data.load(Ordering::Acquire).is_null() {
            return Err(raise(slf.py(), "TransportClosed", "the claim was committed or abandoned before", &[]));
        }
        let view = PyMemoryView::from(slf.as_any())?.unbind();
        *unpoisoned(&claim.view) = Some(view.clone_ref(slf.py()));
        Ok(view)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyType>>,
        _error: Option<&Bound<'_, PyAny>>,
        _trace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if let Some(view) = unpoisoned(&self.view).take() {
            // Fails when arrays made of the view are alive; `exports` says so below.
            let _ = view.call_method0(py, "release");
        }
        let is_lent = self.exports.load(Ordering::Acquire) > 0;
        self.finish(kind.is_none() && !is_lent);
        if is_lent && kind.is_none() {
            let views = self.exports.load(Ordering::Acquire).into_pyobject(py)?.into_any();
            return Err(raise(
                py,
                "ClaimStillViewed",
                "an array or view of the claimed room outlives its block: the message was abandoned",
                &[("views", views)],
            ));
        }
        Ok(())
    }

    /// # Safety
    /// Called by CPython with a `Py_buffer` of its own.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let claim = slf.get();
        let data = claim.data.load(Ordering::Acquire);
        if data.is_null() {
            return Err(PyBufferError::new_err("the claim was committed or abandoned before"));
        }
        let length = claim.length as ffi::Py_ssize_t;
        // SAFETY: `data` points at `length` writable bytes of the log for as long as the claim is open, and
        // an export counted below keeps it from being committed under a view.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), data.cast::<c_void>(), length, 0, flags) };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        claim.exports.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// # Safety
    /// Called by CPython with a `Py_buffer` that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.exports.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for AeronClaim {
    fn drop(&mut self) {
        // A claim that was never entered must not hold up the stream.
        self.finish(false);
    }
}
