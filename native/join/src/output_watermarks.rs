// SPDX-License-Identifier: Apache-2.0
//! Watermarks of an output: what the inputs' watermarks promise about the published frames.
//!
//! A watermark says that no later frame of its stream is older. The output may carry the lowest of the inputs'
//! watermarks once every frame of the published input that came before it is decided, because a frame that waits is
//! older and may still be published. If a frame may be published twice, the newest published one limits the watermark
//! too.

use std::collections::VecDeque;

use crate::barrier::NULL_TIMESTAMP;

const NS_PER_MS: u64 = 1_000_000;
/// Most watermarks that wait. Beyond that, a newer one replaces the newest that waits.
const WAITING_MAX: usize = 64;

/// Decides which watermark the output carries, and when.
#[derive(Debug)]
pub struct OutputWatermarks {
    /// The stream of the published input; None if nothing is published.
    stream: Option<usize>,
    /// Whether a published frame may be published again.
    is_reusing: bool,
    /// Waiting watermarks, each with the newest frame that came before it.
    waiting: VecDeque<(u64, Option<(u64, u64)>)>,
    /// The newest watermark that no waiting frame holds back.
    released_ms: Option<u64>,
    newest_ms: Option<u64>,
    passed_ms: Option<u64>,
    /// The time of the newest published frame.
    published_ns: Option<u64>,
}

impl OutputWatermarks {
    /// Makes the watermarks of an output. `is_reusing`: a published frame may be published again.
    #[must_use]
    pub fn new(stream: Option<usize>, is_reusing: bool) -> Self {
        Self {
            stream,
            is_reusing,
            waiting: VecDeque::with_capacity(WAITING_MAX),
            released_ms: None,
            newest_ms: None,
            passed_ms: None,
            published_ns: None,
        }
    }

    /// Sets whether a published frame may be published again, as a new map says.
    pub fn set_reusing(&mut self, is_reusing: bool) {
        self.is_reusing = is_reusing;
    }

    /// Begins anew, with a new epoch of the output.
    pub fn forget(&mut self) {
        *self = Self::new(self.stream, self.is_reusing);
    }

    /// The stream of the published input.
    #[must_use]
    pub const fn stream(&self) -> Option<usize> {
        self.stream
    }

    /// Whether a watermark may be due. Costs one branch if none waits.
    #[inline]
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.released_ms > self.passed_ms
    }

    /// Notes the time of a published frame; all ones if it has none.
    #[inline]
    pub fn note_published(&mut self, timestamp_ns: u64) {
        if timestamp_ns != NULL_TIMESTAMP {
            self.published_ns = self.published_ns.max(Some(timestamp_ns));
        }
    }

    /// Takes the lowest of the inputs' watermarks, and the newest frame that came before it.
    pub fn note(&mut self, ms: u64, behind: Option<(u64, u64)>) {
        if Some(ms) <= self.newest_ms {
            return;
        }
        self.newest_ms = Some(ms);
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_back();
        }
        self.waiting.push_back((ms, behind));
    }

    /// Releases watermarks behind decided frames. Frames up to `decided` are decided; `epoch` is the present one.
    pub fn release(&mut self, decided: Option<(u64, u64)>, epoch: Option<u64>) {
        while let Some((ms, behind)) = self.waiting.front().copied() {
            let is_decided = behind.is_none_or(|(of_epoch, seq)| {
                // All frames of an epoch are decided when the next one begins.
                epoch != Some(of_epoch) || decided.is_some_and(|decided| decided >= (of_epoch, seq))
            });
            if !is_decided {
                return;
            }
            self.released_ms = Some(ms);
            self.waiting.pop_front();
        }
    }

    /// Takes the watermark that the output carries now, if there is a new one.
    pub fn due(&mut self) -> Option<u64> {
        let mut ms = self.released_ms?;
        if self.is_reusing {
            ms = ms.min(self.published_ns? / NS_PER_MS);
        }
        if Some(ms) <= self.passed_ms {
            return None;
        }
        self.passed_ms = Some(ms);
        Some(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(watermarks: &mut OutputWatermarks, decided: Option<(u64, u64)>) -> Option<u64> {
        watermarks.release(decided, Some(7));
        watermarks.due()
    }

    #[test]
    fn a_watermark_waits_for_the_frames_that_came_before_it() {
        let mut watermarks = OutputWatermarks::new(Some(0), false);
        watermarks.note(10, Some((7, 4)));
        watermarks.note(20, Some((7, 6)));
        assert_eq!(passed(&mut watermarks, Some((7, 3))), None);
        assert_eq!(passed(&mut watermarks, Some((7, 5))), Some(10));
        assert!(watermarks.is_waiting());
        assert_eq!(passed(&mut watermarks, Some((7, 6))), Some(20));
        assert!(!watermarks.is_waiting());
    }

    #[test]
    fn one_that_does_not_advance_is_nothing_and_another_epoch_holds_nothing_up() {
        let mut watermarks = OutputWatermarks::new(Some(0), false);
        watermarks.note(10, Some((6, 400)));
        watermarks.note(10, None);
        assert_eq!((passed(&mut watermarks, None), passed(&mut watermarks, None)), (Some(10), None));
    }

    #[test]
    fn a_frame_that_may_be_published_again_bounds_it() {
        let mut watermarks = OutputWatermarks::new(Some(0), true);
        watermarks.note(10, None);
        assert_eq!(passed(&mut watermarks, None), None);
        watermarks.note_published(4_500_000);
        assert_eq!(passed(&mut watermarks, None), Some(4));
        watermarks.note_published(30_000_000);
        assert_eq!(passed(&mut watermarks, None), Some(10));
    }

    #[test]
    fn what_waits_is_bounded_and_the_newest_is_kept() {
        let mut watermarks = OutputWatermarks::new(Some(0), false);
        for ms in 1..=200 {
            watermarks.note(ms, Some((7, ms)));
        }
        assert_eq!(watermarks.waiting.len(), WAITING_MAX);
        assert_eq!(passed(&mut watermarks, Some((7, 200))), Some(200));
    }
}
