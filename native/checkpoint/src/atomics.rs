// SPDX-License-Identifier: Apache-2.0
//! Atomic types and cells, either the machine's or those of the model checker.

#[cfg(not(loom))]
pub use portable_atomic::AtomicU128;
#[cfg(not(loom))]
pub use std::sync::Arc;
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(loom)]
pub use loom::cell::UnsafeCell;
#[cfg(loom)]
pub use loom::sync::Arc;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The standard cell with the interface of the model checker's.
#[cfg(not(loom))]
#[derive(Debug)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub fn with_mut<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
        work(self.0.get())
    }
}

/// A stand-in for the model checker, which has no 128-bit word: small ids and epochs travel in 64 bits.
#[cfg(loom)]
#[derive(Debug)]
pub struct AtomicU128(loom::sync::atomic::AtomicU64);

#[cfg(loom)]
impl AtomicU128 {
    /// Makes a word with this value.
    pub fn new(value: u128) -> Self {
        Self(loom::sync::atomic::AtomicU64::new(narrow(value)))
    }

    /// Loads the word, like the machine's.
    pub fn load(&self, order: Ordering) -> u128 {
        widen(self.0.load(order))
    }

    /// Stores by an exchange. The model orders a plain store only by happens-before; on a machine, the stores and
    /// exchanges of one word always have an order, and an exchange directly follows what it read.
    pub fn store(&self, value: u128, order: Ordering) {
        self.0.swap(narrow(value), order);
    }

    /// Exchanges the word, like the machine's.
    pub fn swap(&self, value: u128, order: Ordering) -> u128 {
        widen(self.0.swap(narrow(value), order))
    }
}

#[cfg(loom)]
fn narrow(value: u128) -> u64 {
    let (id, rest) = ((value >> 64) as u64, value as u64);
    assert!(id < 1 << 32 && rest < 1 << 32, "the model uses small numbers");
    id << 32 | rest
}

#[cfg(loom)]
fn widen(value: u64) -> u128 {
    u128::from(value >> 32) << 64 | u128::from(value as u32)
}
