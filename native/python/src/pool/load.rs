// SPDX-License-Identifier: Apache-2.0
//! What a native benchmark publishes: the same frame again and again, without Python around it.

use framegate_core::pool::tensor::{ROW_MAJOR, Tensor};

use super::producer::PoolProducer;
use super::publishing::{PublishFault, Published};
use super::stamps::{FrameStamps, Stamp};

/// What a native benchmark publishes again and again: frames of bytes.
pub(crate) struct Load {
    frame_bytes: u32,
    /// Copied in each time; None: a frame is claimed and committed as its slot lies.
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

    /// Each frame says when it was published.
    pub(crate) fn stamped(self) -> Self {
        Self { timestamp: Stamp::Now, ..self }
    }
}

impl PoolProducer {
    /// For the native benchmarks: one frame of bytes, without Python around it.
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
