// SPDX-License-Identifier: Apache-2.0
//! The Aeron client as Python classes.
//!
//! Two rules keep it free of deadlocks and dangling memory. First, nothing here calls Python on Aeron's conductor
//! thread: its callbacks only append to bounded queues, which Python drains. Second, every call that may wait for that
//! thread (adding, closing) releases the GIL meanwhile.

mod claim;
mod client;
mod descriptors;
mod events;
mod mark;
mod offer;
mod publication;
mod subscription;

pub use claim::AeronClaim;
pub use client::AeronClient;
pub(crate) use events::unpoisoned_detached;
pub use mark::driver_mark;
pub(crate) use offer::{ADMIN_ACTION, BACK_PRESSURED, NOT_CONNECTED, is_retryable};
pub use publication::AeronPublication;
pub(crate) use publication::{ClaimedRoom, Shared as PublicationShared};
pub use subscription::AeronSubscription;
pub(crate) use subscription::{Resting, Shared as SubscriptionShared};

use std::ffi::CString;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors::raise;

/// A string for the C client. A NUL inside it can only be a mistake of the caller.
pub(crate) fn c_string(py: Python<'_>, what: &str, text: &str) -> PyResult<CString> {
    CString::new(text).map_err(|_| {
        let facts = [(what, text.into_pyobject(py).map_or_else(|never| match never {}, Bound::into_any))];
        raise(py, "ChannelRefused", "it contains a NUL character", &facts)
    })
}

/// A class of `framegate.shmpool.transport.interface`, looked up once.
pub(crate) fn transport_class<'py>(
    py: Python<'py>,
    name: &str,
    cell: &'static PyOnceLock<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = cell.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("framegate.shmpool.transport.interface")?.getattr(name)?.unbind())
    })?;
    Ok(class.bind(py).clone())
}
