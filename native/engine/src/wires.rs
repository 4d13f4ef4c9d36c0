// SPDX-License-Identifier: Apache-2.0
//! What an engine is connected to: the logs its messages come from, and the stream on which it publishes frames again.

use framegate_checkpoint::message::CheckpointBarrier;
use framegate_core::pool::tensor::Tensor;
use framegate_intake::descriptors::Descriptors;

/// The types of both ends of an engine.
pub trait Wires {
    /// Where descriptors come from.
    type Descriptors: Descriptors;
    /// The stream on which frames of one input are published again.
    type Target: Target;
}

/// A frame that the engine publishes again.
#[derive(Clone, Copy, Debug)]
pub struct Republished<'a> {
    /// The frame's bytes.
    pub payload: *const u8,
    /// How many bytes it has.
    pub bytes: u32,
    /// The type and shape of the frame.
    pub tensor: &'a Tensor,
    /// The frame's own time.
    pub timestamp_ns: u64,
    /// The frame's trace id.
    pub trace_id: u64,
    /// Its sequence on the output stream.
    pub seq: u64,
}

/// A stream on which an engine publishes frames of an input again.
pub trait Target: Send {
    /// Publishes a copy of a frame. False if `is_whole` says that the frame was overwritten meanwhile, or if publishing
    /// fails.
    ///
    /// # Safety
    /// The payload must be readable for its bytes; a writer that changes it meanwhile must make `is_whole` false.
    unsafe fn publish(&self, frame: &Republished<'_>, is_whole: impl FnOnce() -> bool) -> bool;

    /// Sends a barrier behind the newest published frame; false if it cannot be sent there.
    fn send_barrier(&self, barrier: CheckpointBarrier) -> bool;

    /// Sends another message of schema 920 behind the newest published frame. `make` gets the stream and its epoch.
    fn send_between(&self, make: impl FnOnce(u32, u64) -> Option<Vec<u8>>) -> bool;
}
