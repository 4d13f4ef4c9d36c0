// SPDX-License-Identifier: Apache-2.0
//! A subscription as engines hear it. One that was closed, or that Aeron cannot poll, brings nothing: the client says
//! what became of it.

use framegate_intake::descriptors::Descriptors;

use super::subscription::Shared;

impl Descriptors for Shared {
    #[inline]
    fn poll_whole(&self, limit: usize, see: impl FnMut(&[u8])) -> usize {
        Self::poll_whole(self, limit, see).and_then(Result::ok).unwrap_or(0)
    }

    #[inline]
    fn poll_assembled(&self, limit: usize, see: impl FnMut(&[u8])) -> usize {
        Self::poll_assembled(self, limit, see).and_then(Result::ok).unwrap_or(0)
    }

    #[inline]
    fn images_lost(&self) -> u64 {
        Self::images_lost(self)
    }
}
