// SPDX-License-Identifier: Apache-2.0
//! A producer's own subscription, which keeps its stream moving if nobody else reads it.

use std::sync::Arc;

use crate::aeron::SubscriptionShared;

/// How many frames are published between two polls of the producer's own subscription.
const PACE_EVERY: u32 = 64;

/// A subscription of the producer's own that is always at the head of its stream. Aeron drops a subscriber that is far
/// behind the fastest one. Without this subscription a single stalled consumer would be the fastest, and would block
/// the stream.
pub(super) struct Pace {
    subscription: Option<Arc<SubscriptionShared>>,
    frames: u32,
}

impl Pace {
    pub(super) const fn new(subscription: Option<Arc<SubscriptionShared>>) -> Self {
        Self { subscription, frames: 0 }
    }

    #[inline]
    pub(super) fn keep(&mut self) {
        self.frames += 1;
        if self.frames >= PACE_EVERY {
            self.frames = 0;
            if let Some(subscription) = &self.subscription {
                let _ = subscription.poll_whole(usize::MAX >> 1, |_| {});
            }
        }
    }
}
