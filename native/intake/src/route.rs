// SPDX-License-Identifier: Apache-2.0
//! Maps the stream id in a descriptor to the index of its stream.

/// Up to this many streams, a linear search is faster than a binary one.
const FEW: usize = 8;

/// The heard stream ids, sorted, each with its index.
pub struct Route(Vec<(u32, usize)>);

impl Route {
    /// Takes the stream ids in the order of their indices.
    #[must_use]
    pub fn new(stream_ids: impl Iterator<Item = u32>) -> Self {
        let mut route: Vec<_> = stream_ids.enumerate().map(|(place, stream_id)| (stream_id, place)).collect();
        route.sort_unstable();
        Self(route)
    }

    /// The index of a stream, if it is heard.
    #[inline]
    #[must_use]
    pub fn place(&self, stream_id: u32) -> Option<usize> {
        let at = if self.0.len() <= FEW {
            self.0.iter().position(|entry| entry.0 == stream_id)?
        } else {
            self.0.binary_search_by_key(&stream_id, |entry| entry.0).ok()?
        };
        Some(self.0[at].1)
    }
}
