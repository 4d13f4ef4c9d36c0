// SPDX-License-Identifier: Apache-2.0
//! The inputs of a barrier: dense, by index, with what is known of each in its current epoch.

use super::NULL_TIMESTAMP;
use crate::map::MergeMap;

/// A descriptor, with its slot's timestamp.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// The frame's sequence.
    pub seq: u64,
    /// The input's epoch; None: the current one.
    pub epoch: Option<u64>,
    /// Of slot header and frame descriptor, in this order; all ones is null.
    pub times: [u64; 2],
}

impl Observation {
    /// A frame of the current epoch without timestamps.
    #[must_use]
    pub const fn of(seq: u64) -> Self {
        Self { seq, epoch: None, times: [NULL_TIMESTAMP; 2] }
    }
}

/// What a stage consumed of an input.
#[derive(Clone, Copy, Debug)]
pub struct Processed {
    /// Up to which sequence.
    pub seq: Option<u64>,
    /// The input's epoch; None: the current one.
    pub epoch: Option<u64>,
    /// Up to which time, of slot header and frame descriptor; all ones is null.
    pub times: [u64; 2],
}

/// One input in its current epoch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<S> {
    pub(super) state: S,
    pub(super) last_observed_ns: u64,
    pub(super) epoch: Option<u64>,
    pub(super) is_observed: bool,
    pub(super) needs_processed: bool,
}

impl<S: Copy + Default> Entry<S> {
    /// Whether a frame of this epoch counts. A higher epoch forgets everything of the one before.
    #[inline]
    pub(super) fn enter(&mut self, epoch: Option<u64>) -> bool {
        match (epoch, self.epoch) {
            (None, _) => true,
            (Some(new), Some(own)) if new <= own => new == own,
            _ => {
                *self = Self { epoch, needs_processed: self.needs_processed, ..Self::default() };
                true
            }
        }
    }
}

/// The inputs, in the order of the rules that name them first.
#[derive(Debug, Default)]
pub(super) struct Inputs<S> {
    streams: Vec<u32>,
    sorted: Vec<(u32, u16)>,
    entries: Vec<Entry<S>>,
}

/// The distinct streams of a map: (stream, index) by stream. An index counts distinct streams by first appearance.
pub(super) type Order = Vec<(u32, u16)>;

impl<S: Copy + Default> Inputs<S> {
    pub(super) fn order(map: &MergeMap) -> Order {
        let mut firsts: Vec<(u32, u32)> = (0..).zip(&map.rules).map(|(at, rule)| (rule.stream, at)).collect();
        firsts.sort_unstable();
        firsts.dedup_by_key(|first| first.0);
        firsts.sort_unstable_by_key(|first| first.1);
        // More than a u16 counts is refused by the caller; a map has no more than 65534 rules on the wire.
        let mut order: Order = firsts.iter().zip(0..u16::MAX).map(|(first, index)| (first.0, index)).collect();
        order.sort_unstable();
        order
    }

    /// Goes over to other inputs; what is known stays where the stream does.
    pub(super) fn replace(&mut self, order: Order, needs_processed: &[u32], keeps: impl Fn(u32) -> bool) {
        let mut entries = vec![Entry::default(); order.len()];
        let mut streams = vec![0; order.len()];
        for &(stream, index) in &order {
            let entry = &mut entries[usize::from(index)];
            if let Some(known) = self.index_of(stream).filter(|_| keeps(stream)) {
                *entry = self.entries[known];
            }
            entry.needs_processed = needs_processed.contains(&stream);
            streams[usize::from(index)] = stream;
        }
        *self = Self { streams, sorted: order, entries };
    }

    #[inline]
    pub(super) fn index_of(&self, stream: u32) -> Option<usize> {
        let found = self.sorted.binary_search_by_key(&stream, |known| known.0).ok()?;
        Some(usize::from(self.sorted[found].1))
    }

    pub(super) fn streams(&self) -> &[u32] {
        &self.streams
    }

    #[inline]
    pub(super) fn at(&self, index: u16) -> &Entry<S> {
        &self.entries[usize::from(index)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Entry<S>> {
        self.entries.get_mut(index)
    }

    pub(super) fn get(&self, index: usize) -> Option<&Entry<S>> {
        self.entries.get(index)
    }
}
