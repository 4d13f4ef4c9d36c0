// SPDX-License-Identifier: Apache-2.0
//! Rings for readers that wait: one named semaphore for each of them, never above one.
//!
//! `joinbarrier/journal/doorbell.py` makes and names them; here they are only opened and posted. A bell that is
//! missing costs its reader nothing but latency: it polls.
//!
//! The names can be guessed. What is not a semaphore of this user, closed to all others, is never opened: the C library
//! maps a file of any length, and a short one faults when the bell is rung.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// The bells of one journal.
#[derive(Default)]
pub struct Doorbells {
    bells: Vec<Bell>,
}

struct Bell(*mut libc::sem_t);

// SAFETY: a semaphore may be posted from any thread; the pointer is closed once, when the bell is dropped.
unsafe impl Send for Bell {}

/// The file of this user's semaphore, by device and inode; None where something else lies under that name. Only this
/// user can take such a file away or cut it.
fn own_file(name: &str) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(format!("/dev/shm/sem.{}", name.strip_prefix('/')?)).ok()?;
    let is_semaphore = found.file_type().is_file() && found.len() == size_of::<libc::sem_t>() as u64;
    // SAFETY: reads this process's user id.
    let is_private = found.uid() == unsafe { libc::geteuid() } && found.mode() & 0o7777 == 0o600;
    (is_semaphore && is_private).then(|| (found.dev(), found.ino()))
}

impl Bell {
    fn open(name: &str) -> Option<Self> {
        let looked_at = own_file(name)?;
        let c_name = CString::new(name).ok()?;
        // SAFETY: the name ends with a zero; without O_CREAT no further arguments are read.
        let semaphore = unsafe { libc::sem_open(c_name.as_ptr(), 0) };
        let bell = (semaphore != libc::SEM_FAILED).then_some(Self(semaphore))?;
        // Another file there now: what was opened may not be what was looked at.
        (own_file(name) == Some(looked_at)).then_some(bell)
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
    pub fn set(&mut self, names: &[String]) -> usize {
        self.bells = names.iter().filter_map(|name| Bell::open(name)).collect();
        self.bells.len()
    }

    /// Wakes those who wait.
    pub fn ring(&self) {
        self.bells.iter().for_each(Bell::ring);
    }
}
