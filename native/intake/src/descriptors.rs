// SPDX-License-Identifier: Apache-2.0
//! The logs that an engine reads its messages from.

/// A log of messages that an engine reads on its own thread.
pub trait Descriptors: Send + Sync {
    /// Polls the log, and hands every message that fits one fragment to `see`, in place; longer ones are only counted.
    /// Returns the number of fragments: 0 if the log is closed or cannot be read.
    fn poll_whole(&self, limit: usize, see: impl FnMut(&[u8])) -> usize;

    /// Polls the log like `poll_whole`, but puts messages of several fragments together.
    fn poll_assembled(&self, limit: usize, see: impl FnMut(&[u8])) -> usize;

    /// How many publications the log has lost so far. What they sent until they came back was not heard.
    fn images_lost(&self) -> u64;
}
