// SPDX-License-Identifier: Apache-2.0
//! The load of a native benchmark: it publishes one frame again and again, without Python around it.

use framegate_core::pool::tensor::{ROW_MAJOR, Tensor};

use super::producer::PoolProducer;
use super::publishing::{PublishFault, Published};
use super::stamps::{FrameStamps, Stamp};

/// A frame of bytes that a native benchmark publishes again and again.
pub(crate) struct Load {
    frame_bytes: u32,
    /// The payload that is copied in each time. None commits each slot with the content that it has.
    payload: Option<Vec<u8>>,
    tensor: Tensor,
    timestamp: Stamp,
}

impl Load {
    pub(crate) fn new(frame_bytes: u32, is_copied: bool) -> Self {
        let payload = is_copied.then(|| vec![0x5A; frame_bytes as usize]);
        let tensor = Tensor::contiguous(1, ROW_MAJOR, &[i32::try_from(frame_bytes).unwrap_or(i32::MAX)]);
        Self { frame_bytes, payload, tensor, timestamp: Stamp::Null }
    }

    /// Stamps each frame with the time at which it is published.
    pub(crate) fn stamped(self) -> Self {
        Self { timestamp: Stamp::Now, ..self }
    }
}

impl PoolProducer {
    /// Publishes one frame of bytes without Python around it, for the native benchmarks.
    pub(crate) fn publish_natively(&self, load: &Load) -> Result<Published, PublishFault> {
        let stamps = FrameStamps {
            timestamp: load.timestamp,
            descriptor_timestamp_ns: None,
            trace_id: 0,
            seq: None,
            position: None,
        };
        self.shared.publish(&load.tensor, load.frame_bytes, stamps, |claim| {
            if let Some(payload) = &load.payload {
                // SAFETY: the payload has `frame_bytes` bytes.
                unsafe { claim.copy_in(payload.as_ptr()) };
            }
            true
        })
    }
}
