// SPDX-License-Identifier: Apache-2.0
//! Locks of what is valid between any two statements: a thread that panicked holding one has damaged nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, whether or not a thread panicked holding it.
pub fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
