// SPDX-License-Identifier: Apache-2.0
//! Frames of one stream, published on another one without Python: what joins chain by.

use std::sync::Arc;

use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::reader::FrameRef;
use framegate_core::pool::tensor::Tensor;

use super::producer::{FrameStamps, PoolProducer, Shared, Stamp};

/// Where frames go.
pub(crate) struct PublishTarget(Arc<Shared>);

impl PublishTarget {
    /// Publishes a copy of a frame under another number; false when it was overwritten meanwhile, or cannot be.
    pub(crate) fn publish(&self, frame: &FrameRef, tensor: &Tensor, seq: u64, trace_id: u64) -> bool {
        let header = &frame.header;
        let Ok((claim, regions)) = self.0.claim(tensor, header.values_bytes, Some(seq)) else {
            return false;
        };
        let bytes = header.values_bytes as usize;
        // SAFETY: the frame's regions are mapped by whoever read it just now; the claim's slot has room for the bytes.
        unsafe { copy(CopyKind::for_payload(bytes), frame.payload, claim.payload, bytes) };
        let stamps = FrameStamps {
            timestamp: Stamp::At(header.timestamp_ns),
            descriptor_timestamp_ns: None,
            trace_id,
            seq: Some(seq),
        };
        let stamps = frame.is_valid().then_some(stamps);
        self.0.finish(&claim, &regions, stamps).is_some_and(|published| published.answer >= -1)
    }
}

impl PoolProducer {
    /// For the join engine: publishes through this producer for as long as the target lives.
    pub(crate) fn target(&self) -> PublishTarget {
        PublishTarget(Arc::clone(&self.shared))
    }
}
