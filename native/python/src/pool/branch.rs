// SPDX-License-Identifier: Apache-2.0
//! The branch: a descriptor stream for one consumer alone, with a bound on descriptors per second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::aeron::PublicationShared;

/// The descriptor stream of one consumer.
pub(super) struct Branch {
    pub(super) consumer_id: u32,
    pub(super) publication: Arc<PublicationShared>,
    shortest_interval: Duration,
    last: Option<Instant>,
}

impl Branch {
    /// Makes a branch. With `max_rate_hz` 0 it carries all descriptors.
    pub(super) fn new(consumer_id: u32, publication: Arc<PublicationShared>, max_rate_hz: u32) -> Self {
        let shortest_interval = if max_rate_hz == 0 { Duration::ZERO } else { Duration::from_secs(1) / max_rate_hz };
        Self { consumer_id, publication, shortest_interval, last: None }
    }

    pub(super) fn is_due(&mut self) -> bool {
        if self.shortest_interval.is_zero() {
            return true;
        }
        let now = Instant::now();
        let due = self.last.is_none_or(|last| now.duration_since(last) >= self.shortest_interval);
        if due {
            self.last = Some(now);
        }
        due
    }
}
