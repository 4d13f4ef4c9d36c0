// SPDX-License-Identifier: Apache-2.0
//! The arrays that can be published as frames: their description by Python's buffer protocol, and how they are
//! copied into a slot.

use framegate_core::pool::tensor::{COLUMN_MAJOR, ROW_MAJOR};
use framegate_core::pool::writer::Claim;
use pyo3::ffi;
use pyo3::prelude::*;

use super::frame::DTYPE_NAMES;
use crate::buffer::ExportedBuffer;
use crate::errors::raise;

/// An array that the buffer protocol describes. It stays exported as long as this object lives.
pub(super) struct ArrayView(ExportedBuffer);

impl ArrayView {
    pub(super) fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = ExportedBuffer::of(array, ffi::PyBUF_FULL_RO).or_else(|why| {
            let py = array.py();
            let reason = why.value(py).to_string().into_pyobject(py)?.into_any();
            Err(raise(py, "WrongArray", "a frame is a numpy array, or a buffer like one", &[("reason", reason)]))
        })?;
        Ok(Self(view))
    }

    pub(super) fn shape(&self) -> &[ffi::Py_ssize_t] {
        self.0.shape()
    }

    pub(super) fn format(&self) -> String {
        String::from_utf8_lossy(self.0.format()).into_owned()
    }

    /// The dtype number of the array. Only native byte order has one.
    pub(super) fn dtype(&self, py: Python<'_>) -> PyResult<i16> {
        let code = match self.0.format() {
            [code] | [b'@' | b'=' | b'<' | b'|', code] => *code,
            _ => 0,
        };
        // Whether `l` and `q` (and `L` and `Q`) have the same width depends on the machine, so the size decides.
        let number = match (code, self.0.view().itemsize) {
            (b'B', 1) => 1,
            (b'b', 1) => 2,
            (b'H', 2) => 3,
            (b'h', 2) => 4,
            (b'I' | b'L', 4) => 5,
            (b'i' | b'l', 4) => 6,
            (b'L' | b'Q', 8) => 7,
            (b'l' | b'q', 8) => 8,
            (b'f', 4) => 9,
            (b'd', 8) => 10,
            (b'?', 1) => 11,
            _ => 0,
        };
        if number == 0 {
            let what = "frames are of bool, or of 8 to 64-bit integers and 32 or 64-bit floats, of this byte order";
            return Err(wrong(py, what, self));
        }
        Ok(number)
    }

    /// The bytes of one payload, if the array holds `frames` of them.
    pub(super) fn payload_bytes(&self, py: Python<'_>, frames: usize) -> PyResult<u32> {
        let bytes = self.0.view().len as usize / frames;
        u32::try_from(bytes).map_err(|_| wrong(py, "a frame is at most 4 GiB", self))
    }

    pub(super) fn source(&self) -> (i16, Source) {
        let view = self.0.view();
        if self.0.is_contiguous(b'C') {
            (ROW_MAJOR, Source::Straight(view.buf.cast()))
        } else if self.0.is_contiguous(b'F') {
            (COLUMN_MAJOR, Source::Straight(view.buf.cast()))
        } else {
            (ROW_MAJOR, Source::Strided(view))
        }
    }
}

/// Where a payload comes from; the pointers are valid for the call.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// One contiguous piece of memory in the order of the frame.
    Straight(*const u8),
    /// Any other layout that numpy can describe. It is copied element by element into row order.
    Strided(*const ffi::Py_buffer),
}

// SAFETY: the buffer is exported for as long as the call that holds it, whichever thread copies.
unsafe impl Send for Source {}
// SAFETY: as above; it is only read.
unsafe impl Sync for Source {}

impl Source {
    /// # Safety
    /// A straight source must have that many bytes, or be one past its end.
    pub(super) unsafe fn behind(self, bytes: usize) -> Self {
        match self {
            // SAFETY: the caller's contract.
            Self::Straight(start) => Self::Straight(unsafe { start.add(bytes) }),
            Self::Strided(_) => self,
        }
    }

    /// Copies the payload into a claimed slot. Returns whether all of it could be copied.
    ///
    /// # Safety
    /// The source must have the claim's bytes, and the GIL be held for a strided one.
    #[inline]
    pub(super) unsafe fn fill(self, claim: &Claim) -> bool {
        match self {
            Self::Straight(start) => {
                // SAFETY: the caller's contract; the slot has room for the claim's bytes.
                unsafe { claim.copy_in(start) };
                true
            }
            Self::Strided(view) => {
                let bytes = claim.values_bytes as ffi::Py_ssize_t;
                // SAFETY: as above.
                unsafe { ffi::PyBuffer_ToContiguous(claim.payload.cast(), view, bytes, b'C' as _) == 0 }
            }
        }
    }
}

/// The number of a dtype, by its name.
pub(super) fn dtype_number(py: Python<'_>, name: &str) -> PyResult<i16> {
    let known = DTYPE_NAMES.iter().position(|known| !known.is_empty() && *known == name);
    known.map(|number| number as i16).ok_or_else(|| {
        let fact = name.into_pyobject(py).map_or_else(|never| match never {}, Bound::into_any);
        let what =
            "frames are of bool, or of 8 to 64-bit integers and 32 or 64-bit floats of this machine's byte order";
        raise(py, "WrongArray", what, &[("dtype", fact)])
    })
}

/// Checks that a frame may have this shape.
pub(super) fn checked_shape(py: Python<'_>, shape: &[i64]) -> PyResult<Vec<i32>> {
    let dims: Option<Vec<i32>> = shape.iter().map(|dim| i32::try_from(*dim).ok().filter(|dim| *dim >= 0)).collect();
    dims.filter(|dims| (1..=8).contains(&dims.len())).ok_or_else(|| {
        let fact = format!("{shape:?}").into_pyobject(py).map_or_else(|never| match never {}, Bound::into_any);
        raise(py, "WrongArray", "a frame has 1 to 8 dimensions of 0 to 2147483647 elements", &[("shape", fact)])
    })
}

/// Builds a WrongArray error that describes the array.
pub(super) fn wrong(py: Python<'_>, what: &str, view: &ArrayView) -> PyErr {
    let described = || -> PyResult<PyErr> {
        let facts = [
            ("have_format", view.format().into_pyobject(py)?.into_any()),
            ("have_shape", format!("{:?}", view.shape()).into_pyobject(py)?.into_any()),
        ];
        Ok(raise(py, "WrongArray", what, &facts))
    };
    described().unwrap_or_else(|failure| failure)
}
