// SPDX-License-Identifier: Apache-2.0
//! Locks for values that are valid between any two statements, so that a thread that panics while holding one damages
//! nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock, even if a thread panicked while holding it.
pub fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
