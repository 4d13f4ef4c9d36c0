// SPDX-License-Identifier: Apache-2.0
//! What an engine is connected to: where its messages come from, and where frames go on.

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::pool::tensor::Tensor;
use framegate_intake::descriptors::Descriptors;

/// The kinds of both ends.
pub trait Wires {
    /// Where descriptors come from.
    type Descriptors: Descriptors;
    /// Where frames of one input are published again.
    type Target: Target;
}

/// A frame to be published again.
#[derive(Clone, Copy, Debug)]
pub struct Republished<'a> {
    /// Its bytes.
    pub payload: *const u8,
    /// How many.
    pub bytes: u32,
    /// What they are.
    pub tensor: &'a Tensor,
    /// Its time.
    pub timestamp_ns: u64,
    /// Its trace.
    pub trace_id: u64,
    /// Its new number.
    pub seq: u64,
}

/// A stream on which frames of an input go on.
pub trait Target: Send {
    /// Publishes a copy; false when `is_whole` says that the frame was overwritten meanwhile, or it cannot be.
    ///
    /// # Safety
    /// The payload must be readable for its bytes; whoever writes into it meanwhile makes `is_whole` false.
    unsafe fn publish(&self, frame: &Republished<'_>, is_whole: impl FnOnce() -> bool) -> bool;

    /// Sends a barrier behind what was published last; false when it cannot be sent there.
    fn send_barrier(&self, barrier: CheckpointBarrier) -> bool;

    /// The same with another message of schema 920; `make` is told stream and epoch.
    fn send_between(&self, make: impl FnOnce(u32, u64) -> Option<Vec<u8>>) -> bool;
}
