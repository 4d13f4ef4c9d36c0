// SPDX-License-Identifier: Apache-2.0
//! A set of inputs, by index, kept on the stack.

/// Most inputs of one barrier.
pub const INPUTS_MAX: usize = 256;

/// A set of indices below [`INPUTS_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputSet([u64; INPUTS_MAX / 64]);

impl InputSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; INPUTS_MAX / 64]);

    /// Adds an index to the set.
    #[inline]
    pub fn insert(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    /// Whether an index is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        index < INPUTS_MAX && self.0[index / 64] >> (index % 64) & 1 == 1
    }

    /// The indices that are in this set but not in the other.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        for (own, taken) in self.0.iter_mut().zip(other.0) {
            *own &= !taken;
        }
        self
    }

    /// Whether the set is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// How many indices are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Every index in the set, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..INPUTS_MAX).filter(|index| self.contains(*index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_told_apart() {
        for index in 0..INPUTS_MAX {
            let mut set = InputSet::EMPTY;
            set.insert(index);
            assert_eq!(set.iter().collect::<Vec<_>>(), [index]);
            assert_eq!((set.len(), set.is_empty(), set.without(&set).is_empty()), (1, false, true));
        }
    }
}
