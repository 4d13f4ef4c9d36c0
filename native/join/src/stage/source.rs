// SPDX-License-Identifier: Apache-2.0
//! What is known of one stream in its producer's current epoch.

use crate::barrier::NULL_TIMESTAMP;

/// One stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    pub epoch: Option<u64>,
    pub is_observed: bool,
    pub is_ended: bool,
    pub is_rejected: bool,
    pub last_seq: Option<u64>,
    pub last_arrival_ns: u64,
    /// Of slot headers and of descriptors.
    pub last_times: [Option<u64>; 2],
    pub watermark_ms: Option<u64>,
}

impl Source {
    /// A new epoch forgets everything of the one before.
    pub fn begin(&mut self, epoch: u64) {
        *self = Self { epoch: Some(epoch), ..Self::default() };
    }

    pub fn arrive(&mut self, seq: u64, now_ns: u64) {
        (self.last_seq, self.is_observed) = (Some(seq), true);
        self.last_arrival_ns = self.last_arrival_ns.max(now_ns);
    }

    /// The least sequence that may still come.
    pub fn next_seq(&self) -> Option<u64> {
        self.last_seq.map(|seq| seq.saturating_add(1))
    }

    /// Whether the stream is rejected by these times, now: one of the `ordered` fields (as bits) has decreased.
    pub fn follow_times(&mut self, times: [u64; 2], ordered: u8) -> bool {
        for (place, &time) in times.iter().enumerate() {
            if time == NULL_TIMESTAMP || self.is_rejected {
                continue;
            }
            if ordered >> place & 1 == 1 && Some(time) < self.last_times[place] {
                self.is_rejected = true;
                return true;
            }
            self.last_times[place] = Some(time);
        }
        false
    }
}
