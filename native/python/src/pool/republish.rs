// SPDX-License-Identifier: Apache-2.0
//! Republishing: frames of one stream are published on another without Python. Chained joins use it.

use std::sync::Arc;

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::pool::copy::{CopyKind, copy};
use framegate_engine::{Republished, Target};

use super::producer::PoolProducer;
use super::publishing::Shared;
use super::stamps::{FrameStamps, Stamp};

/// The producer that frames are republished through.
pub(crate) struct PublishTarget(Arc<Shared>);

impl Target for PublishTarget {
    unsafe fn publish(&self, frame: &Republished<'_>, is_whole: impl FnOnce() -> bool) -> bool {
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

    fn send_barrier(&self, barrier: CheckpointBarrier) -> bool {
        self.0.send_here(|between| {
            between.force(barrier);
            true
        })
    }

    fn send_between(&self, make: impl FnOnce(u32, u64) -> Option<Vec<u8>>) -> bool {
        let Some(epoch) = self.0.epoch() else { return false };
        let made = make(self.0.stream_id(), epoch);
        made.is_some_and(|message| self.0.send_here(|between| between.hold(message)))
    }
}

impl PoolProducer {
    /// The target for a join engine, which publishes through this producer for as long as the target lives.
    pub(crate) fn target(&self) -> PublishTarget {
        PublishTarget(Arc::clone(&self.shared))
    }
}
