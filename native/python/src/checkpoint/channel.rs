// SPDX-License-Identifier: Apache-2.0
//! The checkpoint channel as a Python class that holds both of its ends.

use framegate_checkpoint::channel::{Receiver, Sender, channel};
use framegate_checkpoint::message::{CheckpointBarrier, StreamMessage, Watermark};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

/// The native channel; users hold it as `framegate.joinbarrier.checkpoint.Channel`.
#[pyclass(module = "framegate._native")]
pub struct CheckpointChannel {
    sender: Sender<Py<PyAny>>,
    receiver: Receiver<Py<PyAny>>,
}

#[pymethods]
impl CheckpointChannel {
    #[new]
    fn new(capacity: usize) -> Self {
        let (sender, receiver) = channel(capacity);
        Self { sender, receiver }
    }

    fn push_event(&mut self, event: Py<PyAny>) -> bool {
        self.sender.push(StreamMessage::Event(event)).is_ok()
    }

    fn push_watermark(&mut self, ms: i64) -> bool {
        self.sender.push(StreamMessage::Watermark(Watermark(ms))).is_ok()
    }

    fn push_barrier(&mut self, checkpoint_id: u64, epoch: u64, unaligned: bool) -> bool {
        let barrier = CheckpointBarrier::with(checkpoint_id, epoch, unaligned);
        self.sender.push(StreamMessage::Barrier(barrier)).is_ok()
    }

    /// Takes the next message: an event, a watermark's milliseconds, a barrier's three numbers, or None.
    fn pop(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.receiver
            .pop()
            .map(|message| match message {
                StreamMessage::Event(event) => Ok(event),
                StreamMessage::Watermark(watermark) => watermark.0.into_py_any(py),
                StreamMessage::Barrier(barrier) => {
                    (barrier.checkpoint_id, barrier.epoch, barrier.is_unaligned()).into_py_any(py)
                }
            })
            .transpose()
    }

    fn close(&self) {
        self.sender.close();
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    fn __len__(&self) -> usize {
        self.sender.len()
    }
}
