// SPDX-License-Identifier: Apache-2.0
//! Rings for readers that wait: one named semaphore for each of them, never above one.
//!
//! `joinbarrier/journal/doorbell.py` makes and names them; here they are only opened and posted. A bell that is
//! missing costs its reader nothing but latency: it polls.

use std::ffi::CString;

/// The bells of one journal.
#[derive(Default)]
pub(super) struct Doorbells {
    bells: Vec<Bell>,
}

struct Bell(*mut libc::sem_t);

// SAFETY: a semaphore may be posted from any thread; the pointer is closed once, when the bell is dropped.
unsafe impl Send for Bell {}

impl Bell {
    fn open(name: &str) -> Option<Self> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends with a zero; without O_CREAT no further arguments are read.
        let semaphore = unsafe { libc::sem_open(name.as_ptr(), 0) };
        (semaphore != libc::SEM_FAILED).then_some(Self(semaphore))
    }

    fn ring(&self) {
        let mut value = 0;
        // SAFETY: the semaphore is open as long as this lives.
        unsafe {
            if libc::sem_getvalue(self.0, &raw mut value) == 0 && value < 1 {
                libc::sem_post(self.0);
            }
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        // SAFETY: it was opened here, and nobody else closes it.
        unsafe { libc::sem_close(self.0) };
    }
}

impl Doorbells {
    /// Has these bells from now on, those that exist.
    pub(super) fn set(&mut self, names: &[String]) -> usize {
        self.bells = names.iter().filter_map(|name| Bell::open(name)).collect();
        self.bells.len()
    }

    pub(super) fn ring(&self) {
        self.bells.iter().for_each(Bell::ring);
    }
}
