// SPDX-License-Identifier: Apache-2.0
//! Where messages come from.

/// A log of messages that an engine reads on its own thread.
pub trait Descriptors: Send + Sync {
    /// Gives every message that one fragment holds to `see`, in place, and counts the others; how many fragments. A
    /// log that is closed, or cannot be read, brings nothing.
    fn poll_whole(&self, limit: usize, see: impl FnMut(&[u8])) -> usize;

    /// The same, with messages of several fragments put together.
    fn poll_assembled(&self, limit: usize, see: impl FnMut(&[u8])) -> usize;

    /// How many publications it has lost so far: what they sent until they came back was not heard.
    fn images_lost(&self) -> u64;
}
