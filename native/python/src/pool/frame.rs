// SPDX-License-Identifier: Apache-2.0
//! One frame: a view of a slot that the producer may overwrite at any time.

use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use framegate_core::pool::copy::CopyKind;
use framegate_core::pool::layout::{NULL_META_VERSION, NULL_TIMESTAMP};
use framegate_core::pool::reader::FrameRef;
use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::{CheckedTensor, element_bytes};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::errors::raise;

/// The struct-module formats by dtype number, NUL-terminated. They are the formats of numpy arrays of the same type.
pub(crate) const FORMATS: [&[u8]; 15] = [
    b"\0", b"B\0", b"b\0", b"H\0", b"h\0", b"I\0", b"i\0", b"Q\0", b"q\0", b"f\0", b"d\0", b"?\0", b"\0", b"B\0",
    b"?\0",
];
/// The dtype names as numpy writes them. BYTES are uint8, and BIT is one byte for each element, as both other
/// implementations have it.
pub(crate) const DTYPE_NAMES: [&str; 15] = [
    "", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "bool", "",
    "uint8", "bool",
];

// CPython reads the strides in place.
const _: () = assert!(size_of::<ffi::Py_ssize_t>() == size_of::<i64>());

/// A frame that was read, with what its descriptor said of it.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) frame: FrameRef,
    pub(crate) descriptor_timestamp_ns: u64,
    pub(crate) trace_id: u64,
}

/// One frame of a stream. `array` is a view of shared memory: check `is_valid` after use, or `copy`.
#[pyclass(frozen, module = "framegate._native")]
pub struct Frame {
    found: Found,
    /// Keeps the payload mapped while this frame, or an array made from it, is alive.
    regions: Arc<Regions>,
    tensor: CheckedTensor,
    shape: [ffi::Py_ssize_t; 8],
    #[pyo3(get)]
    stream_id: u32,
    #[pyo3(get)]
    epoch: u64,
}

impl Frame {
    pub(crate) fn new(found: Found, regions: Arc<Regions>, tensor: CheckedTensor) -> Self {
        let shape = tensor.tensor.dims.map(|dim| dim as ffi::Py_ssize_t);
        let (stream_id, epoch) = (regions.stream_id, regions.epoch);
        Self { found, regions, tensor, shape, stream_id, epoch }
    }

    /// What the frame was made from.
    pub(crate) const fn parts(&self) -> (&Found, &Arc<Regions>, &CheckedTensor) {
        (&self.found, &self.regions, &self.tensor)
    }

    fn identity(&self) -> (u32, u64, u64) {
        (self.stream_id, self.epoch, self.found.frame.seq)
    }

    fn ndim(&self) -> usize {
        usize::from(self.tensor.tensor.ndims)
    }

    fn dtype_number(&self) -> usize {
        // The dtype was checked when the frame was read: it is one of the numbers with an element size.
        self.tensor.tensor.dtype as usize
    }

    fn lapped(&self, py: Python<'_>) -> PyErr {
        let described = || -> PyResult<PyErr> {
            let facts = [
                ("stream", self.stream_id.into_pyobject(py)?.into_any()),
                ("want_seq", self.found.frame.seq.into_pyobject(py)?.into_any()),
                ("have_seq", self.found.frame.slot_seq().into_pyobject(py)?.into_any()),
            ];
            Ok(raise(py, "SlotLapped", "the producer overwrote the frame", &facts))
        };
        described().unwrap_or_else(|failure| failure)
    }
}

fn numpy(py: Python<'_>, name: &str, cell: &'static PyOnceLock<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    let function = cell.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr(name)?.unbind()))?;
    Ok(function.clone_ref(py))
}

#[pymethods]
impl Frame {
    #[getter]
    fn seq(&self) -> u64 {
        self.found.frame.seq
    }

    /// Capture time; None if the producer gave none.
    #[getter]
    fn timestamp_ns(&self) -> Option<u64> {
        Some(self.found.frame.header.timestamp_ns).filter(|stamp| *stamp != NULL_TIMESTAMP)
    }

    /// Publish time; None if the producer gave none, which is usual.
    #[getter]
    fn descriptor_timestamp_ns(&self) -> Option<u64> {
        Some(self.found.descriptor_timestamp_ns).filter(|stamp| *stamp != NULL_TIMESTAMP)
    }

    #[getter]
    fn meta_version(&self) -> Option<u32> {
        Some(self.found.frame.header.meta_version).filter(|version| *version != NULL_META_VERSION)
    }

    #[getter]
    fn trace_id(&self) -> Option<u64> {
        Some(self.found.trace_id).filter(|id| *id != 0)
    }

    /// The size of the payload in bytes.
    #[getter]
    fn nbytes(&self) -> u32 {
        self.found.frame.header.values_bytes
    }

    /// The name of the dtype, as numpy writes it.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, DTYPE_NAMES[self.dtype_number()])
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape[..self.ndim()])
    }

    /// A read-only numpy view of the slot. The view keeps the memory mapped; `is_valid` says whether it still shows
    /// this frame.
    #[getter]
    fn array(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        numpy(slf.py(), "asarray", &ASARRAY)?.call1(slf.py(), (slf,))
    }

    /// The view for DLPack (PyTorch, JAX, CuPy). It is read-only, which needs a consumer of DLPack 1.0 or later.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        options: Option<&Bound<'py, pyo3::types::PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.into_bound(slf.py()).call_method("__dlpack__", (), options)
    }

    /// The device of every frame: the CPU's memory.
    fn __dlpack_device__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::array(slf)?.into_bound(slf.py()).call_method0("__dlpack_device__")
    }

    /// Whether everything that was read of the frame so far is intact.
    fn is_valid(&self) -> bool {
        self.found.frame.is_valid()
    }

    /// Copies the frame to a numpy array of its own. Raises SlotLapped if it was overwritten.
    fn copy(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let frame = slf.get();
        let copied = numpy(slf.py(), "array", &COPY)?.call1(slf.py(), (slf,))?;
        if frame.found.frame.is_valid() { Ok(copied) } else { Err(frame.lapped(slf.py())) }
    }

    /// Copies the payload to bytes. Raises SlotLapped if it was overwritten.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let bytes = pyo3::types::PyBytes::new_with(py, self.found.frame.header.values_bytes as usize, |target| {
            // SAFETY: the target has the payload's length, and self keeps the regions mapped.
            let _ = unsafe { self.found.frame.copy_to(CopyKind::Plain, target.as_mut_ptr()) };
            Ok(())
        })?;
        if self.found.frame.is_valid() { Ok(bytes) } else { Err(self.lapped(py)) }
    }

    /// Whether both are the same frame of the same epoch, even if it has been overwritten.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.identity() == other.get().identity())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.identity().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.shape[..self.ndim()].iter().map(ToString::to_string).collect();
        format!(
            "Frame(stream_id={}, epoch={}, seq={}, dtype={}, shape=({}))",
            self.stream_id,
            self.epoch,
            self.found.frame.seq,
            DTYPE_NAMES[self.dtype_number()],
            shape.join(", ")
        )
    }

    /// # Safety
    /// Called by CPython with a `Py_buffer` of its own.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("a frame is read-only: it belongs to its producer"));
        }
        if flags & ffi::PyBUF_STRIDES != ffi::PyBUF_STRIDES {
            return Err(PyBufferError::new_err("a frame is given with its shape and strides only"));
        }
        let frame = slf.get();
        let element = element_bytes(frame.tensor.tensor.dtype).unwrap_or(1);
        let elements: ffi::Py_ssize_t = frame.shape[..frame.ndim()].iter().product();
        // SAFETY: CPython passes a Py_buffer to fill. What it points at lives in `slf`, which `obj` keeps alive;
        // consumers of a read-only buffer do not write through shape, strides or format.
        unsafe {
            (*view).buf = frame.found.frame.payload.cast_mut().cast::<c_void>();
            (*view).len = elements * element as ffi::Py_ssize_t;
            (*view).itemsize = element as ffi::Py_ssize_t;
            (*view).readonly = 1;
            (*view).ndim = frame.ndim() as c_int;
            (*view).format = if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                FORMATS[frame.dtype_number()].as_ptr().cast_mut().cast()
            } else {
                std::ptr::null_mut()
            };
            (*view).shape = frame.shape.as_ptr().cast_mut();
            (*view).strides = frame.tensor.strides.as_ptr().cast_mut().cast();
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
