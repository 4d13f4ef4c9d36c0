// SPDX-License-Identifier: Apache-2.0
//! Arrivals: what the sequence of a descriptor means after those before it. It is the next one, a gap, or a repetition.

/// What a sequence means after those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The sequence is the next one, or the first of its epoch.
    Next,
    /// This many sequences were left out before it.
    Gap(u64),
    /// The sequence had passed before, as expected: the log was rejoined, or an earlier run of this reader has read it.
    Repeated,
    /// The sequence had passed before, which shows a second writer, or one that went back.
    Regressed,
}

/// The descriptors of one stream, in the order in which they come.
#[derive(Default)]
pub struct Arrivals {
    /// Epoch and sequence that should come next. Before the first descriptor, they come from an earlier run.
    expected: Option<(u64, u64)>,
    /// How many descriptors were taken in this epoch.
    heard: u64,
    /// Whether descriptors that an earlier run had taken in this epoch have begun to come again.
    has_come_again: bool,
}

impl Arrivals {
    /// Makes the arrivals. `resumed`: epoch and sequence of the newest frame that an earlier run of this reader
    /// decided.
    #[must_use]
    pub fn new(resumed: Option<(u64, u64)>) -> Self {
        Self { expected: resumed.map(|(epoch, seq)| (epoch, seq.saturating_add(1))), heard: 0, has_come_again: false }
    }

    /// Takes a descriptor of the epoch that is read.
    /// `is_anew`: the reader left and rejoined the log before this descriptor, perhaps at a place it had read before.
    #[inline]
    pub const fn take(&mut self, epoch: u64, seq: u64, is_anew: bool) -> Order {
        let order = match self.expected {
            Some((of, expected)) if of == epoch => {
                if seq < expected {
                    self.has_come_again = true;
                    // Aeron may begin with messages that were read before; no second writer sent those.
                    return if self.heard > 0 && !is_anew { Order::Regressed } else { Order::Repeated };
                }
                if seq == expected { Order::Next } else { Order::Gap(seq - expected) }
            }
            _ => {
                self.heard = 0;
                self.has_come_again = false;
                Order::Next
            }
        };
        self.heard += 1;
        self.expected = Some((epoch, seq.saturating_add(1)));
        order
    }

    /// Begins an epoch whose sequences are known from `next` on, though no descriptor of it was taken yet.
    pub const fn begin(&mut self, epoch: u64, next: u64) {
        *self = Self { expected: Some((epoch, next)), heard: 0, has_come_again: true };
    }

    /// The sequence that comes next in an epoch of which this reader heard something; None otherwise, whatever an
    /// earlier run of it knew.
    #[must_use]
    pub fn next_heard(&self, epoch: u64) -> Option<u64> {
        let is_heard = self.heard > 0 || self.has_come_again;
        self.next_known(epoch).filter(|_| is_heard)
    }

    /// The sequence that comes next in an epoch, as this reader or an earlier run of it knows it.
    #[must_use]
    pub fn next_known(&self, epoch: u64) -> Option<u64> {
        self.expected.filter(|(of, _)| *of == epoch).map(|(_, next)| next)
    }

    /// Notes that every sequence of an epoch before `next` is accounted for.
    pub fn pass(&mut self, epoch: u64, next: u64) {
        if let Some((of, expected)) = &mut self.expected
            && *of == epoch
        {
            *expected = next.max(*expected);
        }
    }

    /// The epoch of the newest frame that was taken, or that an earlier run decided.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        self.expected.map(|(epoch, _)| epoch)
    }

    /// The newest sequence that was heard of an epoch. What an earlier run knew does not count until it begins to come
    /// again, because its source may be waiting to hear how far it was read.
    #[must_use]
    pub fn last_seq(&self, epoch: u64) -> Option<u64> {
        let (of, next) = self.expected?;
        if of == epoch && (self.heard > 0 || self.has_come_again) { next.checked_sub(1) } else { None }
    }

    /// Takes the sequences between the newest one taken and the end of the epoch: they will not come any more.
    pub fn unheard_until(&mut self, epoch: u64, after: u64) -> Option<(u64, u64)> {
        let (_, next) = self.expected.filter(|(of, next)| *of == epoch && *next <= after)?;
        self.expected = Some((epoch, after.saturating_add(1)));
        Some((next, after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_told_apart_by_what_came_before() {
        let mut arrivals = Arrivals::new(None);
        assert_eq!(arrivals.take(7, 100, false), Order::Next);
        assert_eq!(arrivals.take(7, 101, false), Order::Next);
        assert_eq!(arrivals.take(7, 105, false), Order::Gap(3));
        assert_eq!(arrivals.take(7, 105, false), Order::Regressed);
        assert_eq!(arrivals.take(8, 0, false), Order::Next);
    }

    #[test]
    fn after_a_restart_what_was_decided_before_is_heard_again_and_is_no_regression() {
        let mut arrivals = Arrivals::new(Some((7, 41)));
        assert_eq!(arrivals.last_seq(7), None);
        assert_eq!(arrivals.take(7, 3, false), Order::Repeated);
        // All of it is known: a source that goes by its readers need not be slow.
        assert_eq!(arrivals.last_seq(7), Some(41));
        assert_eq!(arrivals.take(7, 41, false), Order::Repeated);
        assert_eq!(arrivals.last_seq(7), Some(41));
        assert_eq!(arrivals.take(7, 42, false), Order::Next);
        assert_eq!(arrivals.last_seq(7), Some(42));
        assert_eq!(arrivals.take(7, 42, false), Order::Regressed);
    }

    #[test]
    fn what_a_log_that_was_joined_again_repeats_is_no_regression() {
        let mut arrivals = Arrivals::new(None);
        assert_eq!(arrivals.take(7, 10, false), Order::Next);
        assert_eq!(arrivals.take(7, 10, true), Order::Repeated);
        assert_eq!(arrivals.take(7, 11, true), Order::Next);
    }

    #[test]
    fn after_a_restart_what_passed_meanwhile_is_a_gap() {
        let mut arrivals = Arrivals::new(Some((7, 41)));
        assert_eq!(arrivals.take(7, 50, false), Order::Gap(8));
    }

    #[test]
    fn an_epoch_that_is_known_from_its_first_sequence_on_has_a_gap_before_a_later_one() {
        let mut arrivals = Arrivals::new(Some((7, 41)));
        assert_eq!((arrivals.next_heard(7), arrivals.next_known(7), arrivals.next_known(8)), (None, Some(42), None));
        arrivals.begin(8, 3);
        assert_eq!(arrivals.next_heard(8), Some(3));
        assert_eq!(arrivals.take(8, 5, false), Order::Gap(2));
        arrivals.pass(8, 10);
        arrivals.pass(8, 4);
        arrivals.pass(7, 50);
        assert_eq!(arrivals.next_heard(8), Some(10));
    }

    #[test]
    fn what_an_ended_epoch_sent_unheard_is_known_once() {
        let mut arrivals = Arrivals::new(Some((7, 41)));
        assert_eq!(arrivals.unheard_until(6, 50), None);
        assert_eq!(arrivals.unheard_until(7, 41), None);
        assert_eq!(arrivals.unheard_until(7, 50), Some((42, 50)));
        assert_eq!(arrivals.unheard_until(7, 50), None);
    }
}
