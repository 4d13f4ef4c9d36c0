// SPDX-License-Identifier: Apache-2.0
//! The claim of a publication: space in the log for one message, which the caller fills through a Python buffer.
//!
//! A memoryview straight into the log would have to be revoked when the block ends, and Python cannot revoke a numpy
//! array that was made of it: the array would go on pointing into the log, which later holds other messages and is
//! unmapped in the end. So the caller fills a bytearray, and the few bytes are copied into the log when the block ends.
//! The space in the log is claimed at the beginning, so messages stand in the order of their claims.

use std::sync::{Arc, Mutex};

use framegate_core::unpoisoned;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyMemoryView, PyType};
use rusteron_client::AeronBufferClaim;

use super::publication::Shared;
use crate::errors::raise;

/// A claim may move to another thread with the object that holds it: Aeron ties it to no thread.
struct Room(AeronBufferClaim);
// SAFETY: the claim is two pointers into the log and a length. The log outlives it, because `Shared` refuses
// to close with a claim open, and the mutex around it lets one thread at a time use it.
unsafe impl Send for Room {}

/// A claimed message, used as a `with` block: leaving the block commits it, an exception abandons it. Later messages of
/// the log stay unread until then.
#[pyclass(frozen, module = "framegate._native")]
pub struct AeronClaim {
    room: Mutex<Option<Room>>,
    lent: Mutex<Option<Lent>>,
    length: usize,
    publication: Arc<Shared>,
    #[pyo3(get)]
    position: i64,
}

/// The buffer that the caller fills, and the view of it that the `with` block gives out.
struct Lent {
    buffer: Py<PyByteArray>,
    view: Py<PyMemoryView>,
}

impl AeronClaim {
    /// Wraps a claim that the publication has counted as open.
    pub(crate) fn new(claim: AeronBufferClaim, position: i64, length: usize, publication: Arc<Shared>) -> Self {
        Self { room: Mutex::new(Some(Room(claim))), lent: Mutex::new(None), length, publication, position }
    }

    /// Ends the claim, once: commits the message, or makes the space padding that readers skip.
    fn finish(&self, message: Option<&[u8]>) {
        let Some(Room(mut claim)) = unpoisoned(&self.room).take() else {
            return;
        };
        // This fails only if the log has gone with its media driver, and the next call reports that.
        let _ = match message {
            Some(bytes) => {
                claim.data_mut().copy_from_slice(bytes);
                claim.commit()
            }
            None => claim.abort(),
        };
        self.publication.note_claim_closed();
    }
}

#[pymethods]
impl AeronClaim {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<PyMemoryView>> {
        if unpoisoned(&self.room).is_none() || unpoisoned(&self.lent).is_some() {
            return Err(raise(py, "TransportClosed", "the claim was entered before", &[]));
        }
        let buffer = PyByteArray::new_with(py, self.length, |_zeroed| Ok(()))?;
        let view = PyMemoryView::from(buffer.as_any())?.unbind();
        *unpoisoned(&self.lent) = Some(Lent { buffer: buffer.unbind(), view: view.clone_ref(py) });
        Ok(view)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyType>>,
        _error: Option<&Bound<'_, PyAny>>,
        _trace: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let Some(lent) = unpoisoned(&self.lent).take() else {
            return Ok(());
        };
        // The message is copied before anything that runs Python code.
        let message = lent.buffer.bind(py).to_vec();
        let _ = lent.view.call_method0(py, "release");
        // A bytearray with views cannot be resized. A failed resize therefore shows that an array was made of the
        // buffer, whose later writes would reach no reader. (The memoryview itself does not know: numpy takes a view of
        // its own.)
        let is_returned = lent.buffer.bind(py).resize(0).is_ok();
        self.finish((kind.is_none() && is_returned).then_some(message.as_slice()));
        if kind.is_none() && !is_returned {
            let what = "an array or view of the claim outlives its block: the message was abandoned";
            let bytes = self.length.into_pyobject(py)?.into_any();
            return Err(raise(py, "ClaimStillViewed", what, &[("claimed_bytes", bytes)]));
        }
        Ok(())
    }
}

impl Drop for AeronClaim {
    fn drop(&mut self) {
        // A claim that was never entered must not block the stream.
        self.finish(None);
    }
}
