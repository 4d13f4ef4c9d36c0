// SPDX-License-Identifier: Apache-2.0
//! Which place a stream has among those that an engine hears, by the number in its descriptors.

/// Up to so many places, one after the other is looked at sooner than searched for.
const FEW: usize = 8;

/// Stream ids in order, each with its place.
pub struct Route(Vec<(u32, usize)>);

impl Route {
    /// The streams in the order of their places.
    #[must_use]
    pub fn new(stream_ids: impl Iterator<Item = u32>) -> Self {
        let mut route: Vec<_> = stream_ids.enumerate().map(|(place, stream_id)| (stream_id, place)).collect();
        route.sort_unstable();
        Self(route)
    }

    /// The place of a stream, if it has one.
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
