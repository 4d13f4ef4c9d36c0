// SPDX-License-Identifier: Apache-2.0
//! A buffer of Python's buffer protocol, borrowed for the time of one call.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;

/// A buffer that Python exported; dropping it releases it. It is made and dropped inside one call from Python, with the
/// GIL held. Its memory may be read without the GIL meanwhile, because an exporter cannot resize what is exported.
pub(crate) struct ExportedBuffer(ffi::Py_buffer);

impl ExportedBuffer {
    /// Asks `object` for a buffer with these flags. An error is the exporter's own.
    pub(crate) fn of(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = MaybeUninit::<ffi::Py_buffer>::zeroed();
        // SAFETY: `view` is a zeroed Py_buffer of ours, which the exporter fills or leaves alone.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: PyObject_GetBuffer returned success, so it filled the struct.
        Ok(Self(unsafe { view.assume_init() }))
    }

    /// The `Py_buffer` struct itself.
    pub(crate) const fn view(&self) -> &ffi::Py_buffer {
        &self.0
    }

    /// The bytes of the buffer. It must have been requested contiguous.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.0.len == 0 {
            return &[];
        }
        // SAFETY: the exporter promises `len` readable bytes at `buf` until the release in Drop.
        unsafe { std::slice::from_raw_parts(self.0.buf.cast::<u8>(), self.0.len as usize) }
    }

    /// The bytes of the buffer, for writing. It must have been requested contiguous and writable.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        if self.0.len == 0 || self.0.readonly != 0 {
            return &mut [];
        }
        // SAFETY: the exporter promises `len` writable bytes at `buf` until the release in Drop.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf.cast::<u8>(), self.0.len as usize) }
    }

    /// The length of each dimension. The buffer must have been requested with its shape.
    pub(crate) fn shape(&self) -> &[ffi::Py_ssize_t] {
        if self.0.shape.is_null() || self.0.ndim == 0 {
            return &[];
        }
        // SAFETY: the exporter gives `ndim` lengths, valid until the release.
        unsafe { std::slice::from_raw_parts(self.0.shape, self.0.ndim as usize) }
    }

    /// The struct-module format of its items; `B` if the exporter gives none.
    pub(crate) fn format(&self) -> &[u8] {
        if self.0.format.is_null() {
            return b"B";
        }
        // SAFETY: a NUL-terminated string of the exporter's, valid until the release.
        unsafe { std::ffi::CStr::from_ptr(self.0.format) }.to_bytes()
    }

    /// Whether the items lie back to back in row order (`b'C'`) or column order (`b'F'`).
    pub(crate) fn is_contiguous(&self, order: u8) -> bool {
        // SAFETY: asks about a filled Py_buffer.
        unsafe { ffi::PyBuffer_IsContiguous(&self.0, order as _) != 0 }
    }
}

impl Drop for ExportedBuffer {
    fn drop(&mut self) {
        // SAFETY: filled by PyObject_GetBuffer and released once; the GIL is held, see the type.
        unsafe { ffi::PyBuffer_Release(&mut self.0) };
    }
}
