// SPDX-License-Identifier: Apache-2.0
//! The times and numbers that a frame is stamped with, as Python gives them.

use std::time::{SystemTime, UNIX_EPOCH};

use framegate_core::pool::layout::NULL_TIMESTAMP;
use framegate_core::pool::writer::Stamps;
use pyo3::prelude::*;
use pyo3::types::PyEllipsis;

/// A timestamp argument. If it is left out, it is the time of the call; None is the null timestamp.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stamp {
    Now,
    NowRealtime,
    Null,
    At(u64),
}

impl<'py> FromPyObject<'_, 'py> for Stamp {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::Null);
        }
        if value.is_instance_of::<PyEllipsis>() {
            return Ok(Self::Now);
        }
        Ok(Self::At(value.extract()?))
    }
}

impl Stamp {
    /// The same stamp, by the clock that the stream was declared with.
    pub(super) fn by(self, is_realtime: bool) -> Self {
        match self {
            Self::Now if is_realtime => Self::NowRealtime,
            _ => self,
        }
    }

    pub(super) fn nanoseconds(self) -> u64 {
        match self {
            Self::Now => rusteron_client::Aeron::nano_clock() as u64,
            // A time before 1970 means that the clock is not set yet.
            Self::NowRealtime => {
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(NULL_TIMESTAMP, |since| since.as_nanos() as u64)
            }
            Self::Null => NULL_TIMESTAMP,
            Self::At(nanoseconds) => nanoseconds,
        }
    }
}

/// What a frame is stamped with, apart from the producer's own values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameStamps {
    pub(crate) timestamp: Stamp,
    pub(crate) descriptor_timestamp_ns: Option<u64>,
    pub(crate) trace_id: u64,
    pub(crate) seq: Option<u64>,
    /// The position of the source after this frame; None leaves the position unchanged.
    pub(crate) position: Option<u64>,
}

impl FrameStamps {
    pub(super) fn of_frame(self, meta_version: u32) -> Stamps {
        Stamps {
            timestamp_ns: self.timestamp.nanoseconds(),
            descriptor_timestamp_ns: self.descriptor_timestamp_ns.unwrap_or(NULL_TIMESTAMP),
            meta_version,
            trace_id: self.trace_id,
        }
    }
}
