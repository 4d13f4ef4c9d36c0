// SPDX-License-Identifier: Apache-2.0
//! Locks for values that are valid between any two statements, so that a thread that panics while holding one damages
//! nothing.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Takes the lock, even if a thread panicked while holding it.
pub fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock, even if a thread panicked while holding it. None if another thread holds it now.
pub fn try_unpoisoned<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
