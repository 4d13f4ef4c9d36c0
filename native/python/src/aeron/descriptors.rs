// SPDX-License-Identifier: Apache-2.0
//! A subscription as an engine reads it. A subscription that is closed, or that Aeron cannot poll, yields no
//! messages; the client reports the reason.

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
