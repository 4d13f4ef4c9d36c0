// SPDX-License-Identifier: Apache-2.0
//! The inputs of a barrier, by index, in the order of the rules that first name them.

use super::seen::Seen;
use crate::map::MergeMap;

/// The inputs, and what was seen of each in its current epoch.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    streams: Vec<u32>,
    sorted: Vec<(u32, u16)>,
    seen: Vec<Seen>,
}

impl Inputs {
    /// Replaces the inputs by those of a map. What is known of a stream stays if `keeps` allows it.
    pub(super) fn replace(&mut self, map: &MergeMap, keeps: impl Fn(u32) -> bool) {
        let mut firsts: Vec<(u32, u32)> = (0..).zip(&map.rules).map(|(at, rule)| (rule.stream, at)).collect();
        firsts.sort_unstable();
        firsts.dedup_by_key(|first| first.0);
        firsts.sort_unstable_by_key(|first| first.1);
        let streams: Vec<u32> = firsts.iter().map(|first| first.0).collect();
        let known = |stream| self.index_of(stream).filter(|_| keeps(stream)).map(|known| self.seen[known]);
        let seen = streams.iter().map(|stream| known(*stream).unwrap_or_default()).collect();
        let mut sorted: Vec<(u32, u16)> = streams.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        *self = Self { streams, sorted, seen };
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
    pub(super) fn at(&self, index: u16) -> &Seen {
        &self.seen[usize::from(index)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Seen> {
        self.seen.get_mut(index)
    }

    pub(super) fn get(&self, index: usize) -> Option<&Seen> {
        self.seen.get(index)
    }
}
