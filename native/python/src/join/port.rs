// SPDX-License-Identifier: Apache-2.0
//! One input stream of a join, as the engine reads it: its regions, and the order of its descriptors.

use std::sync::Arc;

use framegate_core::pool::reader::{FrameRef, Reader};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::tensor::Tensor;

use super::mailbox::PORT_COUNTERS;

/// What is counted for each stream, beside what the stage decides.
#[derive(Clone, Copy, Default)]
pub(super) struct PortCounters {
    /// Descriptors that were taken.
    pub(super) frames: u64,
    /// Sequences that the producer left out, or could not announce: nobody can have them.
    pub(super) gap_drops: u64,
    /// Frames that were overwritten before they were read.
    pub(super) late_drops: u64,
    /// Sequences that passed while this agent was not listening.
    pub(super) missed: u64,
    /// Descriptors whose sequence had already passed.
    pub(super) regressions: u64,
    /// Descriptors that came while no regions were mapped.
    pub(super) unmapped: u64,
    /// Descriptors of an epoch that is not mapped.
    pub(super) other_epoch: u64,
}

impl PortCounters {
    pub(super) const fn as_array(&self) -> [u64; PORT_COUNTERS.len()] {
        [self.frames, self.gap_drops, self.late_drops, self.missed, self.regressions, self.unmapped, self.other_epoch]
    }
}

/// What a descriptor's sequence means after those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The next one, or the first of its epoch.
    Next,
    /// So many were left out before it.
    Gap(u64),
    /// It had already passed.
    Regressed,
}

/// A stream.
pub(super) struct Port {
    reader: Option<Reader>,
    /// The next epoch's, taken when its first descriptor comes or the log was read to its end.
    next: Option<Reader>,
    /// Epoch and sequence that should come next; from a journal before the first descriptor.
    expected: Option<(u64, u64)>,
    /// Descriptors taken in this epoch.
    heard: u64,
    /// How many images its subscriptions had lost when its last descriptor came.
    pub(super) images_lost: u64,
    /// Whether there was a time without regions or subscriptions since its last descriptor: the lease was lost, or the
    /// media driver. What was announced then passed unheard.
    pub(super) was_away: bool,
    pub(super) counters: PortCounters,
    pub(super) has_news: bool,
}

impl Port {
    /// `resumed`: epoch and sequence of the last frame that an earlier life of this agent decided.
    pub(super) fn new(resumed: Option<(u64, u64)>) -> Self {
        Self {
            reader: None,
            next: None,
            expected: resumed.map(|(epoch, seq)| (epoch, seq.saturating_add(1))),
            heard: 0,
            images_lost: 0,
            was_away: false,
            counters: PortCounters::default(),
            has_news: true,
        }
    }

    pub(super) fn epoch(&self) -> Option<u64> {
        self.reader.as_ref().map(|reader| reader.regions().epoch)
    }

    pub(super) fn last_seq(&self) -> Option<u64> {
        let (epoch, next) = self.expected?;
        // What a journal remembers was not heard in this life.
        if self.epoch() == Some(epoch) && self.heard > 0 { next.checked_sub(1) } else { None }
    }

    /// The epoch is over after that sequence: what lies between the last one that was taken and it, and will not come.
    pub(super) fn unheard_until(&mut self, epoch: u64, after: u64) -> Option<(u64, u64)> {
        let (_, next) = self.expected.filter(|(of, next)| *of == epoch && *next <= after)?;
        self.expected = Some((epoch, after.saturating_add(1)));
        self.counters.missed += after - next + 1;
        Some((next, after))
    }

    pub(super) fn attach(&mut self, regions: Arc<Regions>) {
        self.next = Some(Reader::new(regions));
        if self.reader.is_none() {
            self.switch();
        }
        self.has_news = true;
    }

    pub(super) fn detach(&mut self) {
        (self.reader, self.next) = (None, None);
        self.was_away = true;
        self.has_news = true;
    }

    /// Goes over to the next epoch's regions, if there are some.
    #[inline]
    pub(super) fn switch(&mut self) {
        if let Some(next) = self.next.take() {
            self.reader = Some(next);
            self.has_news = true;
        }
    }

    /// Whether frames of that epoch can be read, now that one of them was announced.
    #[inline]
    pub(super) fn is_reading(&mut self, epoch: u64) -> bool {
        if self.next.as_ref().is_some_and(|next| next.regions().epoch == epoch) {
            self.switch();
        }
        match self.epoch() {
            Some(present) if present == epoch => true,
            Some(_) => {
                self.counters.other_epoch += 1;
                false
            }
            None => {
                self.counters.unmapped += 1;
                false
            }
        }
    }

    /// Takes a descriptor of the epoch that is read.
    /// `is_anew`: the log was left and joined again before this descriptor, perhaps at a place that had been read.
    #[inline]
    pub(super) fn take(&mut self, epoch: u64, seq: u64, is_anew: bool) -> Order {
        self.has_news = true;
        let order = match self.expected {
            Some((of, expected)) if of == epoch => {
                if seq < expected {
                    // Aeron may begin with what was read before: no second writer sent that.
                    self.counters.regressions += u64::from(self.heard > 0 && !is_anew);
                    return Order::Regressed;
                }
                if seq == expected { Order::Next } else { Order::Gap(seq - expected) }
            }
            _ => {
                self.heard = 0;
                Order::Next
            }
        };
        self.heard += 1;
        self.expected = Some((epoch, seq.saturating_add(1)));
        self.counters.frames += 1;
        order
    }

    /// Whether the last descriptor was the first that was heard since this agent began.
    pub(super) fn is_first(&self) -> bool {
        self.counters.frames == 1
    }

    /// What the frame that was read last is.
    #[inline]
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        self.reader.as_ref().map(|reader| &reader.tensor().tensor)
    }

    /// One attempt at a frame.
    #[inline]
    pub(super) fn read(&mut self, epoch: u64, seq: u64) -> Option<FrameRef> {
        let reader = self.reader.as_mut().filter(|reader| reader.regions().epoch == epoch)?;
        match reader.read(seq) {
            Ok(frame) => Some(frame),
            Err(cause) => {
                self.counters.late_drops += u64::from(cause.is_late());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_told_apart_by_what_came_before() {
        let mut port = Port::new(None);
        assert_eq!(port.take(7, 100, false), Order::Next);
        assert_eq!(port.take(7, 101, false), Order::Next);
        assert_eq!(port.take(7, 105, false), Order::Gap(3));
        assert_eq!(port.take(7, 105, false), Order::Regressed);
        assert_eq!(port.take(8, 0, false), Order::Next);
        assert_eq!((port.counters.frames, port.counters.regressions), (4, 1));
    }

    #[test]
    fn after_a_restart_what_was_decided_before_is_heard_again_and_is_no_regression() {
        let mut port = Port::new(Some((7, 41)));
        assert_eq!(port.take(7, 40, false), Order::Regressed);
        assert_eq!(port.take(7, 41, false), Order::Regressed);
        assert_eq!(port.take(7, 42, false), Order::Next);
        assert_eq!(port.counters.regressions, 0);
        assert_eq!(port.take(7, 42, false), Order::Regressed);
        assert_eq!(port.counters.regressions, 1);
    }

    #[test]
    fn what_a_log_that_was_joined_again_repeats_is_no_regression() {
        let mut port = Port::new(None);
        assert_eq!(port.take(7, 10, false), Order::Next);
        assert_eq!(port.take(7, 10, true), Order::Regressed);
        assert_eq!(port.counters.regressions, 0);
        assert_eq!(port.take(7, 11, true), Order::Next);
    }

    #[test]
    fn after_a_restart_what_passed_meanwhile_is_a_gap() {
        let mut port = Port::new(Some((7, 41)));
        assert_eq!(port.take(7, 50, false), Order::Gap(8));
    }

    #[test]
    fn what_an_ended_epoch_sent_unheard_is_known_once() {
        let mut port = Port::new(Some((7, 41)));
        assert_eq!(port.unheard_until(6, 50), None);
        assert_eq!(port.unheard_until(7, 41), None);
        assert_eq!(port.unheard_until(7, 50), Some((42, 50)));
        assert_eq!(port.unheard_until(7, 50), None);
    }
}
