// SPDX-License-Identifier: Apache-2.0
//! The unmatched: a bounded queue of ranges of frames that were not joined, each with its cause. Every cause is one line
//! here; `joinbarrier/journal/causes.py` explains the same words.

use std::collections::VecDeque;

macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident $name:literal;)*) => {
        /// Why a frame was not joined.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Cause {
            $($(#[$doc])* $cause,)*
        }

        /// The number of causes.
        pub const CAUSES: usize = [$($name),*].len();

        /// The name of each cause, by its number.
        pub const CAUSE_NAMES: [&str; CAUSES] = [$($name),*];

        const ALL: [Cause; CAUSES] = [$(Cause::$cause),*];
    };
}

causes! {
    /// Another input had no frame for its output.
    NoPartner "no_partner";
    /// No output asked for the frame.
    NoMatch "no_match";
    /// The frames of its output lay too far apart.
    Skew "skew";
    /// Its output was too old, and a newer one was possible.
    Aged "aged";
    /// A newer frame of the input was preferred.
    Superseded "superseded";
    /// The frame could not be read any more.
    Overwritten "overwritten";
    /// The frame was older than the window of the next output when it came.
    BeforeWindow "before_window";
    /// The frame was older than what the first output needs.
    BeforeFirst "before_first";
    /// The frame came after the output that it belonged to.
    Late "late";
    /// Its stream's timestamps decreased.
    Regressed "regressed";
    /// The frame has no timestamp.
    NullTimestamp "null_timestamp";
    /// Its producer's epoch is over.
    Epoch "epoch";
    /// No agent listened when the frame was sent.
    AgentDown "agent_down";
    /// The frame still waited when the join ended.
    PendingAtEnd "pending_at_end";
    /// There was no space for the frame to wait in.
    NoRoom "no_room";
}

impl Cause {
    /// The word for this cause in the journal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        CAUSE_NAMES[self as usize]
    }

    /// The cause that has this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|cause| cause.name() == name)
    }
}

/// Consecutive frames of one input and epoch that share a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// Index of the input.
    pub input: u16,
    /// Why they were not joined.
    pub cause: Cause,
    /// The producer's epoch.
    pub epoch: u64,
    /// The first frame.
    pub seq: u64,
    /// The last frame.
    pub seq_last: u64,
    /// The first frame's time by the rule's source, if known.
    pub timestamp_ns: Option<u64>,
    /// The output that the first frame belonged to, if only one is possible.
    pub out_seq: Option<u64>,
}

impl Unmatched {
    /// How many frames these are.
    #[must_use]
    pub fn frames(&self) -> u64 {
        (self.seq_last - self.seq).saturating_add(1)
    }

    fn is_continued_by(&self, next: &Self) -> bool {
        self.seq_last.checked_add(1) == Some(next.seq)
            && (self.input, self.cause, self.epoch) == (next.input, next.cause, next.epoch)
    }
}

/// A first-in, first-out queue. A range grows in place until it is taken.
#[derive(Debug)]
pub(super) struct Queue {
    /// The waiting entries. Space for `capacity` of them is reserved, but memory is used only as they come.
    entries: VecDeque<Unmatched>,
    capacity: usize,
    /// How many entries were taken.
    head: u64,
    /// The position of each input's newest entry.
    latest: Box<[u64]>,
}

impl Queue {
    pub(super) fn new(capacity: usize, inputs: usize) -> Self {
        let entries = VecDeque::with_capacity(capacity);
        Self { entries, capacity, head: 0, latest: vec![u64::MAX; inputs].into_boxed_slice() }
    }

    /// Adds an entry; false if there was no space, and the entry is lost.
    pub(super) fn push(&mut self, entry: Unmatched) -> bool {
        let latest = self.latest[usize::from(entry.input)].checked_sub(self.head);
        if let Some(known) = latest.and_then(|at| self.entries.get_mut(usize::try_from(at).ok()?))
            && known.is_continued_by(&entry)
        {
            known.seq_last = entry.seq_last;
            return true;
        }
        if self.entries.len() == self.capacity {
            return false;
        }
        self.latest[usize::from(entry.input)] = self.head + self.len();
        self.entries.push_back(entry);
        true
    }

    pub(super) fn drain(&mut self, mut take: impl FnMut(&Unmatched) -> bool) -> usize {
        let before = self.head;
        while self.entries.front().is_some_and(&mut take) {
            self.entries.pop_front();
            self.head += 1;
        }
        if self.entries.is_empty() {
            self.entries.clear();
        }
        (self.head - before) as usize
    }

    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Whether the queue is half full. Then nothing more is decided until it is drained, because one decision may fill
    /// the other half.
    #[inline]
    pub(super) fn is_backed_up(&self) -> bool {
        self.entries.len() * 2 >= self.capacity
    }
}
