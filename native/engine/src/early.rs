// SPDX-License-Identifier: Apache-2.0
//! Remembers what was heard of epochs whose regions were not mapped or not leased. It counts only once a ring confirms
//! it.

/// How many epochs are remembered; descriptors of others are only counted.
const EPOCHS_MAX: usize = 4;

/// What was heard of one epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Early {
    epoch: u64,
    /// The lowest sequence that a descriptor named.
    pub(crate) first: Option<u64>,
    /// The highest sequence that a descriptor named.
    pub(crate) last: u64,
    /// Set when the epoch's end was heard: the final sequence, if the end named one.
    pub(crate) end: Option<Option<u64>>,
}

/// What was heard early, of a few epochs.
#[derive(Default)]
pub(crate) struct EarlyOnes([Option<Early>; EPOCHS_MAX]);

impl EarlyOnes {
    pub(crate) fn note_frame(&mut self, epoch: u64, seq: u64) {
        if let Some(early) = self.entry(epoch) {
            early.first = Some(early.first.map_or(seq, |first| first.min(seq)));
            early.last = early.last.max(seq);
        }
    }

    pub(crate) fn note_end(&mut self, epoch: u64, after: Option<u64>) {
        if let Some(early) = self.entry(epoch) {
            early.end = Some(after);
        }
    }

    pub(crate) fn of(&self, epoch: u64) -> Option<&Early> {
        self.0.iter().flatten().find(|early| early.epoch == epoch)
    }

    /// Takes what was heard of an epoch, and forgets all epochs before it.
    pub(crate) fn take(&mut self, epoch: u64) -> Option<Early> {
        let found = self.of(epoch).copied();
        for early in &mut self.0 {
            *early = early.filter(|early| early.epoch > epoch);
        }
        found
    }

    fn entry(&mut self, epoch: u64) -> Option<&mut Early> {
        let is_known = self.of(epoch).is_some();
        let place = |early: &&mut Option<Early>| early.map_or(!is_known, |early| early.epoch == epoch);
        let place = self.0.iter_mut().find(place)?;
        Some(place.get_or_insert(Early { epoch, first: None, last: 0, end: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_heard_of_an_epoch_is_taken_once_and_older_ones_are_forgotten() {
        let mut early = EarlyOnes::default();
        for (epoch, seq) in [(7, 3), (8, 9), (8, 4), (8, 5)] {
            early.note_frame(epoch, seq);
        }
        early.note_end(8, Some(9));
        let taken = early.take(8).unwrap();
        assert_eq!((taken.first, taken.last, taken.end), (Some(4), 9, Some(Some(9))));
        assert!(early.of(7).is_none() && early.take(8).is_none());
    }

    #[test]
    fn epochs_that_do_not_exist_push_out_none_that_do() {
        let mut early = EarlyOnes::default();
        early.note_frame(7, 0);
        (100..200).for_each(|epoch| early.note_frame(epoch, 0));
        early.note_frame(7, 1);
        assert_eq!(early.take(7).map(|found| found.last), Some(1));
    }
}
