// SPDX-License-Identifier: Apache-2.0
//! Doorbells for waiting readers: one named semaphore for each reader, whose value stays at 0 or 1.
//!
//! `joinbarrier/journal/doorbell.py` makes and names the semaphores; this side only opens and posts them. A reader
//! whose bell is missing polls, and so sees rows later.
//!
//! The names can be guessed, so only a private semaphore of this user is opened. The C library maps a file of any
//! length, and ringing a bell in a short file would fault.

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

/// Device and inode of this user's semaphore of that name; None if the file is anything else. Only this user can remove
/// or shorten such a file.
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
        // If the file changed in between, the semaphore that was opened may not be the one that was checked.
        (own_file(name) == Some(looked_at)).then_some(bell)
    }

    fn ring(&self) {
        let mut value = 0;
        // SAFETY: the semaphore stays open until this bell is dropped.
        unsafe {
            if libc::sem_getvalue(self.0, &raw mut value) == 0 && value < 1 {
                libc::sem_post(self.0);
            }
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        // SAFETY: this bell opened the semaphore, and nobody else closes it.
        unsafe { libc::sem_close(self.0) };
    }
}

impl Doorbells {
    /// Replaces the bells by those of these names that exist; how many that are.
    pub fn set(&mut self, names: &[String]) -> usize {
        self.bells = names.iter().filter_map(|name| Bell::open(name)).collect();
        self.bells.len()
    }

    /// Wakes every waiting reader.
    pub fn ring(&self) {
        self.bells.iter().for_each(Bell::ring);
    }
}
