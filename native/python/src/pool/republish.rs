// SPDX-License-Identifier: Apache-2.0
//! Frames of one stream, published on another one without Python: what joins chain by.

use std::sync::Arc;

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::pool::copy::{CopyKind, copy};
use framegate_core::pool::tensor::Tensor;

use super::producer::PoolProducer;
use super::publishing::Shared;
use super::stamps::{FrameStamps, Stamp};

/// Where frames go.
pub(crate) struct PublishTarget(Arc<Shared>);

/// A frame to be published again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Republished<'a> {
    pub(crate) payload: *const u8,
    pub(crate) bytes: u32,
    pub(crate) tensor: &'a Tensor,
    pub(crate) timestamp_ns: u64,
    pub(crate) trace_id: u64,
    /// Its new number.
    pub(crate) seq: u64,
}

impl PublishTarget {
    /// Publishes a copy; false when `is_whole` says that the frame was overwritten meanwhile, or it cannot be.
    ///
    /// # Safety
    /// The payload must be readable for its bytes; whoever writes into it meanwhile makes `is_whole` false.
    pub(crate) unsafe fn publish(&self, frame: &Republished<'_>, is_whole: impl FnOnce() -> bool) -> bool {
        let Ok((claim, regions)) = self.0.claim(frame.tensor, frame.bytes, Some(frame.seq)) else {
            return false;
        };
        let bytes = frame.bytes as usize;
        // SAFETY: the caller vouches for the payload; the claim's slot has room for the bytes.
        unsafe { copy(CopyKind::for_payload(bytes), frame.payload, claim.payload, bytes) };
        let stamps = FrameStamps {
            timestamp: Stamp::At(frame.timestamp_ns),
            descriptor_timestamp_ns: None,
            trace_id: frame.trace_id,
            seq: Some(frame.seq),
            position: None,
        };
        let stamps = is_whole().then_some(stamps);
        self.0.finish(&claim, &regions, stamps).is_some_and(|published| published.answer >= -1)
    }
}

impl PublishTarget {
    /// Sends a barrier behind what was published last; false when it cannot be sent there.
    pub(crate) fn send_barrier(&self, barrier: CheckpointBarrier) -> bool {
        self.0.send_here(|between| {
            between.force(barrier);
            true
        })
    }

    /// The same with another message of schema 920; `make` is told stream and epoch.
    pub(crate) fn send_between(&self, make: impl FnOnce(u32, u64) -> Option<Vec<u8>>) -> bool {
        let Some(epoch) = self.0.epoch() else { return false };
        let made = make(self.0.stream_id(), epoch);
        made.is_some_and(|message| self.0.send_here(|between| between.hold(message)))
    }
}

impl PoolProducer {
    /// For the join engine: publishes through this producer for as long as the target lives.
    pub(crate) fn target(&self) -> PublishTarget {
        PublishTarget(Arc::clone(&self.shared))
    }
}
