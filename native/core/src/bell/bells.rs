// SPDX-License-Identifier: Apache-2.0
//! The bells of a namespace, one for each sleeper.
//!
//! ```text
//!  0          8       16        4096            4096 + 64 k
//!  +----------+-------+---------+-- ... ---+----------------------------------+-- ...
//!  | magic    | ver.  | 0       |          | word (4) | 0 (4) | owner (8) | 0  |   1,024 bells
//!  +----------+-------+---------+-- ... ---+----------------------------------+-- ...
//! ```
//!
//! An owner is a process: its id, and in the upper half the time when it began, so that another process with the same
//! id is not taken for it. The bell of a process that is gone is given to the next sleeper that needs one.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::futex::{self, Woken};
use super::order;
use crate::shared_file::{Kind, Refused, SharedFile};
use crate::unpoisoned;

/// How many sleepers a namespace can have.
pub(super) const BELLS: usize = 1024;
const FIRST_AT: usize = 4096;
const BELL_BYTES: usize = 64;
const OWNER_AT: usize = 8;
const KIND: Kind = Kind { magic: *b"FGBELLS\0", version: 1, bytes: FIRST_AT + BELLS * BELL_BYTES };

/// The mapped file of bells. A process maps each such file only once.
#[derive(Debug)]
pub(super) struct Bells(SharedFile);

impl Bells {
    pub(super) fn of(path: &Path) -> Result<Arc<Self>, Refused> {
        static MAPPED: Mutex<Vec<Weak<Bells>>> = Mutex::new(Vec::new());
        let found = Self(SharedFile::make(path, KIND)?);
        let mut mapped = unpoisoned(&MAPPED);
        mapped.retain(|each| each.strong_count() > 0);
        let same = mapped.iter().filter_map(Weak::upgrade).find(|each| each.0.identity() == found.0.identity());
        Ok(same.unwrap_or_else(|| {
            let found = Arc::new(found);
            mapped.push(Arc::downgrade(&found));
            found
        }))
    }

    fn word(&self, number: usize) -> &AtomicU32 {
        self.0.word32(FIRST_AT + number * BELL_BYTES)
    }

    fn owner(&self, number: usize) -> &AtomicU64 {
        self.0.word64(FIRST_AT + number * BELL_BYTES + OWNER_AT)
    }

    /// Rings a bell. Its number comes from memory that other processes write, so a number that is too large is ignored.
    pub(super) fn ring(&self, number: u32) {
        if (number as usize) < BELLS {
            let word = self.word(number as usize);
            order::ring(word);
            futex::wake(word);
        }
    }

    /// Whether the process that owns a bell is gone.
    pub(super) fn is_orphaned(&self, number: u32) -> bool {
        (number as usize) >= BELLS || !is_alive(self.owner(number as usize).load(Ordering::Acquire))
    }
}

/// The bell of one sleeper. Dropping it gives it back.
#[derive(Debug)]
pub struct Bell {
    bells: Arc<Bells>,
    number: u32,
    /// The process that claimed it.
    pid: u32,
}

impl Bell {
    /// Claims a bell that no living process has. None if all of them are in use.
    pub(super) fn claim(bells: &Arc<Bells>) -> Option<Self> {
        let owner = this_process();
        let take = |number: &u32| {
            let seen = bells.owner(*number as usize).load(Ordering::Relaxed);
            (seen == 0 || !is_alive(seen))
                && bells
                    .owner(*number as usize)
                    .compare_exchange(seen, owner, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
        };
        let number = (0..BELLS as u32).find(take)?;
        Some(Self { bells: Arc::clone(bells), number, pid: std::process::id() })
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// Whether this process claimed it. In a forked child it still belongs to the parent.
    pub(super) fn is_own(&self) -> bool {
        self.pid == std::process::id()
    }

    pub(super) fn is_of(&self, bells: &Arc<Bells>) -> bool {
        Arc::ptr_eq(&self.bells, bells)
    }

    fn word(&self) -> &AtomicU32 {
        self.bells.word(self.number as usize)
    }

    pub(super) fn hear(&self) -> u32 {
        order::hear(self.word())
    }

    pub(super) fn sleep(&self, seen: u32, most_ns: u64) -> Woken {
        futex::wait(self.word(), seen, most_ns)
    }

    /// The waker, by which other threads of this process wake the owner.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker { bells: Arc::clone(&self.bells), number: self.number }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if self.is_own() {
            self.bells.owner(self.number as usize).store(0, Ordering::Release);
        }
    }
}

/// Wakes one sleeper.
#[derive(Clone, Debug)]
pub struct Waker {
    bells: Arc<Bells>,
    number: u32,
}

impl Waker {
    /// Wakes the sleeper. If it is not asleep, its next sleep ends at once.
    pub fn ring(&self) {
        self.bells.ring(self.number);
    }
}

fn this_process() -> u64 {
    let pid = std::process::id();
    began(pid) << 32 | u64::from(pid)
}

fn is_alive(owner: u64) -> bool {
    owner != 0 && began(owner as u32) == owner >> 32
}

/// When a process began, in ticks since the machine did, cut to 32 bits and never 0; 0 if there is no such process.
fn began(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program is in parentheses, and may contain anything.
    let behind_name = text.rfind(')').map_or("", |at| &text[at + 1..]);
    let ticks = behind_name.split_whitespace().nth(19).and_then(|field| field.parse::<u64>().ok());
    ticks.map_or(0, |ticks| (ticks & 0xFFFF_FFFF).max(1))
}
