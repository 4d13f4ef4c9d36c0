// SPDX-License-Identifier: Apache-2.0
//! Named points at which a test may kill the writer. `FRAMEGATE_FAULT=name[:count]` in the environment arms one when a
//! journal is opened: the process ends by SIGKILL when it passes the point for the `count`-th time.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// All points, in the order in which a journal passes them.
pub const FAULT_POINTS: [&str; 32] = [
    "open.locked",
    "recovery.cut",
    "recovery.finished",
    "recovery.reopened",
    "spare.made",
    "segment.header",
    "segment.opened",
    "row.copied",
    "row.committed",
    "unmatched.columns",
    "unmatched.metadata",
    "unmatched.cleared",
    "unmatched.prefix",
    "unmatched.sealed",
    "seal.columns",
    "seal.metadata",
    "seal.cleared",
    "seal.prefix",
    "seal.head",
    "finish.footer",
    "finish.ended",
    "finish.truncated",
    "finish.renamed",
    "retention.told",
    "retired.counted",
    "retired.written",
    "retired.replaced",
    "retention.dropped",
    "recycle.renamed",
    "recycle.locked",
    "close.sealed",
    "close.finished",
];

const OFF: usize = usize::MAX;
static ARMED: AtomicUsize = AtomicUsize::new(OFF);
static LEFT: AtomicU32 = AtomicU32::new(0);
static READ: Once = Once::new();

/// Passes a named point. The name is looked up at compile time.
macro_rules! fault {
    ($name:literal) => {{
        const POINT: usize = $crate::faults::index_of($name);
        $crate::faults::pass(POINT);
    }};
}
pub(crate) use fault;

/// The index of a name; an unknown name does not compile.
pub(crate) const fn index_of(name: &str) -> usize {
    let mut index = 0;
    while index < FAULT_POINTS.len() {
        if is_same(FAULT_POINTS[index].as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("no such fault point")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// Passes a point, given by its index.
#[inline]
pub(crate) fn pass(point: usize) {
    if ARMED.load(Ordering::Relaxed) == point {
        count_down();
    }
}

#[cold]
fn count_down() {
    if LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        // SAFETY: sends a signal to this process, which does not survive it.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
}

/// Reads the environment, once in a process. An unknown name is ignored.
pub(crate) fn arm_from_environment() {
    READ.call_once(|| {
        let Ok(text) = std::env::var("FRAMEGATE_FAULT") else { return };
        let (name, count) = text.split_once(':').unwrap_or((&text, "1"));
        let found = FAULT_POINTS.iter().position(|point| *point == name);
        if let (Some(point), Ok(count @ 1..)) = (found, count.parse()) {
            LEFT.store(count, Ordering::Relaxed);
            ARMED.store(point, Ordering::Relaxed);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (index, name) in FAULT_POINTS.iter().enumerate() {
            assert_eq!(index_of(name), index);
        }
    }

    #[test]
    fn a_place_that_is_not_armed_lets_everybody_pass() {
        for point in 0..FAULT_POINTS.len() {
            pass(point);
        }
    }
}
